import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The functions of `PersistedActions` for the lists and commands of an operator.
@Suite(.timeLimit(.minutes(15))) struct OperatingTests {
  // MARK: Listing

  @Test(arguments: Backend.available)
  func `queues are listed with the numbers of their actions in each state`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    for _ in 0..<2 { try stack.enqueue(Mark(board: stack.boardName), queue: "mail") }
    try stack.enqueue(Mark(board: stack.boardName))
    try stack.enqueue(Mark(board: stack.boardName), at: ManualClock.firstDate + 60, queue: "mail")
    try await stack.worker(ManualClock()).runDueActions()
    #expect(
      try await stack.actions.queues() == ["mail": [.waiting: 2, .scheduled: 1], "default": [.succeeded: 1]])
  }

  @Test(arguments: Backend.available)
  func `an action is found by the first digits of its identifier, in either case and without hyphens`(
    _ backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    let handles = try (0..<20).map { _ in try stack.enqueue(Mark(board: stack.boardName)) }
    let handle = handles[7]
    let text = handle.id.uuidString
    for prefix in [text, text.lowercased(), text.filter { $0 != "-" }, String(text.prefix(20))] {
      #expect(try await stack.actions.actions(idPrefix: prefix).map(\.handle) == [handle], "\(prefix)")
    }
    let alike = handles.filter { $0.id.uuidString.hasPrefix(text.prefix(1)) }.map(\.id.uuidString).sorted()
    #expect(try await stack.actions.actions(idPrefix: String(text.prefix(1))).map(\.id.uuidString) == alike)
    for text in ["", "x", text + "0", "é"] {
      #expect(try await stack.actions.actions(idPrefix: text).isEmpty, "\(text)")
    }
  }

  @Test(arguments: Backend.available)
  func `schedules are listed by name, each with its finished runs`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let action = Mark(board: stack.boardName)
    let schedules = [
      PersistedSchedule("nightly", .every(.seconds(86_400)), action),
      PersistedSchedule("hourly", .every(.seconds(3600)), action),
    ]
    let worker = try stack.worker(time, schedules: schedules)
    try await worker.runDueActions()
    for _ in 0..<2 {
      time.advance(by: .seconds(3600))
      try await worker.runDueActions()
    }
    try stack.enqueue(action)
    let listed = try await stack.actions.schedules()
    #expect(listed.map(\.scheduleName) == ["hourly", "nightly"] && listed.map(\.state) == [.scheduled, .scheduled])
    let runs = try await stack.actions.runs(ofSchedule: "hourly")
    #expect(runs.count == 2 && runs.map(\.state) == [.succeeded, .succeeded])
    #expect(runs.first?.finishedDate == ManualClock.firstDate + 7200)
    #expect(try await stack.actions.runs(ofSchedule: "hourly", limit: 1).map(\.id) == runs.prefix(1).map(\.id))
    #expect(try await stack.actions.runs(ofSchedule: "nightly").isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a finished run that is retried is not listed among the schedules`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let action = Fail(board: stack.boardName, times: 1, isFinal: true)
    let worker = try stack.worker(time, schedules: [PersistedSchedule("hourly", .every(.seconds(3600)), action)])
    try await worker.runDueActions()
    let record = try #require(try await stack.actions.schedules().first)
    time.advance(by: .seconds(3600))
    #expect(try await worker.runDueActions() == 1)
    let run = try #require(try await stack.actions.runs(ofSchedule: "hourly").first)
    #expect(run.state == .parked)
    #expect(try await stack.actions.retry(run.handle))
    #expect(try await stack.state(of: run.handle) == .waiting)
    #expect(try await stack.actions.schedules().map(\.handle) == [record.handle])
  }

  // MARK: Operating

  @Test(arguments: Backend.available)
  func `the action of a schedule can run now, and its schedule continues`(_ backend: Backend) async throws {
    let stack = try ActionStack(backend)
    let time = ManualClock()
    let schedule = PersistedSchedule("hourly", .every(.seconds(3600)), Mark(board: stack.boardName))
    let worker = try stack.worker(time, schedules: [schedule])
    try await worker.runDueActions()
    #expect(stack.board.marks.isEmpty)
    let record = try #require(try await stack.actions.schedules().first)
    #expect(try await stack.actions.runNow(record.handle))
    #expect(try await worker.runDueActions() == 1)
    #expect(stack.board.marks == ["mark"])
    let next = try #require(try await stack.actions.schedules().first)
    #expect(next.handle == record.handle && next.state == .scheduled && next.dueDate > ManualClock.firstDate)
    let run = try #require(try await stack.actions.runs(ofSchedule: "hourly").first)
    #expect(try await !stack.actions.runNow(run.handle), "Only a retry runs a finished action again.")
    await #expect(throws: CoherenceError.self) {
      try await stack.actions.runNow(PersistedActionHandle(id: UUID(), name: "Mark"))
    }
  }

  @Test func `running a scheduled action now wakes a started worker`() async throws {
    let stack = try ActionStack()
    let handle = try stack.enqueue(Mark(board: stack.boardName), at: ManualClock.firstDate + 3600)
    let worker = try stack.worker(ManualClock())
    try await worker.start()
    #expect(try await stack.actions.runNow(handle))
    try await stack.board.until("mark")
    await worker.stop()
  }

  // MARK: Events

  @Test func `the event stream of a Connect contains the events of its worker`() async throws {
    let stack = try ActionStack()
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Actions", managedObjectModel: ActionStack.model, storeLocation: stack.directory.url)
    try connect.attachPersistentStore(for: stack.configuration)
    let worker = try PersistedActionWorker(connect, actions: TestActions.all, clock: ManualClock().workerClock)
    let (all, own) = (connect.events, worker.events)
    try stack.enqueue(Answer(number: 1))
    try stack.enqueue(Fail(board: stack.boardName, times: 1, isFinal: true))
    try await worker.runDueActions()
    var work: [any ConnectWorkEvent] = []
    for await case .work(let event) in all {
      work.append(event)
      if work.count(where: { $0.workName == "persistedAction.finished" }) == 2 { break }
    }
    #expect(
      work.filter { $0.workSubject == "Answer" }.map(\.workName) == [
        "persistedAction.started", "persistedAction.progressed", "persistedAction.finished",
      ])
    #expect(
      work.filter { $0.workSubject == "Fail" }.map(\.workName) == [
        "persistedAction.started", "persistedAction.finished",
      ])
    let events = await own.first(work.count)
    #expect(Set(work.compactMap { $0 as? PersistedActionEvent }) == Set(events))
  }

  @Test func `options out of range are replaced by the nearest valid value`() {
    let options = PersistedActionOptions(concurrency: 0, queues: [], leaseLength: .zero, maximumClaimedAhead: -1)
    #expect(options.concurrency == 1 && options.maximumClaimedAhead == 0)
    #expect(options.queues.map(\.name) == [PersistedActionQueue.defaultName])
    #expect(options.leaseLength == .seconds(1))
    #expect(PersistedActionOptions(maximumClaimedAhead: 0).maximumClaimedAhead == 0)
    var later = PersistedActionOptions()
    later.concurrency = 0
    later.queues = []
    later.leaseLength = .zero
    later.maximumClaimedAhead = -1
    #expect(later.concurrency == 1 && later.maximumClaimedAhead == 0 && later.leaseLength == .seconds(1))
    #expect(later.queues.map(\.name) == [PersistedActionQueue.defaultName])
    later.concurrency = .max
    later.maximumClaimedAhead = .max
    #expect(later.concurrency == 1_048_576 && later.maximumClaimedAhead == 1_048_576)
    let greatest = PersistedActionOptions(concurrency: .max, maximumClaimedAhead: .max)
    #expect(greatest.concurrency == 1_048_576 && greatest.maximumClaimedAhead == 1_048_576)
  }
}
