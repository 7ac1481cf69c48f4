import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The attempts after a stop, a suspension, a failure, and a registration during the run of a refresher.
@Suite("The resumption of refreshes", .timeLimit(.minutes(15)))
struct RefreshResumptionTests {
  private let source = Source()

  private func register(_ program: Program, scope: String? = nil, schedule: Schedule? = nil) throws {
    try program.refresher.register(list: Song.self, scope: scope, schedule: schedule) { [source] in
      try await source.load($0)
    }
  }

  @Test(arguments: [true, false])
  func `a restarted refresher follows its connectivity and the suspensions again`(isSuspended: Bool)
    async throws
  {
    let place = try Place()
    let program = try place.program()
    try register(program)
    await program.refresher.start()
    #expect(try await program.status().lastSyncStatus == .succeeded)
    await program.refresher.stop()
    place.clock.advance(by: 601)
    if isSuspended { program.connect.suspended = true } else { place.connectivity.isOnline = false }
    await program.refresher.start()
    #expect(source.reasons == [.start])
    if isSuspended { program.connect.suspended = false } else { place.connectivity.isOnline = true }
    await source.untilLoaded(2)
    #expect(source.reasons == [.start, isSuspended ? .start : .online])
    try await program.end()
  }

  @Test func `a fetch begins the refresh of a list registered after an earlier fetch`() async throws {
    let place = try Place()
    let program = try place.program()
    try register(program, scope: "a")
    await program.refresher.start()
    try await program.refresher.refresh(Song.self, scope: "a", onlyIfStale: true)
    _ = try await program.titles()
    try register(program, scope: "b")
    try await program.refresher.refresh(Song.self, scope: "b", onlyIfStale: true)
    place.clock.advance(by: 601)
    _ = try await program.titles()
    await source.untilLoaded(4)
    #expect(source.reasons == [.start, .start, .staleFetch, .staleFetch])
    try await program.end()
  }

  @Test func `a stop ends the wait for the next date of a schedule`() async throws {
    let place = try Place()
    let program = try place.program()
    try register(program, schedule: .every(.seconds(600)))
    await program.refresher.start()
    await source.untilLoaded(1)
    await place.clock.untilWaiting()
    await program.refresher.stop()
    #expect(place.clock.dates == [])
    try await program.end()
  }

  @Test func `a suspended Connect is asked again each minute until its suspension ends`() async throws {
    let place = try Place()
    let program = try place.program()
    try register(program)
    program.connect.suspended = true
    await program.refresher.start()
    for _ in 0..<2 {
      await place.clock.untilWaiting()
      #expect(place.clock.dates == [place.clock.now + 60])
      place.clock.advance(by: 60)
    }
    await place.clock.untilWaiting()
    #expect(source.reasons == [])
    program.connect.suspended = false
    await source.untilLoaded(1)
    #expect(source.reasons == [.start])
    try await program.end()
  }

  @Test func `a connection regained during a failing attempt begins one further attempt only`() async throws {
    let place = try Place()
    let program = try place.program()
    source.fail(1, 2)
    source.hold(1)
    try register(program)
    await program.refresher.start()
    await source.untilLoaded(1)
    place.connectivity.isOnline = false
    place.connectivity.isOnline = true
    source.open(1)
    await source.untilLoaded(2)
    // Returns after the end of the second attempt.
    _ = try? await program.refresher.refresh(Song.self, onlyIfStale: true)
    await place.clock.untilWaiting()
    #expect(place.clock.dates == [place.clock.now + 20])
    #expect(source.reasons == [.start, .online])
    try await program.end()
  }

  @Test func `the delay after failures of the store grows, and begins again after a success`() async throws {
    let place = try Place(isOnline: false)
    let program = try place.program()
    let coordinator = program.connect.persistentStoreCoordinator
    try register(program)
    await program.refresher.start()
    func failAttempt(delay: Double) async throws {
      await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.noStore ~= $0 }
      await place.clock.untilWaiting()
      #expect(place.clock.dates == [place.clock.now + delay])
    }
    try await program.connect.detach(persistentStores: coordinator.persistentStores)
    for delay in [10.0, 20, 40] { try await failAttempt(delay: delay) }
    try program.connect.attachPersistentStore(for: Backend.inMemory.newConfiguration())
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    try await program.connect.detach(persistentStores: coordinator.persistentStores)
    try await failAttempt(delay: 10)
    try await program.end()
  }

  @Test func `the status of a read stays as long as the data of the read is fresh`() async throws {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(read: Song.self, stalenessInterval: .seconds(30 * 86_400)) { _ in }
    try await program.refresher.read(Song.self, key: "old")
    place.clock.advance(by: 8 * 86_400)
    for number in 0..<100 { try await program.refresher.read(Song.self, key: "\(number)") }
    #expect(try await program.refresher.status(of: Song.self, .read, scope: "old") != nil)
    #expect(try await program.refresher.statuses().count == 101)
    try await program.end()
  }
}
