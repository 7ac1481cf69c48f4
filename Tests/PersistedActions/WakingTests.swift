import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@testable import CoherencePersistedActions

/// Started workers, which the ends of attempts wake for the next date.
@Suite(.timeLimit(.minutes(15))) struct WakingTests {
  /// So long that no read of the claims of other workers finds a due action.
  private func neverObserve(_ options: inout PersistedActionOptions) { options.leaseLength = .seconds(1_000_000_000) }

  /// Advances the clock from timer to timer until a condition is met. A timer of a lease is no timer for a date.
  private func advance(_ time: ManualClock, until isMet: () async throws -> Bool) async throws {
    while try await !isMet() {
      try Task.checkCancellation()
      let rests = time.wakingDates.map { $0.timeIntervalSince(time.date) }
      if let rest = rests.filter({ $0 <= 60 }).min() { time.advance(by: .seconds(rest)) }
      await Task.yield()
    }
  }

  /// Starts a worker with a schedule of a mark every 20 seconds.
  private func startOften(_ stack: ActionStack, _ time: ManualClock) async throws -> PersistedActionWorker {
    let schedule = PersistedSchedule("often", .every(.seconds(20)), Mark(board: stack.boardName))
    let worker = try stack.worker(time, schedules: [schedule], change: neverObserve)
    try await worker.start()
    return worker
  }

  @Test(arguments: Backend.available, [Leave.Way.postponed, .later])
  func `an action that is postponed or tried again wakes its started worker at its date`(
    backend: Backend, way: Leave.Way
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time, change: neverObserve)
    try await worker.start()
    let handle = try stack.enqueue(
      Leave(board: stack.boardName, way: way, date: time.date.addingTimeInterval(20), waits: true))
    try await stack.board.until("attempt 1")
    stack.board.open("leave")
    try await advance(time) { try await stack.state(of: handle) == .succeeded }
    #expect(stack.board.marks == ["attempt 1", way == .postponed ? "attempt 1" : "attempt 2"])
    #expect(time.date >= ManualClock.firstDate + (way == .postponed ? 20 : 90))
    await worker.stop()
  }

  @Test(arguments: Backend.available)
  func `a started worker reads the date every minute, and runs an action whose date a user has set the clock to`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let handle = try stack.enqueue(Mark(board: stack.boardName), at: time.date.addingTimeInterval(3600))
    let worker = try stack.worker(time, change: neverObserve)
    try await worker.start()
    await time.untilSleeping(for: .seconds(60))
    time.date += 3600
    time.advance(by: .seconds(60))
    #expect(try await stack.actions.untilFinished(handle).state == .succeeded)
    await worker.stop()
  }

  @Test(arguments: Backend.available)
  func `a started worker claims an action a second after its store has refused the claim`(_ backend: Backend)
    async throws
  {
    let stack = try ActionStack(backend)
    let coordinator = stack.container.persistentStoreCoordinator
    let handle = try stack.enqueue(Mark(board: stack.boardName))
    let outage = Outage(of: PersistedActionRecord.entityName, in: coordinator.persistentStores[0].identifier)
    coordinator.addSaveParticipant(outage)
    let time = ManualClock()
    let worker = try stack.worker(time, change: neverObserve)
    try await worker.start()
    await time.untilSleeping(for: .seconds(1))
    #expect(stack.board.marks.isEmpty)
    outage.end()
    time.advance(by: .seconds(1))
    #expect(try await stack.actions.untilFinished(handle).state == .succeeded)
    await worker.stop()
    withExtendedLifetime(outage) {}
  }

  @Test(arguments: Backend.available)
  func `each run of a schedule wakes its started worker at the next date`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try await startOften(stack, time)
    try await advance(time) { stack.board.marks.count >= 3 }
    #expect(time.date >= ManualClock.firstDate + 60)
    await worker.stop()
  }

  @Test(arguments: Backend.available)
  func `a started worker continues its schedules from the present date after the date was set back by a year`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try await startOften(stack, time)
    time.date -= 365 * 86_400
    let limit = time.date + 3600
    try await advance(time) { !stack.board.marks.isEmpty || time.date > limit }
    #expect(time.date <= limit)
    await worker.stop()
  }

  @Test(arguments: Backend.available)
  func `a started worker runs its schedules in the store that takes the place of another one`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try await startOften(stack, time)
    // As at the login of another user.
    for store in stack.container.persistentStoreCoordinator.persistentStores {
      try stack.container.detach(persistentStore: store)
    }
    try stack.container.attachPersistentStore(for: backend.newConfiguration())
    try await advance(time) { stack.board.marks.count >= 2 }
    #expect(try await stack.actions.schedules().map(\.scheduleName) == ["often"])
    await worker.stop()
  }

  @Test(arguments: Backend.available)
  func `an action that a stopping worker hands back wakes another started worker`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    let worker = try stack.worker(ManualClock(), change: neverObserve)
    try await worker.start()
    try await stack.board.until("begin hold 1")
    let other = try stack.worker(on: stack.makeStranger(), ManualClock(), change: neverObserve)
    try await other.start()
    // The other worker has found no waiting action.
    while other.statistics.claims == 0 {
      try Task.checkCancellation()
      await Task.yield()
    }
    await worker.stop(.handBack)
    stack.board.open("hold 1")
    #expect(try await stack.actions.untilFinished(handle).state == .succeeded)
    #expect(other.statistics.attempts == 1)
    await other.stop()
  }
}
