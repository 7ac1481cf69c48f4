import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import Synchronization
import TestSupport
import Testing

/// The numbers of actions that a worker reports to the observer of its stack.
@Suite("Reported numbers of persisted actions") struct MeasuringTests {
  /// Keeps the reported numbers.
  private final class GaugeLog: StackObserver {
    private let gauges = Mutex<[StackGauge]>([])

    /// The numbers of actions in a state, in the order of the reports.
    func counts(of state: PersistedActionState) -> [Int] {
      gauges.withLock { $0 }.filter { $0.name == "persistedActions" && $0.state == state.rawValue }.map(\.value)
    }

    func measured(_ gauge: StackGauge) { gauges.withLock { $0.append(gauge) } }
    func began(_ operation: StackOperation) -> any StackObservation { Observation() }
    func scope() -> (any StackScope)? { nil }

    private struct Observation: StackObservation {
      func ended(_ outcome: StackOutcome) {}
      func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
      func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
    }
  }

  private let log = GaugeLog()

  @Test(arguments: Backend.available)
  func `the numbers are reported before the due actions run, and after the last one has ended`(
    backend: Backend
  ) async throws {
    let stack = try ActionStack(backend)
    stack.container.persistentStoreCoordinator.observer = log
    try stack.enqueue(Mark(board: stack.boardName))
    try stack.enqueue(Mark(board: stack.boardName), at: .distantFuture)
    let worker = try stack.worker(ManualClock())
    #expect(try await worker.runDueActions() == 1)
    #expect(log.counts(of: .waiting).first == 1 && log.counts(of: .waiting).last == 0)
    #expect(log.counts(of: .scheduled).allSatisfy { $0 == 1 })
    #expect(log.counts(of: .running).last == 0 && log.counts(of: .parked).last == 0)
    // Stores may retain any number of succeeded actions, which no report counts.
    #expect(log.counts(of: .succeeded).isEmpty)
  }

  @Test(arguments: Backend.available)
  func `the numbers leave out the actions of a read-only store, which no worker runs`(backend: Backend) async throws {
    let (archive, stack) = (try ActionStack(backend), try ActionStack(backend))
    try archive.enqueue(Mark(board: archive.boardName))
    try archive.attachStore(to: stack.container, isReadOnly: true)
    stack.container.persistentStoreCoordinator.observer = log
    try stack.enqueue(Mark(board: stack.boardName))
    #expect(try await stack.worker(ManualClock()).runDueActions() == 1)
    #expect(log.counts(of: .waiting).first == 1 && log.counts(of: .waiting).last == 0)
    #expect(try await stack.actions.counts() == [.waiting: 1, .succeeded: 1])
  }

  @Test func `a read of the store reports the numbers only ten seconds after the last report`() async throws {
    let stack = try ActionStack()
    stack.container.persistentStoreCoordinator.observer = log
    let time = ManualClock()
    let worker = try stack.worker(time)
    // Each call reports the numbers at its end, whatever the time.
    for (delay, reportCount) in [(Duration.zero, 2), (.seconds(9), 3), (.seconds(10), 5)] {
      time.advance(by: delay)
      #expect(try await worker.runDueActions() == 0)
      #expect(log.counts(of: .waiting).count == reportCount, "\(delay)")
    }
  }
}
