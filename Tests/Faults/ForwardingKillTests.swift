import Foundation
import TestSupport
import Testing

/// Processes that save edits and forward them are killed at random moments and at every step between a save and its
/// acknowledgement. In the end the server has every edit of an acknowledged save exactly once and in order.
///
/// `COHERENCE_KILLS` is the number of kills on all stores together, 300 unless given.
@Suite(
  "Forwarding of killed processes",
  .enabled(if: KillStage.isAvailable, "Processes are prepared on Linux only, without sanitizers."))
struct ForwardingKillTests {
  @Test(arguments: KillStage.places)
  func `no edit of a killed process is lost, none is applied twice, and all are applied in order`(
    _ place: LedgerPlace
  ) async throws {
    let seed = Effort.seed()
    let directory = try TemporaryDirectory()
    let place = place.in(directory)
    defer { place.removeSchema() }
    let kills = KillStage.kills * (place.backend == .sqlite ? 3 : 2) / 5
    let run = try await onOwnThread {
      let run = try ForwardingKillRun(place, seed: seed)
      try run.run(kills: kills)
      return run.summary
    }
    print("\(place.backend): \(run)")
    #expect(run.complaints == [], "COHERENCE_SEED=\(seed)")
    // The last round may have killed two clients.
    #expect((kills...kills + 1).contains(run.kills))
    // A kill between a reply and its acknowledgement makes a later client repeat the request.
    #expect(run.repetitions > 0 || kills < 50)
  }
}
