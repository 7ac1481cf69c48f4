import CoherenceActions
import CoherencePersistedActions
import Foundation
import TestSupport
import Testing

/// The records of a schedule's finished runs, and of its next run.
@Suite(.timeLimit(.minutes(15))) struct ScheduledRunTests {
  @Test(arguments: Backend.available)
  func `a finished run of a schedule has the facts of its attempts, and the next run begins without them`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let walk = Walk(board: stack.boardName, steps: 2, stumblesBefore: 2)
    let worker = try stack.worker(
      time, schedules: [PersistedSchedule("walk", .every(.seconds(60)), walk, priority: .high)])
    try await worker.runDueActions()
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.actions.schedules().first?.failedAttempts == 1)
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)

    let next = try #require(try await stack.actions.schedules().first)
    let run = try #require(try await stack.actions.runs(ofSchedule: "walk").first)
    #expect(run.id != next.id && run.state == .succeeded && run.handle.name == "Walk")
    #expect(run.queue == PersistedActionQueue.defaultName && run.priority == .high)
    #expect(run.scheduleName == "walk" && run.scheduleText == "every 60 s")
    #expect(run.enqueuedDate == ManualClock.firstDate)
    #expect(run.dueDate > ManualClock.firstDate + 60 && run.dueDate <= time.date)
    #expect(run.startedDate == time.date && run.finishedDate == time.date)
    #expect(run.failedAttempts == 1 && run.failures.map(\.attempt) == [1])
    #expect(run.progress?.completedUnitCount == 2 && run.progress?.totalUnitCount == 2)
    #expect(run.hasCheckpoint && !run.hasResult && !run.isCancelRequested && run.worker == nil)

    #expect(next.state == .scheduled && next.dueDate == time.date + 60 && next.priority == .high)
    #expect(next.startedDate == nil && next.finishedDate == nil && next.worker == nil)
    #expect(next.failedAttempts == 0 && next.failures.isEmpty && next.progress == nil && !next.hasCheckpoint)
  }

  @Test(arguments: Backend.available)
  func `the result of a schedule's run belongs to the run, and not to the next one`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let schedule = PersistedSchedule("answer", .every(.seconds(60)), Answer(number: 7))
    let worker = try stack.worker(time, schedules: [schedule])
    try await worker.runDueActions()
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
    let run = try #require(try await stack.actions.runs(ofSchedule: "answer").first)
    #expect(run.hasResult && run.progress?.completedUnitCount == 1 && !run.hasCheckpoint)
    #expect(try await stack.actions.schedules().map(\.hasResult) == [false])
  }

  @Test(arguments: Backend.available)
  func `a retried action has no end, all of its attempts, and its unique key again`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let action = Fail(board: stack.boardName, times: 1, isFinal: true)
    let handle = try stack.enqueue(action, key: "k")
    try await stack.worker(ManualClock()).runDueActions()
    let parked = try #require(try await stack.actions.action(handle))
    #expect(parked.state == .parked && parked.finishedDate != nil && parked.failedAttempts == 1)
    #expect(try await stack.actions.retry(handle))
    let waiting = try #require(try await stack.actions.action(handle))
    #expect(waiting.state == .waiting && waiting.finishedDate == nil && waiting.failedAttempts == 0)
    #expect(try stack.enqueue(action, key: "k") == handle)
  }
}
