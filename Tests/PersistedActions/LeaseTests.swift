import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherencePostgreSQL
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// Workers that stop, and workers that take over their actions.
///
/// Each container simulates a process with a store of its own. A worker whose `ManualClock` never advances simulates a
/// suspended process: the worker sends no heartbeat, and does not notice that its lease has expired.
@Suite(.timeLimit(.minutes(15))) struct LeaseTests {
  private static let lease = PersistedActionOptions().leaseLength

  @Test(arguments: Backend.available)
  func `the actions of a stopped worker run again, and the stopped worker cannot complete them`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let stopped = try stack.worker(ManualClock())
    let events = stopped.events
    let (handle, attempt) = try await stack.hold(in: stopped)

    let time = ManualClock()
    let other = try stack.worker(on: stack.makeStranger(), time)
    #expect(try await other.runDueActions() == 0)
    time.advance(by: Self.lease)
    stack.board.open("hold 2")
    #expect(try await other.runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .succeeded)
    let finished = try #require(try await stack.actions.action(handle))

    // The suspended process resumes, and its worker ends the first attempt.
    stack.board.open("hold 1")
    _ = try await attempt.value
    for await event in events where event == .leaseLost(handle) { break }
    #expect(try await stack.actions.action(handle) == finished)
    #expect(finished.failedAttempts == 1)
  }

  @Test(arguments: Backend.available)
  func `a worker without its lease cannot commit the work of the action`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(HoldAndCommit(board: stack.boardName))
    let stopped = try stack.worker(ManualClock())
    let attempt = Task { try await stopped.runDueActions() }
    try await stack.board.until("begin 1")

    let time = ManualClock()
    let other = try stack.worker(on: stack.makeStranger(), time)
    try await other.runDueActions()
    time.advance(by: Self.lease)
    stack.board.open("commit 2")
    #expect(try await other.runDueActions() == 1)

    stack.board.open("commit 1")
    _ = try await attempt.value
    #expect(stack.board.marks.contains("refused 1"))
    #expect(try stack.notes() == ["note of attempt 2"])
    #expect(try await stack.state(of: handle) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `a worker without its lease cannot commit while the new attempt runs`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    try stack.enqueue(HoldAndCommit(board: stack.boardName))
    let stopped = try stack.worker(ManualClock())
    let first = Task { try await stopped.runDueActions() }
    try await stack.board.until("begin 1")

    let time = ManualClock()
    let other = try stack.worker(on: stack.makeStranger(), time)
    try await other.runDueActions()
    time.advance(by: Self.lease)
    let second = Task { try await other.runDueActions() }
    try await stack.board.until("begin 2")
    stack.board.open("commit 1")
    _ = try await first.value
    #expect(try stack.notes() == [])

    stack.board.open("commit 2")
    _ = try await second.value
    #expect(try stack.notes() == ["note of attempt 2"])
  }

  @Test(arguments: Backend.available)
  func `a worker with heartbeats keeps its actions when its date is set forward or back`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let (time, othersTime) = (ManualClock(), ManualClock())
    let living = try stack.worker(time)
    let (handle, attempt) = try await stack.hold(in: living)
    let other = try stack.worker(on: stack.makeStranger(), othersTime)
    for year in 1...3 {
      // The worker sleeps until its next heartbeat, saves the heartbeat, and sleeps again.
      await time.untilSleeping()
      time.advance(by: Self.lease / 3)
      await time.untilSleeping()
      othersTime.date += Double(year) * 86_400 * 365 * (year.isMultiple(of: 2) ? -1 : 1)
      othersTime.advance(by: Self.lease)
      #expect(try await other.runDueActions() == 0)
    }
    stack.board.open("hold 1")
    #expect(try await attempt.value == 1)
    #expect(living.statistics.beats >= 3)
    #expect(try stack.workerCount() == 0)
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .succeeded)
    #expect(info.failedAttempts == 0)
  }

  @Test(arguments: Backend.available)
  func `a worker that was suspended with all others takes over no action of a living worker`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let (time, othersTime) = (ManualClock(), ManualClock())
    let living = try stack.worker(time)
    let (handle, attempt) = try await stack.hold(in: living)
    let other = try stack.worker(on: stack.makeStranger(), othersTime)
    #expect(try await other.runDueActions() == 0)
    // An attempt of the other worker would end at once.
    stack.board.open("hold 2")
    // After an hour, the other worker resumes first.
    othersTime.advance(by: .seconds(3600))
    #expect(try await other.runDueActions() == 0)
    await time.untilSleeping()
    time.advance(by: .seconds(3600))
    // The worker has saved a heartbeat, and sleeps again.
    await time.untilSleeping()
    othersTime.advance(by: Self.lease / 2)
    #expect(try await other.runDueActions() == 0)

    stack.board.open("hold 1")
    #expect(try await attempt.value == 1)
    #expect(try await stack.actions.action(handle)?.failedAttempts == 0)
    #expect(try await stack.state(of: handle) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `the actions of a stopped worker run again after a pause of the other worker`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let stopped = try stack.worker(ManualClock())
    let (handle, attempt) = try await stack.hold(in: stopped)

    let time = ManualClock()
    let other = try stack.worker(on: stack.makeStranger(), time)
    stack.board.open("hold 2")
    for (pause, attempts) in [(Duration.zero, 0), (.seconds(3600), 0), (Self.lease / 2, 1)] {
      time.advance(by: pause)
      #expect(try await other.runDueActions() == attempts)
    }
    #expect(try await stack.state(of: handle) == .succeeded)
    stack.board.open("hold 1")
    _ = try await attempt.value
  }

  @Test(arguments: Backend.available)
  func `a worker with several stores keeps its actions beside a worker with one of these stores`(
    _ backend: Backend
  ) async throws {
    let (shared, stack) = (try ActionStack(backend), try ActionStack(backend))
    try stack.attachStore(to: shared.container)
    let time = ManualClock()
    let living = try shared.worker(time)
    let (handle, attempt) = try await stack.hold(in: living)

    // A second attempt would not wait.
    stack.board.open("hold 2")
    let othersTime = ManualClock()
    let other = try stack.worker(othersTime)
    for _ in 1...3 {
      await time.untilSleeping()
      time.advance(by: Self.lease / 3)
      await time.untilSleeping()
      othersTime.advance(by: Self.lease)
      #expect(try await other.runDueActions() == 0)
    }
    stack.board.open("hold 1")
    #expect(try await attempt.value == 1)
    #expect(try shared.workerCount() == 0)
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .succeeded)
    #expect(info.failedAttempts == 0)
  }

  @Test(arguments: Backend.available)
  func `an action that stops its workers is parked after its last attempt`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let stopped = try stack.worker(ManualClock())
    let (handle, attempt) = try await stack.hold(in: stopped, retry: .never)

    let time = ManualClock()
    let other = try stack.worker(on: stack.makeStranger(), time)
    try await other.runDueActions()
    time.advance(by: Self.lease)
    #expect(try await other.runDueActions() == 0)
    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .parked)
    #expect(info.failures.map(\.text) == ["The worker stopped during the attempt."])
    stack.board.open("hold 1")
    _ = try await attempt.value
    #expect(try await stack.state(of: handle) == .parked)
  }

  @Test(arguments: Backend.available)
  func `a worker with two attempts of one action can cancel the second after the end of the first`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let events = worker.events
    try await worker.start()
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    try await stack.board.until("begin hold 1")

    // The worker sends no heartbeat. The other worker takes the action over, but does not know its type and leaves the
    // action waiting, so that the first worker claims it again.
    let time = ManualClock()
    let other = try PersistedActionWorker(
      stack.makeStranger(), actions: [Mark.self], options: PersistedActionOptions(unknownActions: .leave),
      clock: time.workerClock)
    try await other.runDueActions()
    time.advance(by: Self.lease)
    try await other.runDueActions()
    try await stack.board.until("begin hold 2")
    stack.board.open("hold 1")
    for await event in events where event == .leaseLost(handle) { break }

    try await stack.actions.cancel(handle)
    #expect(try await stack.actions.untilFinished(handle).state == .canceled)
    #expect(!stack.board.marks.contains("end hold 2"))
    await worker.stop()
  }

  @Test(arguments: Backend.available)
  func `a worker takes over an action that a stopped worker had claimed after the last read of the store`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try PersistedActionWorker(
      stack.makeStranger(), actions: [Mark.self], options: PersistedActionOptions(unknownActions: .leave),
      clock: time.workerClock)
    try await worker.start()
    _ = try await stack.actions.untilFinished(try stack.enqueue(Mark(board: stack.boardName)))
    // The worker reads the store a few more times after its start. Advancing its time completes these reads.
    let claims = worker.statistics.claims
    while worker.statistics.claims == claims {
      // The worker sets its timer in a task of its own, so that the loop has to wait for the sleep.
      if time.sleeperCount > 0 { time.advance(by: Self.lease) }
      await Task.yield()
    }
    time.advance(by: Self.lease)

    let (mark, hold) = try stack.saving { context in
      (
        try context.enqueue(Mark(board: stack.boardName)),
        try context.enqueue(Hold(board: stack.boardName))
      )
    }
    // The end of the mark shows that the worker has read the store. It left the `Hold`, whose type it does not know.
    _ = try await stack.actions.untilFinished(mark)
    let stopped = try stack.worker(ManualClock())
    let attempt = Task { try await stopped.runDueActions() }
    try await stack.board.until("begin hold 1")
    while try await stack.state(of: hold) == .running {
      await time.untilSleeping()
      time.advance(by: Self.lease / 2)
    }
    #expect(try await stack.state(of: hold) == .waiting)
    #expect(try await stack.actions.action(hold)?.failedAttempts == 1)
    stack.board.open("hold 1")
    stack.board.open("hold 2")
    _ = try await attempt.value
    await worker.stop()
  }

  @Test(arguments: Backend.available)
  func `the record of a killed idle worker is deleted, and a living worker inserts its record again`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let idleTime = ManualClock()
    let idle = try stack.worker(idleTime)
    try await idle.start()
    #expect(try stack.workerCount() == 1)

    let time = ManualClock()
    let other = try stack.worker(on: stack.makeStranger(), time)
    for passed in [0, 1] {
      time.advance(by: Self.lease * passed)
      _ = try await other.runDueActions()
      #expect(try stack.workerCount() == 1 - passed)
    }

    // The worker still lives, without a record. Its next action leads to a heartbeat, which inserts the record.
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    try await stack.board.until("begin hold 1")
    while try stack.workerCount() == 0 {
      await idleTime.untilSleeping()
      idleTime.advance(by: Self.lease / 3)
    }
    for _ in 0..<2 {
      time.advance(by: Self.lease / 2)
      _ = try await other.runDueActions()
    }
    #expect(try stack.workerCount() == 1)
    stack.board.open("hold 1")
    #expect(try await stack.actions.untilFinished(handle).failedAttempts == 0)
    await idle.stop()
    #expect(try stack.workerCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `two workers on one store run each action once`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handles = try stack.saving { context in
      try (0..<200).map { try context.enqueue(Mark(board: stack.boardName, text: "\($0)")) }
    }
    let stranger = try stack.makeStranger()
    let workers = [
      try stack.worker(ManualClock()) { $0.maximumClaimedAhead = 16 },
      try stack.worker(on: stranger, ManualClock()) { $0.maximumClaimedAhead = 16 },
    ]
    for worker in workers { try await worker.start() }
    for handle in handles { #expect(try await stack.actions.untilFinished(handle).state == .succeeded) }
    for worker in workers { await worker.stop() }
    #expect(stack.board.marks.count == 200)
    #expect(Set(stack.board.marks).count == 200)
  }

  @Test(.enabled(if: Backend.serverURL != nil))
  func `two connections suffice for a worker whose actions commit their work`() async throws {
    let stack = try ActionStack(.postgreSQL, options: [PostgreSQLOption.poolSize: 2])
    let handles = try stack.saving { context in
      try (0..<40).map { try context.enqueue(WriteNote(text: "\($0)")) }
    }
    let worker = try stack.worker(ManualClock())
    try await worker.start()
    for handle in handles { #expect(try await stack.actions.untilFinished(handle).state == .succeeded) }
    await worker.stop()
    #expect(try stack.notes().count == 40)
  }
}
