import CoherenceCore
import Dispatch
import Foundation
import Synchronization

/// Runs random steps on several stores in parallel and compares their outcomes: results, orders, errors, and the final
/// content of the stores.
///
/// The first store is the model of the others. All random choices come from a seed. The sequences of 64 consecutive
/// seeds share a random model, so that each model's stores are created once.
public struct DifferentialTest: Sendable {
  private let stores: [any StoreHarness]
  /// The number of failures to shrink and describe. The report contains the seeds of all failures.
  public var describedFailures = 3
  /// The maximum number of sequences for each model. A short test runs fewer, so that it covers enough models.
  public var sequencesPerModel: UInt64 = 20

  /// - Parameter stores: At least two.
  public init(stores: [any StoreHarness]) { self.stores = stores }

  /// The command that repeats one seed.
  static func replayCommand(seed: UInt64) -> String {
    "COHERENCE_SEED=\(seed) Tools/test --filter Differential"
  }

  /// Runs one seed.
  public func replay(seed: UInt64) throws -> DifferentialReport {
    var report = DifferentialReport()
    try run([seed], into: &report)
    return report
  }

  /// Runs a number of sequences, on all processors.
  ///
  /// - Parameter firstModel: The number of the first model; its seeds begin at 64 times that.
  public func run(sequences: Int, firstModel: UInt64) throws -> DifferentialReport {
    let perModel = max(1, min(Int(sequencesPerModel), sequences / 40))
    let models = (sequences + perModel - 1) / perModel
    let result = Mutex((report: DifferentialReport(), errors: [any Error]()))
    DispatchQueue.concurrentPerform(iterations: models) { index in
      let count = min(perModel, sequences - index * perModel)
      let first = (firstModel &+ UInt64(index)) << 6
      var report = DifferentialReport()
      let isEnough = result.withLock { $0.report.failures.count >= describedFailures }
      do {
        try run((0..<UInt64(count)).map { first | $0 }, into: &report, describing: isEnough ? 0 : 1)
      } catch {
        result.withLock { $0.errors.append(error) }
      }
      result.withLock { $0.report.merge(report) }
    }
    return try result.withLock { result in
      if let error = result.errors.first { throw error }
      return result.report
    }
  }

  // MARK: One model

  /// Runs seeds of one model.
  private func run(_ seeds: [UInt64], into report: inout DifferentialReport, describing limit: Int = 1) throws {
    let declarations = RandomModel.declarations(seed: seeds[0] >> 6)
    let model = try ManagedObjectModel(entities: declarations)
    var worlds = try makeWorlds(model)
    defer { for world in worlds { try? world.destroy() } }
    for seed in seeds {
      Self.trace("seed \(seed)")
      let sequence = RandomSequence.sequence(seed: seed, model: model)
      let found = DifferentialComparison(worlds: worlds).run(sequence) { operation, outcomes in
        report.histogram.note(operation, outcomes)
        Self.trace("  \(DifferentialText.text(operation, model: model)) -> \(outcomes[0].text)")
      }
      report.histogram.noteSequence()
      if let found {
        report.failedSeeds.append(seed)
        // After a difference, the stores cannot be used for the next sequence.
        for world in worlds { try world.destroy() }
        worlds = []
        if report.failures.count < limit {
          report.failures.append(try describe(seed, declarations, model, sequence, found))
        }
        worlds = try makeWorlds(model)
      } else if seed != seeds.last {
        do {
          for world in worlds { try world.removeAllRecords() }
        } catch {
          report.failedSeeds.append(seed)
          report.failures.append("After seed \(seed), the records cannot all be deleted: \(error)")
          for world in worlds { try world.destroy() }
          worlds = try makeWorlds(model)
        }
      }
    }
  }

  private func makeWorlds(_ model: ManagedObjectModel) throws -> [DifferentialWorld] {
    try stores.map { try DifferentialWorld(harness: $0, model: model) }
  }

  private func describe(
    _ seed: UInt64, _ declarations: [Entity], _ model: ManagedObjectModel, _ sequence: DifferentialSequence,
    _ found: DifferentialMismatch
  ) throws -> String {
    let shrinker = DifferentialShrinker { sequence in
      let worlds = try makeWorlds(model)
      defer { for world in worlds { try? world.destroy() } }
      return DifferentialComparison(worlds: worlds).run(sequence)
    }
    let (shortest, mismatch) = try shrinker.shrink(sequence, found)
    return DifferentialReport.text(
      seed: seed, declarations: declarations, sequence: shortest, mismatch: mismatch, model: model)
  }

  private static let traces = ProcessInfo.processInfo.environment["COHERENCE_TRACE"] == "1"

  /// Prints the current step if `COHERENCE_TRACE` is 1, so that the last line before a crash names its cause.
  private static func trace(_ text: @autoclosure () -> String) {
    guard traces else { return }
    FileHandle.standardError.write(Data((text() + "\n").utf8))
  }
}
