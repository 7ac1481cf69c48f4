@testable import CoherenceConformance
import CoherenceCore
import CoherencePostgreSQL
import Foundation
import Synchronization
import Testing

/// A server that stops in the middle of saves and starts again. Every acknowledged save is in the store, and the error
/// of the failed save reports its outcome correctly.
@Suite(.enabled(if: LedgerPlace.server != nil, "Set COHERENCE_POSTGRESQL_URL; `Tools/postgres start DIR` prints one."))
struct ServerCrashTests {
  /// The outcome of a series of saves up to the first failure.
  private struct Outcome {
    var acknowledged: Int
    /// Whether the context had changes when the save failed.
    var isPrepared = false
    var failure: CoherenceError?
  }

  @Test(Effort.onRequest) func `every acknowledged save survives the end of the server`() async throws {
    let cluster = try Cluster()
    let place = LedgerPlace(backend: .postgreSQL, url: cluster.url, schema: "ledger")
    let ledger = try place.open()
    try ledger.save()
    var random = SplitMix64(seed: Effort.seed())
    for round in 0..<Effort.rounds(4) {
      let saves = random.number(1...30)
      let outcome = try await saveUntilFailure(ledger) { count in
        guard count == saves else { return }
        if round.isMultiple(of: 2) { try cluster.stopAtOnce() } else { try cluster.killPostmaster() }
      }
      let failure = try #require(outcome.failure)
      #expect(failure.code == .connectionLost || failure.code == .serverUnreachable)
      #expect(ledger.context.performAndWait { ledger.context.hasChanges } == outcome.isPrepared)
      try cluster.start()

      let found = try place.open().audit()
      switch failure.outcome {
      case .notApplied:
        #expect(found == outcome.acknowledged)
        // The failed save's changes are still unsaved in the context.
        try ledger.context.performAndWait {
          if !outcome.isPrepared { _ = try ledger.prepare() }
          try ledger.context.save()
        }
        #expect(try place.open().audit() == found + 1)
      case .applied: Issue.record("An error says that the save was applied.")
      case .unknown:
        #expect((outcome.acknowledged...outcome.acknowledged + 1).contains(found))
        ledger.context.performAndWait { ledger.context.reset() }
      }
    }
    let last = try ledger.save()
    #expect(try place.open().audit() == last)
  }

  /// Saves until a save fails. Another thread ends the server during the saves.
  private func saveUntilFailure(
    _ ledger: Ledger, _ acknowledged: @escaping @Sendable (Int) throws -> Void
  ) async throws -> Outcome {
    let (numbers, continuation) = AsyncStream.makeStream(of: Int.self)
    let end = Task.detached { for await number in numbers { try acknowledged(number) } }
    let outcome = await Task.detached {
      var outcome = Outcome(acknowledged: 0)
      for count in 1...100_000 {
        do {
          outcome.isPrepared = false
          let number = try ledger.context.performAndWait { try ledger.prepare() }
          outcome.isPrepared = true
          try ledger.context.performAndWait { try ledger.context.save() }
          outcome.acknowledged = number
          continuation.yield(count)
        } catch {
          outcome.failure = error as? CoherenceError
          break
        }
      }
      continuation.finish()
      return outcome
    }.value
    try await end.value
    return outcome
  }
}
