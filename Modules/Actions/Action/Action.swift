import CoherenceCore

/// A piece of work that a ``Connect`` executes and keeps account of.
public protocol Action: Sendable {
  /// Asks the work to end early. Called at most once, on the thread of whoever cancels, while the work may be running on
  /// another; not called after the action finished.
  func cancel()
}

extension Action {
  /// Does nothing: an action that cannot be interrupted runs to its end, and counts as canceled.
  public func cancel() {}
}

/// An action that is not bound to an entity. Up to five run at once.
public protocol GenericAction: Action {
  /// Does the work. May block; runs on a thread of its own.
  func execute() throws
}

/// An action on the records of one entity. Actions on entities of one hierarchy run one after the other, in the order in
/// which they were submitted.
public protocol EntityAction: Action {
  /// The class of the entity's objects, by which the entity is found.
  associatedtype ManagedObjectType: ManagedObject
  /// The name of the entity, for entities without a class of their own; `nil` to find it by the class.
  var entityName: String? { get }

  /// Does the work. May block; runs on a thread of its own, not in the context: use `context.performAndWait`.
  ///
  /// - Parameter context: Made for this execution. Its saves are durable, and the view context sees them.
  func execute(context: ActionContext) throws
}

extension EntityAction {
  public var entityName: String? { nil }
}
