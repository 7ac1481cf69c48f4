import CoherenceConformance
import Foundation
import Testing

/// Random sequences on every store. Settings of the environment:
///
/// - `COHERENCE_SEED` runs one seed again.
/// - `COHERENCE_SEQUENCES` is how many sequences to run, 200 unless given.
/// - `COHERENCE_TRACE=1` tells each step before a crash can hide it.
@Suite struct DifferentialTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seed = environment["COHERENCE_SEED"].flatMap(UInt64.init)
  private static let sequences = environment["COHERENCE_SEQUENCES"].flatMap(Int.init) ?? 200

  @Test func `random sequences come to the same on every store`() throws {
    let test = DifferentialTest(stores: DifferentialStores.all)
    if let seed = Self.seed {
      let report = try test.replay(seed: seed)
      for failure in report.failures { Issue.record(Comment(rawValue: failure)) }
      return
    }
    let report = try test.run(sequences: Self.sequences, firstModel: UInt64.random(in: 0..<1 << 40))
    print(report)
    for failure in report.failures { Issue.record(Comment(rawValue: failure)) }
    #expect(report.failedSeeds.isEmpty)
    #expect(report.histogram.gaps.isEmpty, "Steps and errors that hardly occur show nothing.")
  }
}
