import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@Suite struct ScheduleTests {
  private static let week: TimeInterval = 7 * 86_400
  private static let year: TimeInterval = 365 * 86_400

  private func hourly(_ stack: ActionStack, text: String = "run") -> PersistedSchedule {
    PersistedSchedule("hourly", .every(.seconds(3600)), Mark(board: stack.boardName, text: text))
  }

  private func runs(_ stack: ActionStack) async throws -> [PersistedActionInfo] {
    try await stack.actions.actions(in: [.succeeded], named: "Mark")
  }

  @Test(arguments: Backend.available)
  func `a schedule that no worker ran for a week runs once, and continues from the present date`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time, schedules: [hourly(stack)])
    #expect(try await worker.runDueActions() == 0)

    time.date += Self.week
    #expect(try await worker.runDueActions() == 1)
    #expect(try await worker.runDueActions() == 0)
    time.advance(by: .seconds(3599))
    #expect(try await worker.runDueActions() == 0)
    time.advance(by: .seconds(1))
    #expect(try await worker.runDueActions() == 1)
    #expect(try await runs(stack).map(\.scheduleName) == ["hourly", "hourly"])
  }

  @Test(arguments: Backend.available)
  func `a schedule continues from the present date after the date was set back by a year`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    // The clock of the machine is wrong at the first start.
    time.date += Self.year
    try await stack.worker(time, schedules: [hourly(stack)]).runDueActions()
    time.date -= Self.year
    let worker = try stack.worker(time, schedules: [hourly(stack)])
    #expect(try await worker.runDueActions() == 0)
    #expect(try await stack.actions.schedules().map(\.dueDate) == [time.date + 3600])
    time.advance(by: .seconds(3600))
    #expect(try await worker.runDueActions() == 1)
  }

  @Test(arguments: Backend.available)
  func `a failed run of a schedule is tried again at once after the date was set back by a year`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let schedule = PersistedSchedule("failing", .every(.seconds(60)), Fail(board: stack.boardName, times: 1))
    time.date += Self.year
    let worker = try stack.worker(time, schedules: [schedule])
    try await worker.runDueActions()
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
    time.date -= Self.year
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["attempt 1", "attempt 2"])
  }

  @Test(arguments: Backend.available)
  func `a worker whose date is half an hour behind runs no date of a schedule twice`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time, schedules: [hourly(stack)])
    try await worker.runDueActions()
    time.advance(by: .seconds(3600))
    #expect(try await worker.runDueActions() == 1)
    let slow = ManualClock(date: time.date - 1800)
    let other = try stack.worker(on: stack.makeStranger(), slow, schedules: [hourly(stack)])
    #expect(try await other.runDueActions() == 0)
    #expect(try await stack.actions.schedules().map(\.dueDate) == [time.date + 3600])
  }

  @Test(arguments: Backend.available)
  func `the workers of two processes run each date of a schedule once`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let workers = [
      try stack.worker(time, schedules: [hourly(stack)]),
      try stack.worker(on: stack.makeStranger(), time, schedules: [hourly(stack)]),
    ]
    for worker in workers { #expect(try await worker.runDueActions() == 0) }
    for hour in 1...3 {
      time.advance(by: .seconds(3600))
      var attempts = 0
      for worker in workers { attempts += try await worker.runDueActions() }
      #expect(attempts == 1, "hour \(hour)")
    }
    #expect(try await stack.actions.counts() == [.scheduled: 1, .succeeded: 3])
  }

  @Test(arguments: Backend.available)
  func `a schedule continues after its action is parked, and each run starts with all of its attempts`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let schedule = PersistedSchedule(
      "failing", .every(.seconds(60)), Fail(board: stack.boardName, times: 1, isFinal: true))
    let worker = try stack.worker(time, schedules: [schedule])
    try await worker.runDueActions()
    for _ in 1...2 {
      time.advance(by: .seconds(60))
      #expect(try await worker.runDueActions() == 1)
    }
    #expect(stack.board.marks == ["attempt 1", "attempt 1"])
    #expect(try await stack.actions.counts() == [.scheduled: 1, .parked: 2])
  }

  @Test(arguments: Backend.available)
  func `a worker replaces the stored date, payload and priority of a changed schedule`(_ backend: Backend) async throws
  {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    try await stack.worker(time, schedules: [hourly(stack, text: "former")]).runDueActions()
    let changed = PersistedSchedule(
      "hourly", .every(.seconds(60)), Mark(board: stack.boardName, text: "present"), priority: .high)
    let worker = try stack.worker(time, schedules: [changed])
    try await worker.runDueActions()
    #expect(try await stack.actions.actions(in: [.scheduled]).map(\.priority) == [.high])
    time.advance(by: .seconds(60))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["present"])
  }

  @Test(arguments: Backend.available)
  func `a worker moves a changed schedule to another queue`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    try await stack.worker(time, schedules: [hourly(stack)]).runDueActions()
    let moved = PersistedSchedule(
      "hourly", .every(.seconds(3600)), Mark(board: stack.boardName, text: "run"), queue: "mail")
    let worker = try stack.worker(time, schedules: [moved]) { $0.queues = ["mail"] }
    #expect(try await worker.runDueActions() == 0)
    #expect(try await stack.actions.schedules().map(\.queue) == ["mail"])
    time.advance(by: .seconds(3600))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["run"])
    #expect(try await stack.actions.runs(ofSchedule: "hourly").map(\.queue) == ["mail"])
  }

  @Test(arguments: Backend.available)
  func `a cancelled run of a schedule is left out, and the schedule continues`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let worker = try stack.worker(time, schedules: [hourly(stack)])
    #expect(try await worker.runDueActions() == 0)
    let record = try #require(try await stack.actions.schedules().first)
    #expect(try await stack.actions.cancel(record.handle))
    #expect(try await stack.actions.schedules().first?.isCancelRequested == true)

    time.advance(by: .seconds(3600))
    try await worker.runDueActions()
    #expect(stack.board.marks.isEmpty)
    #expect(try await stack.actions.runs(ofSchedule: "hourly").map(\.state) == [.canceled])
    time.advance(by: .seconds(3600))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["run"])
    #expect(try await stack.actions.runs(ofSchedule: "hourly").map(\.state).contains(.succeeded))
  }

  @Test func `a cancelled run of a schedule that is told to run now runs`() async throws {
    let stack = try ActionStack()
    let worker = try stack.worker(ManualClock(), schedules: [hourly(stack)])
    try await worker.runDueActions()
    let record = try #require(try await stack.actions.schedules().first)
    #expect(try await stack.actions.cancel(record.handle))
    #expect(try await stack.actions.runNow(record.handle))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["run"])
  }

  @Test func `a schedule that all workers have dropped ends after its next run`() async throws {
    let stack = try ActionStack()
    let time = ManualClock()
    try await stack.worker(time, schedules: [hourly(stack)]).runDueActions()
    let worker = try stack.worker(time)
    time.advance(by: .seconds(3600))
    #expect(try await worker.runDueActions() == 1)
    time.advance(by: .seconds(7200))
    #expect(try await worker.runDueActions() == 0)
    #expect(try await stack.actions.counts() == [.succeeded: 1])
  }

  /// The action `Mark` in a later version of the program, in which the type has another name.
  private struct Stamp: PersistedAction {
    static let formerNames = ["Mark"]
    let board: String
    var text = "stamp"

    func run(in context: PersistedActionContext) async throws { Board.named(board).mark(text) }
  }

  @Test(arguments: Backend.available)
  func `a schedule with a renamed action runs each date once, also beside workers with the former name`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let former = try stack.worker(time, schedules: [hourly(stack)])
    try await former.runDueActions()
    let renamed = PersistedSchedule("hourly", .every(.seconds(3600)), Stamp(board: stack.boardName, text: "run"))
    let later = try PersistedActionWorker(
      stack.makeStranger(), actions: [Stamp.self], schedules: [renamed], clock: time.workerClock)
    #expect(try await later.runDueActions() == 0)
    #expect(try await stack.actions.counts() == [.scheduled: 1])
    for workers in [[later, former], [former, later]] {
      time.advance(by: .seconds(3600))
      var attempts = 0
      for worker in workers { attempts += try await worker.runDueActions() }
      #expect(attempts == 1)
    }
    #expect(stack.board.marks == ["run", "run"])
    #expect(try await stack.actions.counts() == [.scheduled: 1, .succeeded: 2])
  }

  /// The actions `Mark` and `Fail` in a later version of the program, which has another property.
  private struct Count: PersistedAction {
    static let formerNames = ["Mark", "Fail"]
    let board: String
    let count: Int

    func run(in context: PersistedActionContext) async throws { Board.named(board).mark("count \(count)") }
  }

  /// A worker of the later version with an hourly schedule of a name.
  private func laterWorker(_ name: String, _ stack: ActionStack, _ time: ManualClock) throws -> PersistedActionWorker {
    try PersistedActionWorker(
      stack.makeStranger(), actions: [Count.self],
      schedules: [PersistedSchedule(name, .every(.seconds(3600)), Count(board: stack.boardName, count: 3))],
      clock: time.workerClock)
  }

  @Test(arguments: Backend.available)
  func `a run of a schedule that waits for a worker has the properties of a later version of the action`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    try await stack.worker(time, schedules: [hourly(stack)]).runDueActions()
    let record = try #require(try await stack.actions.schedules().first)
    #expect(try await stack.actions.runNow(record.handle))
    #expect(try await laterWorker("hourly", stack, time).runDueActions() == 1)
    #expect(stack.board.marks == ["count 3"])
    #expect(try await stack.actions.counts() == [.scheduled: 1, .succeeded: 1])
  }

  /// Saves a checkpoint in the first attempt on a board, and waits there for a stop.
  private struct March: PersistedAction {
    let board: String
    let goal: String

    func run(in context: PersistedActionContext) async throws {
      let board = Board.named(board)
      if board.marks.isEmpty {
        try await context.checkpoint(1)
        board.mark("begin \(goal)")
        try await board.pass("never")
      }
      board.mark("end \(goal)")
    }
  }

  @Test(arguments: Backend.available)
  func `a run with a checkpoint continues with its properties, and the next run has those of a later version`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    func worker(_ goal: String, _ priority: ActionPriority) throws -> PersistedActionWorker {
      let march = March(board: stack.boardName, goal: goal)
      return try PersistedActionWorker(
        stack.makeStranger(), actions: [March.self],
        schedules: [PersistedSchedule("march", .every(.seconds(3600)), march, priority: priority)],
        clock: time.workerClock)
    }
    let former = try worker("north", .normal)
    try await former.start()
    let record = try #require(try await stack.actions.schedules().first)
    #expect(try await stack.actions.runNow(record.handle))
    try await stack.board.until("begin north")
    await former.stop(.handBack)

    let later = try worker("south", .high)
    #expect(try await later.runDueActions() == 1)
    // The worker updates the record as soon as the run has ended, and not when it runs due actions again.
    #expect(try await stack.actions.schedules().map(\.priority) == [.high])
    time.advance(by: .seconds(3600))
    #expect(try await later.runDueActions() == 1)
    #expect(stack.board.marks == ["begin north", "end north", "end south"])
  }

  @Test(arguments: Backend.available)
  func `a schedule whose retried run a later version cannot decode continues with the present properties`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let failing = PersistedSchedule("failing", .every(.seconds(3600)), Fail(board: stack.boardName, times: 5))
    let worker = try stack.worker(time, schedules: [failing])
    try await worker.runDueActions()
    time.advance(by: .seconds(3600))
    #expect(try await worker.runDueActions() == 1)
    let later = try laterWorker("failing", stack, time)
    for _ in 1...2 {
      time.advance(by: .seconds(3600))
      try await later.runDueActions()
    }
    #expect(stack.board.marks == ["attempt 1", "count 3"])
    #expect(try await stack.actions.runs(ofSchedule: "failing").map(\.state) == [.succeeded, .parked])
  }

  @Test func `a cron schedule runs at the dates of its expression`() async throws {
    let stack = try ActionStack()
    let time = ManualClock()
    // 2027-01-15 08:00:00 UTC.
    time.date = Date(timeIntervalSince1970: 1_800_000_000)
    let schedule = PersistedSchedule(
      "nightly", try .cron("30 3 * * *"), Mark(board: stack.boardName))
    let worker = try stack.worker(time, schedules: [schedule])
    try await worker.runDueActions()
    let dates = try await stack.actions.actions(in: [.scheduled]).map(\.dueDate)
    #expect(dates == [Date(timeIntervalSince1970: 1_800_000_000 + 19.5 * 3600)])
  }

  @Test func `a worker refuses two schedules with one name, and a schedule of an unknown action`() throws {
    let stack = try ActionStack()
    #expect(throws: CoherenceError.self) {
      try stack.worker(ManualClock(), schedules: [hourly(stack), hourly(stack)])
    }
    #expect(throws: CoherenceError.self) {
      try PersistedActionWorker(stack.container, actions: [Answer.self], schedules: [hourly(stack)])
    }
  }
}
