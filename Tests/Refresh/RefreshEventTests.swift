import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@Suite("Events of refreshes", .timeLimit(.minutes(15)))
struct RefreshEventTests {
  private let source = Source()

  private func text(_ event: RefreshEvent) -> String {
    switch event {
    case .started(let target, let reason): "started \(target.entityName) \(target.scope ?? "all") \(reason)"
    case .succeeded(let target, let status): "succeeded \(target.entityName) \(status.lastSyncStatus)"
    case .failed(let target, let error): "failed \(target.entityName) \((error as? CoherenceError)?.message ?? "")"
    }
  }

  @Test func `the streams of a refresher and of its Connect contain the events of attempts`() async throws {
    let place = try Place()
    let program = try place.program()
    source.fail(1)
    try program.refresher.register(list: Song.self, scope: "top") { [source] in try await source.load($0) }
    let own = program.refresher.events
    let all = program.connect.events
    let expected = [
      "started Song top request", "failed Song The service is down.", "started Song top request",
      "succeeded Song succeeded",
    ]
    await #expect(throws: CoherenceError.self) { try await program.refresher.refresh(Song.self, scope: "top") }
    try await program.refresher.refresh(Song.self, scope: "top")
    var texts: [String] = []
    for await event in own {
      texts.append(text(event))
      if texts.count == expected.count { break }
    }
    #expect(texts == expected)
    var work: [any ConnectWorkEvent] = []
    for await case .work(let event) in all {
      work.append(event)
      if work.count == expected.count { break }
    }
    #expect(work.compactMap { $0 as? RefreshEvent }.map(text) == expected)
    #expect(work.map(\.workName) == ["refresh.started", "refresh.failed", "refresh.started", "refresh.succeeded"])
    #expect(Set(work.map(\.workSubject)) == ["Song"])
    try await program.end()
  }

  @Test func `the streams of a refresher end with its release`() async throws {
    let program = try Place().program()
    var refresher: Refresher? = try Refresher(program.connect)
    try refresher?.register(list: Song.self) { _ in }
    let events = try #require(refresher?.events)
    _ = try await refresher?.refresh(Song.self)
    refresher = nil
    var names: [String] = []
    for await event in events { names.append(event.workName) }
    #expect(names == ["refresh.started", "refresh.succeeded"])
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a program without a refresher reads the statuses of others`(_ backend: Backend) async throws {
    let place = try Place(backend)
    let program = try place.program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    try await program.refresher.refresh(Song.self)
    let other = try place.program()
    let statuses = try await RefreshStatus.all(in: other.connect.persistentStoreCoordinator)
    #expect(statuses.map(\.name) == ["Song"] && statuses.map(\.lastSyncStatus) == [.succeeded])
    #expect(statuses == (try await program.refresher.statuses()))
    try await other.end()
    try await program.end()
  }
}
