import CoherenceActions
import CoherenceCore

/// An asynchronous action that runs a closure.
struct TaskAction<Output: Sendable>: AsyncGenericAction {
  var options = ActionOptions()
  let body: @Sendable () async throws -> Output

  init(options: ActionOptions = ActionOptions(), _ body: @escaping @Sendable () async throws -> Output) {
    self.options = options
    self.body = body
  }

  func execute() async throws -> Output { try await body() }
}

/// An asynchronous action on `ConnectEntity1` that runs a closure.
struct EntityTaskAction<Output: Sendable>: AsyncEntityAction {
  typealias ManagedObjectType = ConnectEntity1
  let body: @Sendable (ActionContext) async throws -> Output

  init(_ body: @escaping @Sendable (ActionContext) async throws -> Output) { self.body = body }

  func execute(context: ActionContext) async throws -> Output { try await body(context) }
}

/// A gate that blocks tasks until it is opened.
final class TaskGate: Sendable {
  private let (stream, continuation) = AsyncStream<Void>.makeStream()

  func open() { continuation.finish() }
  /// Waits for the opening, or for the cancellation of the task. For one task.
  func pass() async { for await _ in stream {} }
}
