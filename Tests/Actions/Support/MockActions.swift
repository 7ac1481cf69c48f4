import CoherenceActions
import CoherenceCore
import Dispatch
import Synchronization

struct MockError: Error {}

/// The behavior of a mock action: signals its start, waits for a release, and may throw.
final class MockScript: Sendable {
  private let waits: Bool
  private let fails: Bool
  private let ignoresCancel: Bool
  private let gate = DispatchSemaphore(value: 0)
  private let cancels = Atomic<Int>(0)
  private let runs = Atomic<Int>(0)
  private let (stream, continuation) = AsyncStream<Void>.makeStream()
  private let (cancelStream, cancelContinuation) = AsyncStream<Void>.makeStream()

  /// - Parameters:
  ///   - waits: Whether the action waits for its cancellation or release.
  ///   - ignoresCancel: Whether the action waits for a release only.
  init(waits: Bool = false, fails: Bool = false, ignoresCancel: Bool = false) {
    self.waits = waits
    self.fails = fails
    self.ignoresCancel = ignoresCancel
  }

  var cancelCount: Int { cancels.load(ordering: .sequentiallyConsistent) }
  var runCount: Int { runs.load(ordering: .sequentiallyConsistent) }

  /// Waits for the start of the action.
  func untilBegun() async { for await _ in stream { return } }

  /// Waits for the cancellation of the action.
  func untilCanceled() async { for await _ in cancelStream { return } }

  func release() { gate.signal() }

  func cancel() {
    cancels.add(1, ordering: .sequentiallyConsistent)
    cancelContinuation.yield()
    if !ignoresCancel { gate.signal() }
  }

  func run() throws {
    runs.add(1, ordering: .sequentiallyConsistent)
    continuation.yield()
    // Without a time limit, which a busy machine could exceed.
    if waits { gate.wait() }
    if fails { throw MockError() }
  }
}

struct MockGenericAction: GenericAction {
  var script = MockScript()
  func execute() throws { try script.run() }
  func cancel() { script.cancel() }
}

struct MockEntityAction<Object: ManagedObject>: EntityAction {
  typealias ManagedObjectType = Object
  var script = MockScript()
  func execute(context: ActionContext) throws { try script.run() }
  func cancel() { script.cancel() }
}

/// An entity action that runs a closure.
struct ClosureAction<Object: ManagedObject>: EntityAction {
  typealias ManagedObjectType = Object
  var entityName: String?
  let body: @Sendable (ActionContext) throws -> Void

  init(_ type: Object.Type, entityName: String? = nil, body: @escaping @Sendable (ActionContext) throws -> Void) {
    self.entityName = entityName
    self.body = body
  }

  func execute(context: ActionContext) throws { try body(context) }
}
