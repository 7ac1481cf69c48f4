import CoherenceIdentityMap
import Foundation
import TestRandom
import Testing

/// Random mixtures of everything that a store does, held against what always has to be true.
///
/// `COHERENCE_SEED` repeats a run.
@Suite("Random operations")
struct InterleavingTests {
  private static let steps =
    (ProcessInfo.processInfo.environment["COHERENCE_IDENTITY_MAP_OPERATIONS"].flatMap { Int($0) } ?? 40_000) / 20

  @Test(arguments: SeededRandom.seeds)
  func `observers receive current values, and never values of rolled-back changes`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var run = Mixture(seed: seed, isPinned: false)
    for step in 0..<Self.steps {
      run.step()
      if let fault = run.fault {
        Issue.record("\(fault) at step \(step) of seed \(seed).")
        return
      }
    }
    let isEmpty = run.isEmptyAfterAll()
    #expect(isEmpty, "Something is left after seed \(seed).")
  }

  @Test(arguments: SeededRandom.seeds)
  func `rolled-back changes leave nothing behind`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var run = Mixture(seed: seed, isPinned: true)
    for step in 0..<Self.steps {
      run.stepWithTwin()
      if step % 10 == 0, let fault = run.faultAgainstTwin() {
        Issue.record("\(fault) at step \(step) of seed \(seed).")
        return
      }
    }
  }
}
