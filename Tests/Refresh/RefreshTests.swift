import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import Foundation
import Testing
import TestRandom
import TestSupport

@Suite("Refreshes", .timeLimit(.minutes(15)))
struct RefreshTests {
  private let source = Source()

  // MARK: Times

  @Test func `an error can ask for a longer delay after a failed refresh, up to the longest delay of the options`()
    async throws
  {
    struct Busy: RetryAdvising {
      let seconds: Int
      func retryDelay(at now: Date) -> Duration? { .seconds(seconds) }
    }
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(read: Song.self) { throw Busy(seconds: $0.scope == "1" ? 90 : 86_400) }
    for (key, delay) in [("1", 90.0), ("2", 600.0)] {
      await #expect(throws: Busy.self) { try await program.refresher.read(Song.self, key: key) }
      let status = try await program.refresher.status(of: Song.self, .read, scope: key)
      #expect(status?.nextAttemptTime == place.clock.now + delay)
    }
    try await program.end()
  }

  @Test func `a status with the greatest number of failures keeps the number after a further failure`() async throws {
    struct Down: Error {}
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(read: Song.self) { _ in throw Down() }
    await #expect(throws: Down.self) { try await program.refresher.read(Song.self, key: "1") }
    let context = program.connect.newBackgroundContext()
    try context.performAndWait {
      for status in try context.fetch(FetchRequest<ManagedObject>(entityName: RefreshStatus.entityName)) {
        try status.setValue(Int64.max, for: "failureCount")
      }
      try context.save()
    }
    place.clock.advance(by: 3600)
    await #expect(throws: Down.self) { try await program.refresher.read(Song.self, key: "1") }
    let status = try await program.refresher.status(of: Song.self, .read, scope: "1")
    #expect(status?.failureCount == .max)
    #expect(status?.nextAttemptTime == place.clock.now + 600)
    try await program.end()
  }

  @Test func `a failed refresh is repeated after a growing delay, and fetches do not shorten the delay`()
    async throws
  {
    let place = try Place()
    let program = try place.program()
    source.fail(1, 2)
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    await program.refresher.start()
    for (count, delay) in [(1, 10.0), (2, 20.0)] {
      await source.untilLoaded(count)
      await place.clock.untilWaiting()
      let status = try #require(try await program.refresher.status(of: Song.self))
      #expect(status.failureCount == count)
      #expect(status.lastSyncStatus == .failed)
      #expect(status.lastSyncError == "inputOutput: The service is down.")
      #expect(status.lastSyncTime == nil)
      #expect(status.nextAttemptTime == place.clock.now + delay)
      #expect(place.clock.dates == [place.clock.now + delay])
      _ = try await program.titles()
      #expect(try await program.status() == status)
      place.clock.advance(by: delay)
    }
    await source.untilLoaded(3)
    let status = try await program.status()
    #expect(status.failureCount == 0)
    #expect(status.lastSyncStatus == .succeeded)
    #expect(status.lastSyncError == nil)
    #expect(status.nextAttemptTime == nil)
    #expect(source.reasons == [.start, .schedule, .schedule])
    try await program.end()
  }

  @Test func `a schedule refreshes at its dates, with a delay from the given source of random numbers`() async throws {
    let place = try Place()
    let schedule = Schedule.every(.seconds(600), jitter: .seconds(60))
    let program = try place.program { $0.generator = SeededRandom(seed: 5) }
    var random = SeededRandom(seed: 5)
    try program.refresher.register(list: Song.self, schedule: schedule) { [source] in try await source.load($0) }
    await program.refresher.start()
    for count in 1...3 {
      await source.untilLoaded(count)
      await place.clock.untilWaiting()
      let expected = try #require(schedule.nextDate(after: place.clock.now, using: &random))
      let date = try #require(place.clock.dates.first)
      #expect(place.clock.dates.count == 1)
      #expect(abs(date.timeIntervalSince(expected)) < 0.01)
      place.clock.advance(by: date.timeIntervalSince(place.clock.now) + 0.01)
    }
    await source.untilLoaded(4)
    #expect(source.reasons == [.start, .schedule, .schedule, .schedule])
    try await program.end()
  }

  @Test func `a schedule missed for a week refreshes once`() async throws {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(
      list: Song.self, stalenessInterval: .seconds(1e9), schedule: try .cron("0 5 * * *")
    ) { [source] in try await source.load($0) }
    try await program.refresher.refresh(Song.self, onlyIfStale: true)
    place.clock.advance(by: 7 * 86_400)
    await program.refresher.start()
    await source.untilLoaded(2)
    await place.clock.untilWaiting()
    #expect(try await program.refresher.status(of: Song.self)?.lastSyncTime == place.clock.now)
    #expect(source.reasons == [.start, .schedule])
    try await program.end()
  }

  @Test func `a date is reached within a minute after the clock was set forward`() async throws {
    let place = try Place()
    let program = try place.program { $0.clock = PlainRefreshClock(base: place.clock) }
    try program.refresher.register(list: Song.self, schedule: .every(.seconds(600))) { [source] in
      try await source.load($0)
    }
    await program.refresher.start()
    await source.untilLoaded(1)
    await place.clock.untilWaiting()
    #expect(place.clock.dates == [place.clock.now + 60])
    place.clock.setForward(by: 590)
    place.clock.advance(by: 60)
    await source.untilLoaded(2)
    #expect(source.reasons == [.start, .schedule])
    try await program.end()
  }

  @Test func `after the clock was set back, data from the future is stale`() async throws {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    await program.refresher.start()
    #expect(try await program.status().lastSyncTime == place.clock.now)
    place.clock.setBack(by: 86_400)
    _ = try await program.titles()
    await source.untilLoaded(2)
    #expect(try await program.status().lastSyncTime == place.clock.now)
    #expect(source.reasons == [.start, .staleFetch])
    try await program.end()
  }

  @Test func `the staleness interval comes from the registration, else from the entity, else from the options`()
    async throws
  {
    let entity = try Place.model(staleness: "60").entity(named: "Song")
    #expect(entity.stalenessInterval == .seconds(60))
    for text in ["soon", "-1", "0", "inf", "nan", ""] {
      #expect(try Place.model(staleness: text).entity(named: "Song").stalenessInterval == nil)
    }
    #expect(try Place.model().entity(named: "Song").stalenessInterval == nil)
    let place = try Place(staleness: "60")
    let program = try place.program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    try program.refresher.register(list: Song.self, scope: "slow", stalenessInterval: .seconds(90)) { [source] in
      try await source.load($0)
    }
    func refresh(_ scope: String?) async throws {
      try await program.refresher.refresh(Song.self, scope: scope, onlyIfStale: true)
    }
    for scope in [nil, "slow"] { try await refresh(scope) }
    place.clock.advance(by: 59)
    for scope in [nil, "slow"] { try await refresh(scope) }
    #expect(source.reasons.count == 2)
    place.clock.advance(by: 1)
    for scope in [nil, "slow"] { try await refresh(scope) }
    #expect(source.reasons.count == 3)
    place.clock.advance(by: 30)
    try await refresh("slow")
    #expect(source.reasons.count == 4)
    try await program.end()
  }

  // MARK: Switches

  @Test func `a disabled refresher begins no automatic refresh, and calls still refresh`() async throws {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    program.refresher.isEnabled = false
    await program.refresher.start()
    _ = try await program.titles()
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    place.clock.advance(by: 601)
    _ = try await program.titles()
    #expect(place.clock.dates == [])
    program.refresher.isEnabled = true
    await source.untilLoaded(2)
    #expect(try await program.status().lastSyncTime == place.clock.now)
    #expect(source.reasons == [.request, .start])
    try await program.end()
  }

  @Test func `no automatic refresh begins offline, and a regained connection refreshes stale data`() async throws {
    let place = try Place(isOnline: false)
    let program = try place.program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    await program.refresher.start()
    _ = try await program.titles()
    #expect(place.clock.dates == [])
    place.connectivity.isOnline = true
    await source.untilLoaded(1)
    #expect(try await program.status().lastSyncStatus == .succeeded)
    place.connectivity.isOnline = false
    place.clock.advance(by: 601)
    _ = try await program.titles()
    place.connectivity.isOnline = true
    await source.untilLoaded(2)
    #expect(source.reasons == [.online, .online])
    try await program.end()
  }

  @Test func `a suspended Connect begins no refresh, and the end of the suspension begins the missed refresh`()
    async throws
  {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    program.connect.suspended = true
    await program.refresher.start()
    #expect(source.reasons == [])
    program.connect.suspended = false
    await source.untilLoaded(1)
    #expect(try await program.status().lastSyncStatus == .succeeded)
    #expect(source.reasons == [.start])
    try await program.end()
  }

  @Test func `a connection regained during a failing attempt begins another attempt`() async throws {
    let place = try Place()
    let program = try place.program()
    source.fail(1)
    source.hold(1)
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    await program.refresher.start()
    await source.untilLoaded(1)
    place.connectivity.isOnline = false
    place.connectivity.isOnline = true
    source.open(1)
    await source.untilLoaded(2)
    #expect(source.reasons == [.start, .online])
    try await program.end()
  }

  @Test func `a regained connection does not wait for the delay after a failure`() async throws {
    let place = try Place()
    let program = try place.program()
    source.fail(1)
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    await program.refresher.start()
    await source.untilLoaded(1)
    await place.clock.untilWaiting()
    _ = try? await program.refresher.refresh(Song.self, onlyIfStale: true)
    place.connectivity.isOnline = false
    place.connectivity.isOnline = true
    await source.untilLoaded(2)
    #expect(try await program.status().lastSyncStatus == .succeeded)
    #expect(source.reasons == [.start, .online])
    try await program.end()
  }

  @Test func `without a due date no task waits, and fetches of fresh data and of other entities begin no refresh`()
    async throws
  {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    await program.refresher.start()
    let status = try await program.status()
    let view = program.connect.viewContext
    for _ in 0..<20 { _ = try await program.titles() }
    place.clock.advance(by: 10_000)
    for _ in 0..<20 {
      _ = try await view.perform { try view.count(for: FetchRequest<ManagedObject>(entityName: "Note")) }
    }
    #expect(place.clock.dates == [])
    #expect(try await program.refresher.status(of: Song.self) == status)
    #expect(source.reasons.count == 1)
    try await program.end()
  }

  // MARK: Calls

  @Test func `concurrent calls share one attempt`() async throws {
    let program = try Place().program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    source.hold(1)
    let first = Task { try await program.refresher.refresh(Song.self) }
    await source.untilLoaded(1)
    // This call waits for the running attempt. It would begin no attempt later either, because the data is fresh then.
    let second = Task { try await program.refresher.refresh(Song.self, onlyIfStale: true) }
    source.open(1)
    #expect(try await first.value == second.value)
    #expect(source.reasons == [.request])
    try await program.end()
  }

  @Test func `a read refreshes a single record, and has its own status`() async throws {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(read: Song.self) { [source] request in
      _ = try await source.enter(request)
      let record = MergeRecord(["id": Int(request.scope ?? "") ?? 0, "title": "read"])
      try await request.context.perform {
        _ = try request.context.merge(records: [record], for: request.entity)
      }
    }
    let status = try await program.refresher.read(Song.self, key: "7")
    #expect(status.type == .read)
    #expect(status.scope == "7")
    #expect(status.name == "Song")
    #expect(try await program.titles() == ["read"])
    try await program.refresher.read(Song.self, key: "7")
    #expect(source.reasons.count == 1)
    try await program.refresher.read(Song.self, key: "8")
    try await program.refresher.read(Song.self, key: "7", onlyIfStale: false)
    #expect(source.reasons.count == 3)
    #expect(try await program.refresher.statuses().map(\.scope) == ["7", "8"])
    try await program.end()
  }

  // MARK: Wrong use

  @Test func `adding the status entity twice changes nothing, and a refresher refuses a model without the entity`()
    throws
  {
    let plain = try Place.model()
    let model = try plain.addingRefreshStatus()
    #expect(try model.addingRefreshStatus() === model)
    let connect = TestConnect(name: "Plain", managedObjectModel: plain)
    #expect { try Refresher(connect) } throws: { error in
      ErrorCode.invalidModel ~= error && "\(error)".contains("addingRefreshStatus()")
    }
    let taken = try ManagedObjectModel { Entity("CoherenceRefreshStatus") { Attribute("id", .int64) } }
    #expect { try taken.addingRefreshStatus() } throws: { ErrorCode.invalidModel ~= $0 }
  }

  @Test func `registrations without a key, for an unknown entity and for a known scope are refused`() async throws {
    let program = try Place().program()
    let refresher = program.refresher
    try refresher.register(list: Song.self) { _ in }
    try refresher.register(list: Song.self, scope: "hits") { _ in }
    try refresher.register(read: Song.self) { _ in }
    #expect { try refresher.register(list: Song.self) { _ in } } throws: { ErrorCode.invalidRefresh ~= $0 }
    #expect { try refresher.register(read: Song.self) { _ in } } throws: { ErrorCode.invalidRefresh ~= $0 }
    #expect { try refresher.register(list: ManagedObject.self, entityName: "Note") { _ in } } throws: {
      ErrorCode.unmanagedEntity ~= $0
    }
    #expect { try refresher.register(list: ManagedObject.self, entityName: "Film") { _ in } } throws: {
      ErrorCode.unknownEntity ~= $0
    }
    await #expect { try await refresher.refresh(Song.self, scope: "none") } throws: { ErrorCode.invalidRefresh ~= $0 }
    try await program.end()
  }

  @Test func `a page of changes with the cursor of the previous page ends the refresh with an error`() async throws {
    let program = try Place().program()
    try program.refresher.register(changesOf: Song.self) { [source] request in
      _ = try await source.enter(request)
      return DeltaPage(cursor: "same", hasMore: true)
    }
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.invalidRefresh ~= $0 }
    #expect(source.cursors == [nil, "same"])
    try await program.end()
  }

  @Test func `a page of changes with the cursor of an earlier page ends the refresh with an error`() async throws {
    let program = try Place().program()
    try program.refresher.register(changesOf: Song.self) { [source] request in
      _ = try await source.enter(request)
      return DeltaPage(cursor: request.cursor == "a" ? "b" : "a", hasMore: true)
    }
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.invalidRefresh ~= $0 }
    #expect(source.cursors == [nil, "a", "b"])
    try await program.end()
  }
}
