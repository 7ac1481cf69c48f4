public import CoherenceCore

/// A piece of work that a ``Connect`` executes and keeps account of.
///
/// An action is `Sendable`: it is made by its submitter, runs on another thread, and may be canceled from a third. An
/// action with immutable properties is a structure. An action with state of its own while it runs keeps it behind a
/// lock:
///
/// ```swift
/// final class Import: GenericAction {
///   private let isCanceled = Mutex(false)
///
///   func execute() throws {
///     for page in pages {
///       if isCanceled.withLock({ $0 }) { return }
///       try load(page)
///     }
///   }
///
///   func cancel() { isCanceled.withLock { $0 = true } }
/// }
/// ```
public protocol Action: Sendable {
  /// Asks the work to end early: because a caller canceled the action, or because its time is up.
  ///
  /// Called at most once, on the canceling thread, while the work may be running on another, or may just have ended.
  /// Not called for a finished action. Runs as part of the action. Waiting here for an action that depends on this one
  /// throws ``ErrorCode/actionWaitsForItself``; stopping the Connect here returns at once.
  func cancel()

  /// How the action wants to be executed.
  var options: ActionOptions { get }
}

extension Action {
  /// Does nothing: an uninterruptible action runs to its end, and counts as canceled.
  public func cancel() {}

  /// Nothing in particular.
  public var options: ActionOptions { ActionOptions() }
}

/// An action not bound to an entity. Up to five run at once, unless ``ConnectOptions`` say otherwise.
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
  /// - Parameter context: Made for this execution. Its saves are durable, and the view context sees them. Changes that
  ///   the action has not saved are lost when it ends; the log warns of them, and
  ///   ``ActionStatistics/hasUnsavedChanges`` is true.
  func execute(context: ActionContext) throws
}

extension EntityAction {
  public var entityName: String? { nil }
}
