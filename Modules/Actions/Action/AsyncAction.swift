public import CoherenceCore

/// A ``GenericAction`` whose work is asynchronous and has a result.
///
/// Canceling it cancels the task that it runs in.
public protocol AsyncGenericAction: Action {
  associatedtype Output: Sendable = Void

  func execute() async throws -> Output
}

/// An ``EntityAction`` whose work is asynchronous and has a result.
///
/// Canceling it cancels the task that it runs in. The next action on the entity's hierarchy begins when this one ended.
public protocol AsyncEntityAction: Action {
  associatedtype ManagedObjectType: ManagedObject
  associatedtype Output: Sendable = Void
  /// The name of the entity, for entities without a class of their own; `nil` to find it by the class.
  var entityName: String? { get }

  /// - Parameter context: Made for this execution; work in it with `await context.perform`.
  func execute(context: ActionContext) async throws -> Output
}

extension AsyncEntityAction {
  public var entityName: String? { nil }
}
