import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

/// 64 tasks that call one Connect in every way. Their steps are fixed, the order between the tasks is not; the
/// checks are of counts that hold in any case.
@Suite("A Connect under stress")
struct ConnectStressTests {
  private static let submitters = 28
  private static let submissions = 24
  private static let rounds = 12

  @Test(.timeLimit(.minutes(15)))
  func `under 64 tasks that use a Connect in every way, every action finishes once with its events`()
    async throws
  {
    let stack = try ConnectStack.started()
    let connect = stack.connect
    let ledger = StressLedger()
    let events = connect.events
    await withTaskGroup(of: Void.self) { group in
      for index in 0..<Self.submitters { group.addTask { await submit(index, to: connect, ledger) } }
      for index in 0..<12 { group.addTask { await cancel(index, ledger) } }
      for index in 0..<8 { group.addTask { await suspend(index, connect, try? stack.entity("ConnectEntity1")) } }
      for _ in 0..<8 { group.addTask { await attachAndDetach(connect) } }
      for index in 0..<4 { group.addTask { await stopAndStart(index, connect) } }
      for _ in 0..<4 { group.addTask { await look(at: connect, ledger) } }
    }
    connect.suspended = false
    connect.setSuspended(false, for: try stack.entity("ConnectEntity1"))
    try await connect.start()
    // On a busy machine every action of the tasks may be cancelled. These actions run after the tasks.
    await submit(0, to: connect, ledger)
    let handles = ledger.handles
    for handle in handles { try await handle.waitUntilFinished() }
    try await check(handles, events: events, ledger)
    try await connect.stop()
    #expect(connect.persistentStoreCoordinator.persistentStores.isEmpty)
  }

  private func check(
    _ handles: [AnyActionHandle], events: AsyncStream<ConnectEvent>, _ ledger: StressLedger
  ) async throws {
    #expect(handles.count + ledger.refusals == (Self.submitters + 1) * Self.submissions)
    #expect(handles.allSatisfy { $0.state == .finished && $0.completionStatus != .unknown })
    #expect(handles.count { $0.statistics.attempts == 1 } == ledger.runs)
    #expect(handles.allSatisfy { $0.completionStatus != .successful || $0.statistics.attempts == 1 })
    #expect(handles.allSatisfy { $0.completionStatus == .canceled || $0.statistics.attempts == 1 })
    #expect(ledger.widestEntity == 1 && ledger.widestGeneric <= 5)
    var started: [ObjectIdentifier: Int] = [:]
    var finished: [ObjectIdentifier: Int] = [:]
    for await event in events {
      switch event {
      case .actionStarted(let proxy): started[ObjectIdentifier(proxy), default: 0] += 1
      case .actionFinished(let proxy):
        #expect(started[ObjectIdentifier(proxy)] == 1)
        finished[ObjectIdentifier(proxy), default: 0] += 1
      case .actionWillRetry: Issue.record("No action asked for another attempt.")
      case .stateChanged, .work: break
      }
      if finished.count == handles.count { break }
    }
    #expect(started.values.allSatisfy { $0 == 1 } && finished.values.allSatisfy { $0 == 1 })
    await ledger.untilCompleted(handles.count)
  }

  // MARK: What the tasks do

  private func submit(_ index: Int, to connect: TestConnect, _ ledger: StressLedger) async {
    for number in 0..<Self.submissions {
      do {
        let handle: AnyActionHandle =
          switch (index + number) % 4 {
          case 0: try connect.execute(StressGeneric(ledger: ledger)) { _ in ledger.complete() }
          case 1: try connect.execute(StressEntity(ledger: ledger, id: Int64(index))) { _ in ledger.complete() }
          case 2:
            try connect.execute(TaskAction { await ledger.runGeneric { await Task.yield() } }) { _ in ledger.complete()
            }
          default:
            try connect.execute(EntityTaskAction { _ in await ledger.runEntity { await Task.yield() } }) { _ in
              ledger.complete()
            }
          }
        ledger.add(handle)
      } catch {
        #expect(ErrorCode.unmanagedEntity ~= error)
        ledger.refuse()
      }
      await Task.yield()
    }
  }

  private func cancel(_ index: Int, _ ledger: StressLedger) async {
    for round in 0..<Self.rounds * 4 {
      ledger.handle(at: index * 31 + round * 7)?.cancel()
      await Task.yield()
    }
  }

  private func suspend(_ index: Int, _ connect: TestConnect, _ entity: EntityDescription?) async {
    for round in 0..<Self.rounds * 2 {
      if index % 2 == 0 {
        connect.suspended = round % 2 == 0
      } else if let entity {
        connect.setSuspended(round % 2 == 0, for: entity)
      }
      await Task.yield()
    }
  }

  private func attachAndDetach(_ connect: TestConnect) async {
    for _ in 0..<Self.rounds {
      do {
        let store = try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
        await Task.yield()
        try await connect.detach(persistentStore: store)
      } catch {
        // A stop may come first.
        #expect(ErrorCode.storeDetached ~= error)
      }
    }
  }

  private func stopAndStart(_ index: Int, _ connect: TestConnect) async {
    for round in 0..<Self.rounds {
      do {
        try await connect.stop((index + round) % 2 == 0 ? .cancel : .drain)
        await Task.yield()
        try await connect.start()
      } catch {
        Issue.record(error)
      }
    }
  }

  private func look(at connect: TestConnect, _ ledger: StressLedger) async {
    for round in 0..<Self.rounds * 4 {
      if let handle = ledger.handle(at: round * 13) {
        let before = handle.state
        _ = (handle.statistics, handle.error, handle.progress.completedUnitCount)
        if before == .finished { #expect(handle.completionStatus != .unknown) }
      }
      _ = (connect.state, connect.suspended)
      await Task.yield()
    }
  }
}

private struct StressGeneric: GenericAction {
  let ledger: StressLedger
  func execute() throws { ledger.runGeneric() }
}

private struct StressEntity: EntityAction {
  typealias ManagedObjectType = ConnectEntity1
  let ledger: StressLedger
  let id: Int64

  func execute(context: ActionContext) throws {
    ledger.runEntity()
    context.progress?.completedUnitCount += 1
    _ = try? context.performAndWait { try context.count(for: FetchRequest(ConnectEntity1.self)) }
  }
}

/// The counts of the events and actions.
final class StressLedger: Sendable {
  private struct Counts {
    var handles: [AnyActionHandle] = []
    var refusals = 0
    var runs = 0
    var completions = 0
    var generic = (now: 0, most: 0)
    var entity = (now: 0, most: 0)
  }

  private let counts = Mutex(Counts())
  private let (stream, continuation) = AsyncStream<Void>.makeStream()

  var handles: [AnyActionHandle] { counts.withLock { $0.handles } }
  var refusals: Int { counts.withLock { $0.refusals } }
  var runs: Int { counts.withLock { $0.runs } }
  /// The maximum number of simultaneous actions.
  var widestGeneric: Int { counts.withLock { $0.generic.most } }
  var widestEntity: Int { counts.withLock { $0.entity.most } }

  func add(_ handle: AnyActionHandle) { counts.withLock { $0.handles.append(handle) } }
  func refuse() { counts.withLock { $0.refusals += 1 } }
  func handle(at index: Int) -> AnyActionHandle? {
    counts.withLock { $0.handles.isEmpty ? nil : $0.handles[index % $0.handles.count] }
  }

  func complete() {
    counts.withLock { $0.completions += 1 }
    continuation.yield()
  }

  func untilCompleted(_ count: Int) async {
    var seen = 0
    for await _ in stream {
      seen += 1
      if seen == count { break }
    }
    #expect(counts.withLock { $0.completions } == count)
  }

  func runGeneric() {
    enter(\.generic)
    leave(\.generic)
  }

  func runGeneric(_ body: () async -> Void) async {
    enter(\.generic)
    await body()
    leave(\.generic)
  }

  func runEntity() {
    enter(\.entity)
    leave(\.entity)
  }

  func runEntity(_ body: () async -> Void) async {
    enter(\.entity)
    await body()
    leave(\.entity)
  }

  private func enter(_ kind: WritableKeyPath<Counts, (now: Int, most: Int)>) {
    counts.withLock { counts in
      counts.runs += 1
      counts[keyPath: kind].now += 1
      counts[keyPath: kind].most = max(counts[keyPath: kind].most, counts[keyPath: kind].now)
    }
  }

  private func leave(_ kind: WritableKeyPath<Counts, (now: Int, most: Int)>) {
    counts.withLock { $0[keyPath: kind].now -= 1 }
  }
}
