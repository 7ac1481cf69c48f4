import CoherenceCore
import CoherenceOutbox
import Synchronization
import TestSupport
import Testing

/// The work of a forwarder without anything to send.
@Suite("Idle forwarders")
struct ForwardingIdleTests {
  @Test(arguments: Backend.available)
  func `the time that passes does not make an idle forwarder read or save`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let operations = OperationCount()
    stack.outbox.coordinator.observer = operations
    try stack.outbox.start(stack.options())
    try stack.insertNote("A")
    for _ in 0..<3 { #expect(try await stack.outbox.flush() == 0) }
    let (known, scans) = (operations.count, stack.outbox.statistics.scans)
    for _ in 1...1000 {
      #expect(stack.time.sleeperCount == 0)
      stack.time.advance(by: .seconds(3600))
    }
    // The searches of both flushes, and those that late news of the forwarder's own saves ask for.
    for _ in 0..<2 { #expect(try await stack.outbox.flush() == 0) }
    #expect(stack.outbox.statistics.scans - scans <= 8)
    #expect(operations.count - known <= 100)
    await stack.outbox.stop()
  }
}

/// Counts the reads and saves of a stack.
private final class OperationCount: StackObserver {
  private let number = Mutex(0)

  var count: Int { number.withLock { $0 } }

  func began(_ operation: StackOperation) -> any StackObservation {
    number.withLock { $0 += 1 }
    return Observation()
  }

  func scope() -> (any StackScope)? { nil }

  private struct Observation: StackObservation {
    func ended(_ outcome: StackOutcome) {}
    func run<T>(_ body: () throws -> T) rethrows -> T { try body() }
    func run<T>(_ body: () async throws -> T) async rethrows -> T { try await body() }
  }
}
