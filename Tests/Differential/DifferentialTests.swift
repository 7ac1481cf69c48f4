import CoherenceConformance
import Foundation
import Testing

/// Random sequences on every store. Settings of the environment:
///
/// - `COHERENCE_SEED` runs one seed again.
/// - `COHERENCE_SEQUENCES` is the number of sequences, 200 by default.
/// - `COHERENCE_TRACE=1` prints each step before it runs, so that the last line names the cause of a crash.
@Suite struct DifferentialTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seed = environment["COHERENCE_SEED"].flatMap(UInt64.init)
  private static let sequences = environment["COHERENCE_SEQUENCES"].flatMap(Int.init) ?? 200

  @Test func `random sequences have the same outcomes on every store`() async throws {
    guard Self.seed == nil else { return try replay() }
    let outcome = try await Self.onThread {
      let test = DifferentialTest(stores: DifferentialStores.all)
      let report = try test.run(sequences: Self.sequences, firstModel: UInt64.random(in: 0..<1 << 40))
      print(report)
      return Outcome(failures: report.failures, seeds: report.failedSeeds, gaps: report.histogram.gaps)
    }
    for failure in outcome.failures { Issue.record(Comment(rawValue: failure)) }
    #expect(outcome.seeds.isEmpty)
    #expect(outcome.gaps.isEmpty, "Too few occurrences of these steps and errors for a meaningful test.")
  }

  private func replay() throws {
    guard let seed = Self.seed else { return }
    let report = try DifferentialTest(stores: DifferentialStores.all).replay(seed: seed)
    for failure in report.failures { Issue.record(Comment(rawValue: failure)) }
  }

  private struct Outcome: Sendable {
    let failures: [String]
    let seeds: [UInt64]
    let gaps: [String]
  }

  /// Runs work of minutes on a thread of its own, because all other tests share a few threads.
  private static func onThread<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
  }
}
