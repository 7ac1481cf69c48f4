/// Executes actions.
///
/// A completion block is called once for each action, on a global queue, after the action finished and after
/// `ActionDidFinishExecuting` was posted. It does not delay other actions.
public protocol ActionManager {
  /// Submits an action. Generic actions are accepted in any state; up to five of them run at once.
  @discardableResult
  func execute<A: GenericAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> any ActionProxy

  /// Submits an action on an entity.
  ///
  /// - Throws: ``ErrorCode/unmanagedEntity`` when the entity is not managed, which no entity is before `start()` and
  ///   after `stop()`.
  @discardableResult
  func execute<A: EntityAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> any ActionProxy

  /// Submits an asynchronous action; see ``execute(_:completionBlock:)-1``.
  @discardableResult
  func execute<A: AsyncGenericAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output>

  /// Submits an asynchronous action on an entity.
  ///
  /// - Throws: As for an ``EntityAction``.
  @discardableResult
  func execute<A: AsyncEntityAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output>
}

extension ActionManager {
  @discardableResult
  public func execute<A: GenericAction>(_ action: A) throws -> any ActionProxy {
    try execute(action, completionBlock: nil)
  }

  @discardableResult
  public func execute<A: EntityAction>(_ action: A) throws -> any ActionProxy {
    try execute(action, completionBlock: nil)
  }

  @discardableResult
  public func execute<A: AsyncGenericAction>(_ action: A) throws -> ActionHandle<A.Output> {
    try execute(action, completionBlock: nil)
  }

  @discardableResult
  public func execute<A: AsyncEntityAction>(_ action: A) throws -> ActionHandle<A.Output> {
    try execute(action, completionBlock: nil)
  }
}
