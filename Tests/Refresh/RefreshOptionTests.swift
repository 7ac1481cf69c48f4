import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Settings of refreshes", .timeLimit(.minutes(15)))
struct RefreshOptionTests {
  private let source = Source()

  @Test func `the default settings are ten minutes, a limit of five minutes and delays from five seconds to an hour`() {
    let options = RefreshOptions()
    #expect(options.stalenessInterval == .seconds(600))
    #expect(options.timeLimit == .seconds(300))
    #expect(options.backoff.initialDelay == .seconds(5) && options.backoff.maximumDelay == .seconds(3600))
  }

  @Test func `a failed refresh is repeated a second later at the earliest, whatever the delays of the options are`()
    async throws
  {
    struct Down: Error {}
    let place = try Place()
    let program = try place.program {
      $0.backoff = RetryPolicy(initialDelay: .zero, factor: 2, maximumDelay: .zero, jitter: 0)
    }
    try program.refresher.register(read: Song.self) { _ in throw Down() }
    await #expect(throws: Down.self) { try await program.refresher.read(Song.self, key: "1") }
    let status = try await program.refresher.status(of: Song.self, .read, scope: "1")
    #expect(status?.nextAttemptTime == place.clock.now + 1)
    try await program.end()
  }

  @Test func `a refresh with the longest time limit and the longest delay saves its status`() async throws {
    struct Down: Error {}
    let place = try Place()
    let program = try place.program {
      $0.backoff = RetryPolicy(
        initialDelay: .seconds(Int64.max), maximumDelay: .seconds(Int64.max), jitter: 0)
    }
    try program.refresher.register(list: Song.self, timeLimit: .seconds(Int64.max)) { [source] in
      try await source.load($0)
    }
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    try program.refresher.register(read: Song.self) { _ in throw Down() }
    await #expect(throws: Down.self) { try await program.refresher.read(Song.self, key: "1") }
    let status = try #require(try await program.refresher.status(of: Song.self, .read, scope: "1"))
    let next = try #require(status.nextAttemptTime)
    #expect(status.lastSyncStatus == .failed && next > place.clock.now + 86_400 * 365_000)
    try await program.end()
  }

  @Test func `the staleness interval of the options is that of registrations and entities without an interval`()
    async throws
  {
    let place = try Place()
    let program = try place.program { $0.stalenessInterval = .seconds(30) }
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    try await program.refresher.refresh(Song.self, onlyIfStale: true)
    place.clock.advance(by: 29)
    try await program.refresher.refresh(Song.self, onlyIfStale: true)
    #expect(source.reasons.count == 1)
    place.clock.advance(by: 1)
    try await program.refresher.refresh(Song.self, onlyIfStale: true)
    #expect(source.reasons.count == 2)
    try await program.end()
  }

  @Test func `an attempt fails after the time limit of its registration, or else of the options`() async throws {
    let timeouts = ManualClock()
    let place = try Place()
    let program = try place.program(connect: ConnectOptions(clock: timeouts)) { $0.timeLimit = .seconds(40) }
    source.hold(1)
    source.hold(2)
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    try program.refresher.register(list: Song.self, scope: "slow", timeLimit: .seconds(90)) { [source] in
      try await source.load($0)
    }
    let limits: [(scope: String?, seconds: Double)] = [(nil, 40), ("slow", 90)]
    for (index, limit) in limits.enumerated() {
      let attempt = Task { try await program.refresher.refresh(Song.self, scope: limit.scope) }
      await source.untilLoaded(index + 1)
      await timeouts.untilSleeping()
      #expect(timeouts.wakingDates == [timeouts.date + limit.seconds])
      let lease = try await program.refresher.status(of: Song.self, scope: limit.scope)?.leaseEnd
      #expect(try #require(lease) > place.clock.now + limit.seconds)
      timeouts.advance(by: .seconds(limit.seconds))
      await #expect { try await attempt.value } throws: { ErrorCode.timedOut ~= $0 }
      let status = try #require(try await program.refresher.status(of: Song.self, scope: limit.scope))
      #expect(status.lastSyncStatus == .failed && status.failureCount == 1 && status.leaseEnd == nil)
    }
    try await program.end()
  }

  @Test(arguments: [RefreshStatus.Kind.list, .read])
  func `the refresh of changes and that of a record have the intervals and limits of their registrations`(
    kind: RefreshStatus.Kind
  ) async throws {
    let timeouts = ManualClock()
    let place = try Place()
    let program = try place.program(connect: ConnectOptions(clock: timeouts))
    let refresher = program.refresher
    // Without its name, the entity of the class is unknown.
    if kind == .list {
      try refresher.register(
        changesOf: ManagedObject.self, entityName: "Song", scope: "1", stalenessInterval: .seconds(90),
        timeLimit: .seconds(40)
      ) { [source] request in
        _ = try await source.enter(request)
        return DeltaPage()
      }
    } else {
      try refresher.register(
        read: ManagedObject.self, entityName: "Song", stalenessInterval: .seconds(90), timeLimit: .seconds(40)
      ) { [source] request in _ = try await source.enter(request) }
    }
    @Sendable func refresh(onlyIfStale: Bool) async throws {
      if kind == .list {
        try await refresher.refresh(Song.self, scope: "1", onlyIfStale: onlyIfStale)
      } else {
        try await refresher.read(ManagedObject.self, entityName: "Song", key: "1", onlyIfStale: onlyIfStale)
      }
    }
    try await refresh(onlyIfStale: true)
    place.clock.advance(by: 89)
    try await refresh(onlyIfStale: true)
    #expect(source.reasons.count == 1)
    place.clock.advance(by: 1)
    try await refresh(onlyIfStale: true)
    #expect(source.reasons.count == 2)
    source.hold(3)
    let attempt = Task { try await refresh(onlyIfStale: false) }
    await source.untilLoaded(3)
    await timeouts.untilSleeping()
    #expect(timeouts.wakingDates == [timeouts.date + 40])
    timeouts.advance(by: .seconds(40))
    await #expect { try await attempt.value } throws: { ErrorCode.timedOut ~= $0 }
    try await program.end()
  }

  @Test func `a list of changes is refreshed at the dates of its schedule`() async throws {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(changesOf: Song.self, schedule: .every(.seconds(300))) { [source] request in
      _ = try await source.enter(request)
      return DeltaPage()
    }
    await program.refresher.start()
    await source.untilLoaded(1)
    await place.clock.untilWaiting()
    #expect(place.clock.dates == [place.clock.now + 300])
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `the filter of a registration limits the deletions of a complete page, and its condition protects records`(
    backend: Backend
  ) async throws {
    let place = try Place(backend)
    let program = try place.program()
    let titles = [1: "1", 2: "2", 3: "locked", 4: "4"]
    let pages = [
      DeltaPage(records: titles.map { MergeRecord(["id": $0.key, "title": $0.value]) }, cursor: "a"),
      DeltaPage(records: [MergeRecord(["id": 3, "title": "three"])], cursor: "b", isComplete: true),
    ]
    try program.refresher.register(
      changesOf: Song.self, subsetFilter: FetchPredicate(format: "id > 1"),
      condition: FetchPredicate(format: "existing.title != 'locked'")
    ) { [source] request in
      let number = try await source.enter(request)
      return pages[number - 1]
    }
    try await program.refresher.refresh(Song.self)
    #expect(try await program.titles() == ["1", "2", "locked", "4"])
    try await program.refresher.refresh(Song.self)
    #expect(try await program.titles() == ["1", "locked"])
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a request has the beginning of the last success, and a status also the beginning of the last attempt`(
    backend: Backend
  ) async throws {
    let place = try Place(backend)
    let program = try place.program()
    let times = Mutex<[Date?]>([])
    source.fail(2)
    try program.refresher.register(list: Song.self) { [source] request in
      times.withLock { $0.append(request.lastSyncTime) }
      try await source.load(request)
    }
    let first = place.clock.now
    try await program.refresher.refresh(Song.self)
    place.clock.advance(by: 50)
    await #expect { try await program.refresher.refresh(Song.self) } throws: { ErrorCode.inputOutput ~= $0 }
    let failed = try #require(try await program.refresher.status(of: Song.self))
    #expect(failed.lastSyncTime == first && failed.lastAttemptTime == first + 50)
    place.clock.advance(by: 50)
    let status = try await program.refresher.refresh(Song.self)
    #expect(status.lastSyncTime == first + 100 && status.lastAttemptTime == first + 100)
    #expect(times.withLock { $0 } == [nil, first, first])
    try await program.end()
  }

  @Test func `the release of a refresher ends its automatic attempts`() async throws {
    let place = try Place()
    let program = try place.program()
    var options = RefreshOptions()
    options.clock = place.clock
    var refresher: Refresher? = try Refresher(program.connect, connectivity: place.connectivity, options: options)
    try refresher?.register(list: Song.self, schedule: .every(.seconds(600))) { [source] in
      try await source.load($0)
    }
    await refresher?.start()
    await source.untilLoaded(1)
    await place.clock.untilWaiting()
    refresher = nil
    while !place.clock.dates.isEmpty { await Task.yield() }
    place.clock.advance(by: 10_000)
    #expect(try await program.titles() == ["1"])
    #expect(source.reasons == [.start])
    try await program.end()
  }
}
