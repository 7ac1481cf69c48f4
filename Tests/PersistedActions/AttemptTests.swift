import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import Foundation
import TestSupport
import Testing

@Suite struct AttemptTests {
  private static let twice = PersistedRetry(attempts: 2, initialDelay: .seconds(10), jitter: 0)

  @Test(arguments: Backend.available)
  func `a failed action is tried again after a delay, parked after its last attempt, and retried on request`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let handle = try stack.enqueue(Fail(board: stack.boardName, times: 2), retry: Self.twice)
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .scheduled)
    time.advance(by: .seconds(9))
    #expect(try await worker.runDueActions() == 0)
    time.advance(by: .seconds(1))
    #expect(try await worker.runDueActions() == 1)

    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .parked)
    #expect(info.failures.map(\.attempt) == [1, 2])

    #expect(try await stack.actions.retry(handle))
    #expect(try await worker.runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .scheduled)
  }

  @Test(arguments: Backend.available)
  func `actions whose records have the greatest number of attempts run, and are parked after a failure`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let good = try stack.enqueue(Mark(board: stack.boardName))
    let bad = try stack.enqueue(Fail(board: stack.boardName + "bad", times: .max))
    try stack.saving { context in
      for record in try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherencePersistedAction")) {
        try record.setValue(Int64.max, for: "attempts")
      }
    }
    #expect(try await stack.worker(ManualClock()).runDueActions() == 2)
    #expect(try await stack.state(of: good) == .succeeded)
    let info = try #require(try await stack.actions.action(bad))
    #expect(info.state == .parked && info.failedAttempts == .max)
  }

  @Test func `the stored text of a failure contains no values from the error`() async throws {
    let stack = try ActionStack()
    let handle = try stack.enqueue(Fail(board: stack.boardName, times: 9), retry: .never)
    try await stack.worker(ManualClock()).runDueActions()
    let failures = try #require(try await stack.actions.action(handle)).failures
    #expect(failures.map(\.text) == ["Failure.broken"])
  }

  @Test(arguments: Backend.available)
  func `an action whose error is final is parked at once`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Fail(board: stack.boardName, times: 1, isFinal: true))
    #expect(try await stack.worker(ManualClock()).runDueActions() == 1)
    #expect(try await stack.state(of: handle) == .parked)
  }

  @Test func `an action that lost a change with a broken connection is tried again`() async throws {
    let stack = try ActionStack()
    let handle = try stack.enqueue(LoseChange(isTransient: true))
    let other = try stack.enqueue(LoseChange(isTransient: false))
    let worker = try PersistedActionWorker(
      stack.container, actions: [LoseChange.self], clock: ManualClock().workerClock)
    #expect(try await worker.runDueActions() == 2)
    #expect(try await stack.state(of: handle) == .scheduled)
    #expect(try await stack.state(of: other) == .parked)
  }

  @Test(arguments: Backend.available)
  func `an action chooses the delay of its retry, a later date, or its parking`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let later = try stack.enqueue(Leave(board: stack.boardName + "later", way: .later))
    let postponed = try stack.enqueue(
      Leave(board: stack.boardName + "postponed", way: .postponed, date: time.date.addingTimeInterval(60)))
    let parked = try stack.enqueue(Leave(board: stack.boardName + "parked", way: .parked))
    #expect(try await worker.runDueActions() == 3)
    #expect(try await stack.actions.action(parked)?.failures.map(\.text) == ["The order was closed."])
    #expect(try await stack.state(of: parked) == .parked)

    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
    // A postponed attempt does not count.
    #expect(Board.named(stack.boardName + "postponed").marks == ["attempt 1", "attempt 1"])
    #expect(try await stack.state(of: postponed) == .succeeded)

    time.advance(by: .seconds(30))
    #expect(try await worker.runDueActions() == 1)
    #expect(Board.named(stack.boardName + "later").marks == ["attempt 1", "attempt 2"])
    #expect(try await stack.state(of: later) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `an error can ask for a longer delay before the next attempt of a persisted action`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let retry = PersistedRetry(attempts: 2, initialDelay: .seconds(30), jitter: 0)
    let later = try stack.enqueue(Fail(board: stack.boardName, times: 1, delay: 90), retry: retry)
    let sooner = try stack.enqueue(Fail(board: stack.boardName, times: 1, delay: 10), retry: retry)
    #expect(try await worker.runDueActions() == 2)
    let dates = [try await stack.actions.action(later)?.dueDate, try await stack.actions.action(sooner)?.dueDate]
    #expect(dates == [time.date + 90, time.date + 30])
  }

  @Test(arguments: Backend.available)
  func `a delay beyond the range of dates counts as a century`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let advised = try stack.enqueue(Fail(board: stack.boardName, times: 1, delay: Int.max))
    let chosen = try stack.enqueue(Leave(board: stack.boardName + "later", way: .later, delay: Int.max))
    #expect(try await worker.runDueActions() == 2)
    for handle in [advised, chosen] {
      let info = try #require(try await stack.actions.action(handle))
      #expect(info.state == .scheduled)
      #expect(info.dueDate == time.date + 36_525 * 86_400)
    }
  }

  @Test(arguments: Backend.available)
  func `a later attempt continues from the checkpoint, and a failed step saves nothing`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time)
    let handle = try stack.enqueue(Walk(board: stack.boardName, steps: 4, stumblesBefore: 3), retry: Self.twice)
    #expect(try await worker.runDueActions() == 1)
    #expect(try stack.notes() == ["step 1", "step 2"])
    time.advance(by: .seconds(10))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["step 1", "step 2", "step 3", "step 4"])
    #expect(try stack.notes() == ["step 1", "step 2", "step 3", "step 4"])

    let info = try #require(try await stack.actions.action(handle))
    #expect(info.state == .succeeded)
    #expect(info.progress?.completedUnitCount == 4)
    #expect(info.failedAttempts == 1)
  }

  @Test(arguments: Backend.available)
  func `a commit finishes the action, even if the action throws an error afterwards`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let worker = try stack.worker(ManualClock())
    let handle = try stack.enqueue(WriteNote(text: "once", failsAfterwards: true))
    #expect(try await worker.runDueActions() == 1)
    #expect(try await worker.runDueActions() == 0)
    #expect(try stack.notes() == ["once"])
    #expect(try await stack.state(of: handle) == .succeeded)
  }

  @Test(arguments: Backend.available)
  func `the result of an action can be read after its end`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Answer(number: 42))
    try await stack.worker(ManualClock()).runDueActions()
    #expect(try await stack.actions.result(of: handle, as: [String: Int].self) == ["number": 42])
    #expect(try await stack.actions.action(handle)?.progress?.fractionCompleted == 0.5)
  }

  // MARK: Changed types of actions

  /// A later version of `Mark`, which cannot decode the payload of a stored `Mark`.
  private struct Changed: PersistedAction {
    static let name = "Mark"
    let number: Int
    func run(in context: PersistedActionContext) async throws {}
  }

  @Test(arguments: Backend.available)
  func `an action of an unknown type, and an action with an undecodable payload, are parked`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let unreadable = try stack.enqueue(Mark(board: stack.boardName))
    let unknown = try stack.enqueue(Answer(number: 1))
    let worker = try PersistedActionWorker(
      stack.container, actions: [Changed.self], clock: ManualClock().workerClock)
    try await worker.runDueActions()

    let parked = try #require(try await stack.actions.action(unreadable))
    #expect(parked.state == .parked)
    #expect(parked.failures.first?.text.contains("cannot be decoded") == true)
    #expect(try await stack.actions.action(unknown)?.failures.first?.text.contains("'Answer'") == true)

    // A worker of a later program knows both types again.
    try await stack.actions.retry(unreadable)
    try await stack.worker(ManualClock()).runDueActions()
    #expect(stack.board.marks == ["mark"])
  }

  @Test(arguments: Backend.available)
  func `a worker with the option to leave unknown actions leaves them to other workers`(_ backend: Backend) async throws
  {
    let stack = try ActionStack(backend)
    let handle = try stack.enqueue(Answer(number: 1))
    let worker = try PersistedActionWorker(
      stack.container, actions: [Mark.self], options: PersistedActionOptions(unknownActions: .leave),
      clock: ManualClock().workerClock)
    #expect(try await worker.runDueActions() == 0)
    #expect(try await stack.state(of: handle) == .waiting)
  }

  /// The action `Answer` in a later version of the program, in which the type has another name.
  private struct Renamed: PersistedAction {
    static let formerNames = ["Answer"]
    let number: Int
    func run(in context: PersistedActionContext) async throws { try context.setResult(number) }
  }

  @Test func `a worker runs a stored action with a former name of its type`() async throws {
    let stack = try ActionStack()
    let handle = try stack.enqueue(Answer(number: 5))
    let worker = try PersistedActionWorker(
      stack.container, actions: [Renamed.self], clock: ManualClock().workerClock)
    try await worker.runDueActions()
    #expect(try await stack.actions.result(of: handle, as: Int.self) == 5)
  }
}

/// Fails as a save does whose context lost a change, because an accessor could not load its object.
private struct LoseChange: PersistedAction {
  let isTransient: Bool

  func run(in context: PersistedActionContext) async throws {
    let cause = CoherenceError(.connectionLost, "The connection broke.", isRetryable: isTransient)
    throw CoherenceError(.objectUnavailable, "A change was lost.", underlying: cause)
  }
}
