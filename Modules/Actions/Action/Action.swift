public import CoherenceCore

/// A unit of work that a ``Connect`` executes and records statistics about.
///
/// An action is `Sendable`: its submitter, the thread that runs it and a cancelling thread may all differ. An action
/// with immutable properties is best a structure. An action with mutable state keeps the state behind a lock:
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
  /// Requests that the work ends early, because a caller cancelled the action or its timeout has passed.
  ///
  /// Called at most once, and not for a finished action: after a cancellation on the cancelling thread, after a timeout
  /// on a thread of the completion blocks, see ``ConnectOptions/maximumConcurrentCompletionBlocks``. The work may not
  /// have begun, may still run on another thread, or may just have ended. The call is part of the action: waiting here
  /// for an action that depends on this one throws ``ErrorCode/deadlock``, and `stop` of the Connect returns at once.
  func cancel()

  /// The options of a submission that passes none.
  var options: ActionOptions { get }
}

extension Action {
  /// Does nothing: the work continues to its end, and the action counts as cancelled.
  public func cancel() {}

  /// The default options.
  public var options: ActionOptions { ActionOptions() }
}

/// An action without an entity. By default up to five run at once; ``ConnectOptions`` can change the number.
public protocol GenericAction: Action {
  /// Does the work. May block: the call has a thread of its own. A thrown error fails the action.
  func execute() throws
}

/// An action on the records of one entity. Actions on entities of one hierarchy run one after the other, by priority and
/// then in the order of their submissions.
public protocol EntityAction: Action {
  /// The class of the entity's objects, which identifies the entity.
  associatedtype ManagedObjectType: ManagedObject
  /// The name of the entity, for an entity without a class of its own; `nil` to find the entity by its class.
  var entityName: String? { get }

  /// Does the work. May block: the call has a thread of its own, outside of the context. Use `context.performAndWait`.
  /// A thrown error fails the action.
  ///
  /// - Parameter context: A context of this attempt. Its saves are durable, and the view context sees them. Unsaved
  ///   changes are lost at the end; after a success the log then has a warning, and
  ///   ``ActionStatistics/hasUnsavedChanges`` is true.
  func execute(context: ActionContext) throws
}

extension EntityAction {
  /// `nil`: the class identifies the entity.
  public var entityName: String? { nil }
}
