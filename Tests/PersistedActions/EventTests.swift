import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The events of workers. A missing event makes a test wait until its time limit.
@Suite(.timeLimit(.minutes(15))) struct EventTests {
  @Test(arguments: Backend.available)
  func `a failed attempt, a postponement and a parking are events with their texts and dates`(_ backend: Backend)
    async throws
  {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let stream = worker.events
    let failing = try stack.enqueue(
      Fail(board: stack.boardName, times: 2),
      retry: PersistedRetry(attempts: 2, initialDelay: .seconds(10), jitter: 0))
    try await worker.runDueActions()
    time.advance(by: .seconds(10))
    try await worker.runDueActions()
    let date = time.date + 60
    let postponed = try stack.enqueue(Leave(board: stack.boardName + "postponed", way: .postponed, date: date))
    try await worker.runDueActions()
    #expect(
      await stream.first(6) == [
        .started(failing, attempt: 1),
        .willRetry(failing, attempt: 1, error: "Failure.broken", date: ManualClock.firstDate + 10),
        .started(failing, attempt: 2), .finished(failing, .parked, error: "Failure.broken"),
        .started(postponed, attempt: 1), .rescheduled(postponed, date: date),
      ])
  }

  @Test(arguments: Backend.available)
  func `a worker that takes an action over has an event for it before the next attempt`(_ backend: Backend) async throws
  {
    let stack = try ActionStack(backend)
    let stopped = try stack.worker(ManualClock())
    let (handle, attempt) = try await stack.hold(in: stopped)
    let time = ManualClock()
    let other = try stack.worker(on: stack.makeStranger(), time)
    let stream = other.events
    try await other.runDueActions()
    time.advance(by: PersistedActionOptions().leaseLength)
    stack.board.open("hold 2")
    #expect(try await other.runDueActions() == 1)
    #expect(
      await stream.first(3) == [
        .rescued(handle), .started(handle, attempt: 2), .finished(handle, .succeeded, error: nil),
      ])
    stack.board.open("hold 1")
    _ = try await attempt.value
  }

  @Test(arguments: Backend.available)
  func `an action that a stop hands back has an event with its former date`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let stream = worker.events
    try await worker.start()
    let handle = try stack.enqueue(Hold(board: stack.boardName))
    try await stack.board.until("begin hold 1")
    let date = try #require(try await stack.actions.action(handle)).dueDate
    await worker.stop(.handBack)
    #expect(await stream.first(2) == [.started(handle, attempt: 1), .rescheduled(handle, date: date)])
  }

  @Test(arguments: Backend.available)
  func `the end of a cancelled action is an event without an error`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let stream = worker.events
    try await worker.start()
    let handle = try stack.enqueue(Patience(board: stack.boardName))
    try await stack.board.until("begin")
    #expect(try await stack.actions.cancel(handle))
    #expect(
      await stream.first(2) == [.started(handle, attempt: 1), .finished(handle, .canceled, error: nil)])
    await worker.stop()
  }
}
