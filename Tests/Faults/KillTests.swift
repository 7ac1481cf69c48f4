@testable import CoherenceConformance
import CoherenceCore
import CoherencePostgreSQL
import CoherenceSQLite
import Foundation
import Testing

/// A process is killed in the middle of its saves, again and again. The store contains every acknowledged save, and
/// every save completely or not at all.
@Suite struct KillTests {
  /// Starts a process that saves into a ledger, and kills it after some acknowledgements.
  ///
  /// - Returns: The last acknowledgement.
  private func killSaver(after count: Int, pipe: AcknowledgementPipe, _ store: LedgerPlace) async throws -> Int? {
    let reader = try pipe.openToRead()
    let isRead = Task.detached { AcknowledgementPipe.kill(after: count, reading: reader) }
    await #expect(processExitsWith: .signal(SIGKILL)) {
      [pipe = pipe as AcknowledgementPipe, store = store as LedgerPlace] in
      let acknowledge = try pipe.openToWrite()
      let ledger = try store.open()
      for _ in 0..<100_000 { acknowledge(try ledger.save()) }
    }
    pipe.release()
    let acknowledged = await isRead.value
    #expect(acknowledged.count >= count)
    if let first = acknowledged.first { #expect(acknowledged == Array(first..<(first + acknowledged.count))) }
    return acknowledged.last
  }

  private func killRepeatedly(rounds: Int, _ place: LedgerPlace, seed: UInt64) async throws {
    let directory = try TemporaryDirectory()
    let pipe = try AcknowledgementPipe(in: directory)
    var random = SplitMix64(seed: seed)
    for round in 0..<rounds {
      let last = try await killSaver(after: random.number(1...40), pipe: pipe, place)
      let acknowledged = try #require(last, "round \(round) of \(seed)")
      let found = try place.open().audit()
      #expect((acknowledged...acknowledged + 1).contains(found), "round \(round) of \(seed)")
    }
  }

  @Test(Effort.onRequest) func `the file contains every save acknowledged to a killed process`() async throws {
    let directory = try TemporaryDirectory()
    let place = LedgerPlace(backend: .sqlite, url: directory.store)
    try await killRepeatedly(rounds: Effort.rounds(8), place, seed: Effort.seed())
    #expect(try place.open().complaints() == ["ok"])
  }

  @Test(
    Effort.onRequest,
    .enabled(if: LedgerPlace.server != nil, "Set COHERENCE_POSTGRESQL_URL; `Tools/postgres start DIR` prints one."))
  func `the server contains every save acknowledged to a killed client`() async throws {
    let schema = "coherence_kill_\(ProcessInfo.processInfo.processIdentifier)"
    let place = LedgerPlace(backend: .postgreSQL, url: try #require(LedgerPlace.server), schema: schema)
    defer { try? place.remove() }
    try await killRepeatedly(rounds: Effort.rounds(4), place, seed: Effort.seed())
  }
}
