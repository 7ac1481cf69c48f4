import CoherenceCore
import Synchronization
import Testing

@testable import CoherenceActions

/// Actions that end before the actions on which they depend.
@Suite("Ended dependents", .timeLimit(.minutes(15)))
struct EndedDependentsTests {
  private let stack: ConnectStack

  init() throws { stack = try ConnectStack.started() }

  @Test func `a running action retains nothing of its dependents that were cancelled`() async throws {
    let (begun, gate) = (TaskGate(), TaskGate())
    let running = try stack.connect.execute(
      TaskAction {
        begun.open()
        await gate.pass()
      })
    await begun.pass()
    // The second mention of a dependency has no block of its own.
    let options = ActionOptions(dependencies: [running, running])
    let last = try stack.connect.execute(TaskAction {}, options: options)
    for _ in 0..<100 { try stack.connect.execute(TaskAction {}, options: options).cancel() }
    let count = running.lifecycle.withLock { $0.observers.count }
    #expect(count == 1)
    gate.open()
    try await last.waitUntilFinished()
    #expect(last.completionStatus == .successful)
  }

  @Test func `the blocks of an ended action are called in the order in which they were added`() {
    let called = Mutex<[Int]>([])
    let dependents = (0..<20).map { _ in TaskGate() }
    var observers = EndObservers()
    for (number, dependent) in dependents.enumerated() {
      observers.add(for: ObjectIdentifier(dependent)) { called.withLock { $0.append(number) } }
    }
    // The entries of removed blocks are dropped as soon as they outnumber the others.
    for dependent in dependents.prefix(15) { observers.remove(for: ObjectIdentifier(dependent)) }
    observers.remove(for: ObjectIdentifier(dependents[0]))
    observers.remove(for: ObjectIdentifier(dependents[17]))
    #expect(observers.count == 4)
    for block in observers.all { block() }
    let numbers = called.withLock { $0 }
    #expect(numbers == [15, 16, 18, 19])
  }
}
