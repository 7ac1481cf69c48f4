public import CoherenceCore

/// A ``GenericAction`` whose work is asynchronous and has a result.
///
/// Cancelling the action cancels the task of the work.
public protocol AsyncGenericAction: Action {
  /// The type of the result.
  associatedtype Output: Sendable = Void

  /// Does the work in a task of its own. A thrown error fails the action.
  ///
  /// - Returns: The value of ``ActionHandle/value``.
  func execute() async throws -> Output
}

/// An ``EntityAction`` whose work is asynchronous and has a result.
///
/// Cancelling the action cancels the task of the work. The next action on the entity's hierarchy begins after the end
/// of this one.
public protocol AsyncEntityAction: Action {
  /// The class of the entity's objects, which identifies the entity.
  associatedtype ManagedObjectType: ManagedObject
  /// The type of the result.
  associatedtype Output: Sendable = Void
  /// The name of the entity, for an entity without a class of its own; `nil` to find the entity by its class.
  var entityName: String? { get }

  /// Does the work in a task of its own. A thrown error fails the action.
  ///
  /// - Parameter context: A context of this attempt; see ``EntityAction/execute(context:)``. Work in the context with
  ///   `await context.perform`.
  /// - Returns: The value of ``ActionHandle/value``.
  func execute(context: ActionContext) async throws -> Output
}

extension AsyncEntityAction {
  /// `nil`: the class identifies the entity.
  public var entityName: String? { nil }
}
