/// Executes actions.
///
/// A completion block is called once for each call of `execute`, on a global queue, after the action finished and after
/// `ActionDidFinishExecuting` was posted. It does not delay other actions.
///
/// `options` say how this one execution differs from the action's own ``Action/options``; `nil` for no difference. When
/// an equal action, with the same ``ActionOptions/uniqueKey``, is on its way, its handle is returned: the two are one
/// from then on, with the options of the first, and canceling one cancels both.
public protocol ActionManager {
  /// Submits an action. Before the start of the Connect it waits for it.
  @discardableResult
  func execute<A: GenericAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<Void>

  /// Submits an action on an entity.
  ///
  /// - Throws: ``ErrorCode/unmanagedEntity`` when the entity is not managed, which no entity is before `start()` and
  ///   after `stop()`.
  @discardableResult
  func execute<A: EntityAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<Void>

  /// Submits an asynchronous action. Before the start of the Connect it waits for it.
  @discardableResult
  func execute<A: AsyncGenericAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output>

  /// Submits an asynchronous action on an entity.
  ///
  /// - Throws: As for an ``EntityAction``.
  @discardableResult
  func execute<A: AsyncEntityAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output>
}

// MARK: - With the action's own options

extension ActionManager {
  @discardableResult
  public func execute<A: GenericAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)? = nil
  ) throws -> ActionHandle<Void> {
    try execute(action, options: nil, completionBlock: completionBlock)
  }

  @discardableResult
  public func execute<A: EntityAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)? = nil
  ) throws -> ActionHandle<Void> {
    try execute(action, options: nil, completionBlock: completionBlock)
  }

  @discardableResult
  public func execute<A: AsyncGenericAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)? = nil
  ) throws -> ActionHandle<A.Output> {
    try execute(action, options: nil, completionBlock: completionBlock)
  }

  @discardableResult
  public func execute<A: AsyncEntityAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)? = nil
  ) throws -> ActionHandle<A.Output> {
    try execute(action, options: nil, completionBlock: completionBlock)
  }
}

// MARK: - Without a completion block

extension ActionManager {
  @discardableResult
  public func execute<A: GenericAction>(_ action: A, options: ActionOptions) throws -> ActionHandle<Void> {
    try execute(action, options: options, completionBlock: nil)
  }

  @discardableResult
  public func execute<A: EntityAction>(_ action: A, options: ActionOptions) throws -> ActionHandle<Void> {
    try execute(action, options: options, completionBlock: nil)
  }

  @discardableResult
  public func execute<A: AsyncGenericAction>(
    _ action: A, options: ActionOptions
  ) throws -> ActionHandle<A.Output> {
    try execute(action, options: options, completionBlock: nil)
  }

  @discardableResult
  public func execute<A: AsyncEntityAction>(
    _ action: A, options: ActionOptions
  ) throws -> ActionHandle<A.Output> {
    try execute(action, options: options, completionBlock: nil)
  }
}
