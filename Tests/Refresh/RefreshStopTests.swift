import CoherenceActions
import CoherenceCore
import CoherenceRefresh
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Stops and cancellations of refreshes", .timeLimit(.minutes(15)))
struct RefreshStopTests {
  private let source = Source()

  @Test(arguments: Backend.available)
  func `a stop during another stop waits for the same attempt`(backend: Backend) async throws {
    let place = try Place(backend)
    let program = try place.program()
    let body = StubbornBody()
    try await body.begin(in: program)
    let first = Task { await program.refresher.stop() }
    for await _ in body.canceled.stream { break }
    let hasEnded = Mutex(false)
    let second = Task {
      await program.refresher.stop()
      hasEnded.withLock { $0 = true }
    }
    for _ in 0..<20 {
      #expect(try await program.refresher.status(of: Song.self)?.leaseEnd != nil)
      let secondHasEnded = hasEnded.withLock { $0 }
      #expect(!secondHasEnded)
    }
    body.gate.continuation.finish()
    await second.value
    #expect(try await program.refresher.status(of: Song.self)?.leaseEnd == nil)
    await first.value
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a stop after the stop by an attempt waits for this attempt`(backend: Backend) async throws {
    let place = try Place(backend)
    let program = try place.program()
    let body = StubbornBody()
    try program.refresher.register(list: Song.self) { [weak refresher = program.refresher] _ in
      await refresher?.stop()
      await body.run()
    }
    await program.refresher.start()
    for await _ in body.canceled.stream { break }
    let stopping = Task { await program.refresher.stop() }
    try await body.end(during: stopping, of: program)
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a stop of a refresher without a start cancels the attempt of a call`(backend: Backend) async throws {
    let program = try Place(backend).program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    source.hold(1)
    let refresh = Task { try await program.refresher.refresh(Song.self) }
    await source.untilLoaded(1)
    await program.refresher.stop()
    let status = try #require(try await program.refresher.status(of: Song.self))
    #expect(status.leaseEnd == nil && status.lastSyncStatus == .never)
    source.open(1)
    await #expect(throws: (any Error).self) { try await refresh.value }
    try await program.end()
  }

  @Test func `a start during a stop begins the automatic attempts of every list`() async throws {
    let place = try Place()
    let program = try place.program()
    let body = StubbornBody()
    try program.refresher.register(list: Song.self, scope: "slow") { _ in await body.run() }
    try program.refresher.register(list: Song.self, schedule: .every(.seconds(600))) { _ in }
    await program.refresher.start()
    for await _ in body.begun.stream { break }
    let stopping = Task { await program.refresher.stop() }
    for await _ in body.canceled.stream { break }
    await program.refresher.start()
    body.gate.continuation.finish()
    await stopping.value
    // The slow list, whose attempt the stop has cancelled, and the list with a schedule.
    for await _ in body.begun.stream { break }
    try await program.refresher.refresh(Song.self, onlyIfStale: true)
    await place.clock.untilWaiting()
    #expect(place.clock.dates == [place.clock.now + 600])
    try await program.end()
  }

  // MARK: Cancellations

  @Test(arguments: Backend.available)
  func `an attempt whose action is cancelled is no failure, and another attempt follows after the shortest delay`(
    backend: Backend
  ) async throws {
    let place = try Place(backend)
    let program = try place.program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    source.hold(1)
    var events = program.connect.events.makeAsyncIterator()
    await program.refresher.start()
    await source.untilLoaded(1)
    while let event = await events.next() {
      guard case .actionStarted(let action) = event else { continue }
      action.cancel()
      break
    }
    await place.clock.untilWaiting()
    let status = try #require(try await program.refresher.status(of: Song.self))
    #expect(status.lastSyncStatus == .never && status.failureCount == 0 && status.leaseEnd == nil)
    #expect(place.clock.dates == [place.clock.now + 10])
    place.clock.advance(by: 10)
    await source.untilLoaded(2)
    #expect(try await program.status().lastSyncStatus == .succeeded)
    #expect(source.reasons == [.start, .schedule])
    try await program.end()
  }

  /// Starts a program with an hourly schedule, and cancels the action of the second attempt.
  private func cancelScheduledAttempt(of program: Program, _ clock: RefreshTestClock) async throws {
    await program.refresher.start()
    await source.untilLoaded(1)
    #expect(try await program.status().lastSyncStatus == .succeeded)
    source.hold(2)
    var events = program.connect.events.makeAsyncIterator()
    await clock.untilWaiting()
    clock.advance(by: 3600)
    await source.untilLoaded(2)
    while let event = await events.next() {
      guard case .actionStarted(let action) = event else { continue }
      action.cancel()
      break
    }
    await clock.untilWaiting()
  }

  @Test func `an attempt of a schedule whose action is cancelled is repeated before the next date of the schedule`()
    async throws
  {
    let place = try Place()
    let program = try place.program()
    try program.refresher.register(list: Song.self, schedule: .every(.seconds(3600))) { [source] in
      try await source.load($0)
    }
    try await cancelScheduledAttempt(of: program, place.clock)
    #expect(place.clock.dates == [place.clock.now + 10])
    place.clock.advance(by: 10)
    await source.untilLoaded(3)
    #expect(source.reasons == [.start, .schedule, .schedule])
    try await program.end()
  }

  @Test(arguments: Backend.available)
  func `a cancelled attempt is not repeated after another process has refreshed the data`(
    backend: Backend
  ) async throws {
    let place = try Place(backend)
    let (program, other) = (try place.program(), try place.program())
    for program in [program, other] {
      try program.refresher.register(list: Song.self, schedule: .every(.seconds(3600))) { [source] in
        try await source.load($0)
      }
    }
    try await cancelScheduledAttempt(of: program, place.clock)
    #expect(try await other.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    place.clock.advance(by: 10)
    await place.clock.untilWaiting()
    #expect(source.reasons == [.start, .schedule, .request])
    try await program.end()
    try await other.end()
  }

  @Test func `an attempt that is cancelled before its claim is no failure of the store`() async throws {
    let place = try Place(isOnline: false)
    let clock = CancellingClock(base: place.clock)
    let program = try place.program { $0.clock = clock }
    let refresher = program.refresher
    try refresher.register(list: Song.self) { _ in }
    // Offline, the start begins no attempt, and calls do.
    await refresher.start()
    for _ in 1...3 {
      clock.cancelsNextTask.withLock { $0 = true }
      await #expect(throws: CancellationError.self) { try await refresher.refresh(Song.self) }
    }
    let stores = program.connect.persistentStoreCoordinator.persistentStores
    try await program.connect.detach(persistentStores: stores)
    await #expect { try await refresher.refresh(Song.self) } throws: { ErrorCode.noStore ~= $0 }
    await place.clock.untilWaiting()
    #expect(place.clock.dates == [place.clock.now + 10])
    try await program.end()
  }

  @Test func `a stop cancels a running attempt and releases the lease of its scope`() async throws {
    let program = try Place().program()
    try program.refresher.register(list: Song.self) { [source] in try await source.load($0) }
    source.hold(1)
    await program.refresher.start()
    await source.untilLoaded(1)
    await program.refresher.stop()
    let status = try #require(try await program.refresher.status(of: Song.self))
    #expect(status.leaseEnd == nil)
    #expect(status.lastSyncStatus == .never)
    #expect(status.failureCount == 0)
    #expect(try await program.refresher.refresh(Song.self).lastSyncStatus == .succeeded)
    try await program.end()
  }

  @Test func `a refresh can stop its own refresher, and the stop does not wait for this refresh`() async throws {
    let program = try Place().program()
    var events = program.refresher.events.makeAsyncIterator()
    try program.refresher.register(list: Song.self) { [weak refresher = program.refresher] _ in
      await refresher?.stop()
    }
    await program.refresher.start()
    // A body that ends before the cancellation arrives succeeds.
    while let event = await events.next() { if case .started = event { continue } else { break } }
    #expect(try await program.refresher.status(of: Song.self)?.leaseEnd == nil)
    try await program.end()
  }

  @Test func `a read for which a refresh waits can stop their refresher`() async throws {
    let program = try Place().program()
    var events = program.refresher.events.makeAsyncIterator()
    try program.refresher.register(read: ManagedObject.self, entityName: "Genre") {
      [weak refresher = program.refresher] _ in
      await refresher?.stop()
    }
    try program.refresher.register(list: Song.self) { [weak refresher = program.refresher] _ in
      _ = try await refresher?.read(ManagedObject.self, entityName: "Genre", key: "jazz")
    }
    await program.refresher.start()
    // The read ends first, and the refresh with it. A body that ends before the cancellation arrives succeeds.
    for _ in 1...2 {
      while let event = await events.next() { if case .started = event { continue } else { break } }
    }
    #expect(try await program.refresher.statuses().map(\.leaseEnd) == [nil, nil])
    try await program.end()
  }

  @Test func `a list registered during a stop does not run after the stop`() async throws {
    let program = try Place().program()
    for round in 0..<100 {
      await program.refresher.start()
      try program.refresher.register(list: Song.self, scope: "\(round)") { [source] in try await source.load($0) }
      await program.refresher.stop()
      let count = source.reasons.count
      for _ in 0..<20 { await Task.yield() }
      #expect(source.reasons.count == count, "round \(round)")
    }
    try await program.end()
  }
}

/// A clock that cancels the task that reads it: an attempt reads the time before it claims its lease.
private final class CancellingClock: RefreshClock {
  let cancelsNextTask = Mutex(false)
  private let base: RefreshTestClock

  init(base: RefreshTestClock) { self.base = base }

  var now: Date {
    let cancels = cancelsNextTask.withLock { cancels in
      defer { cancels = false }
      return cancels
    }
    if cancels { _ = withUnsafeCurrentTask { $0?.cancel() } }
    return base.now
  }

  func wait(for duration: Duration) async throws { try await base.wait(for: duration) }
  func wait(until date: Date) async throws { try await base.wait(until: date) }
}
