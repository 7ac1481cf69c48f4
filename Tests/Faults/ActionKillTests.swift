import Foundation
import TestSupport
import Testing

/// Processes that enqueue and run persisted actions are killed at random moments, two of them at a time with one store.
///
/// `COHERENCE_KILLS` is the number of kills of forwarders, 300 unless given. This test kills a fifth as many processes
/// with actions.
@Suite(
  "Actions of killed processes",
  .enabled(if: KillStage.isAvailable, "Processes are prepared on Linux only, without sanitizers."))
struct ActionKillTests {
  @Test(arguments: KillStage.places)
  func `work in the transaction of an action takes effect once, other work at least once, and checkpoints are resumed`(
    _ place: LedgerPlace
  ) async throws {
    let seed = Effort.seed()
    let directory = try TemporaryDirectory()
    let place = place.in(directory)
    defer { place.removeSchema() }
    let kills = max(10, KillStage.kills / 10)
    let run = try await onOwnThread {
      let run = try ActionKillRun(place, seed: seed)
      try run.run(kills: kills)
      return run.summary
    }
    print("\(place.backend): \(run)")
    #expect(run.complaints == [], "COHERENCE_SEED=\(seed)")
    #expect(run.kills >= kills)
    #expect(run.acknowledged > 0)
    #expect(run.resumed > 0 || kills < 50)
  }
}
