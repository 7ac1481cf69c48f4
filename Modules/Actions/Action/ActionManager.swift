/// Submits actions for execution.
///
/// `execute` returns at once, and may be called from any thread. `options` replace the action's own ``Action/options`` for
/// one submission; `nil` keeps them.
///
/// While an equal action with the same ``ActionOptions/uniqueKey`` is unfinished, `execute` by default returns the handle
/// of that action: both submissions share its arguments, options and end, and cancelling one cancels both. Other
/// policies replace the equal action, or join it only while it waits; see ``EqualActionPolicy``.
///
/// A completion block is called once for each call of `execute`, after the action has finished and
/// `ActionDidFinishExecuting` was posted. Completion blocks begin in the order in which their actions finished. The blocks
/// of one action are called one after the other, in the order of the submissions. They run on threads that neither actions
/// nor tasks use, so that a blocked completion block delays no action. It delays other completion blocks by about a
/// millisecond. Once ``ConnectOptions/maximumConcurrentCompletionBlocks`` blocks are blocked, further blocks wait until one
/// of them returns. Blocks that return at once share one thread.
public protocol ActionManager {
  /// Submits an action. The action waits for the start of the Connect.
  @discardableResult
  func execute<A: GenericAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<Void>

  /// Submits an action on an entity.
  ///
  /// - Throws: ``ErrorCode/unmanagedEntity`` when the entity is not managed. No entity is managed before `start()` and
  ///   after `stop()`.
  @discardableResult
  func execute<A: EntityAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<Void>

  /// Submits an asynchronous action. The action waits for the start of the Connect.
  @discardableResult
  func execute<A: AsyncGenericAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output>

  /// Submits an asynchronous action on an entity.
  ///
  /// - Throws: ``ErrorCode/unmanagedEntity``, as for an ``EntityAction``.
  @discardableResult
  func execute<A: AsyncEntityAction>(
    _ action: A, options: ActionOptions?, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)?
  ) throws -> ActionHandle<A.Output>
}

// MARK: - With the action's own options

extension ActionManager {
  /// Submits an action with its own options.
  @discardableResult
  public func execute<A: GenericAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)? = nil
  ) throws -> ActionHandle<Void> {
    try execute(action, options: nil, completionBlock: completionBlock)
  }

  /// Submits an action on an entity with its own options.
  @discardableResult
  public func execute<A: EntityAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)? = nil
  ) throws -> ActionHandle<Void> {
    try execute(action, options: nil, completionBlock: completionBlock)
  }

  /// Submits an asynchronous action with its own options.
  @discardableResult
  public func execute<A: AsyncGenericAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)? = nil
  ) throws -> ActionHandle<A.Output> {
    try execute(action, options: nil, completionBlock: completionBlock)
  }

  /// Submits an asynchronous action on an entity with its own options.
  @discardableResult
  public func execute<A: AsyncEntityAction>(
    _ action: A, completionBlock: (@Sendable (_ actionProxy: any ActionProxy) -> Void)? = nil
  ) throws -> ActionHandle<A.Output> {
    try execute(action, options: nil, completionBlock: completionBlock)
  }
}

// MARK: - Without a completion block

extension ActionManager {
  /// Submits an action with options and without a completion block.
  @discardableResult
  public func execute<A: GenericAction>(_ action: A, options: ActionOptions) throws -> ActionHandle<Void> {
    try execute(action, options: options, completionBlock: nil)
  }

  /// Submits an action on an entity with options and without a completion block.
  @discardableResult
  public func execute<A: EntityAction>(_ action: A, options: ActionOptions) throws -> ActionHandle<Void> {
    try execute(action, options: options, completionBlock: nil)
  }

  /// Submits an asynchronous action with options and without a completion block.
  @discardableResult
  public func execute<A: AsyncGenericAction>(
    _ action: A, options: ActionOptions
  ) throws -> ActionHandle<A.Output> {
    try execute(action, options: options, completionBlock: nil)
  }

  /// Submits an asynchronous action on an entity with options and without a completion block.
  @discardableResult
  public func execute<A: AsyncEntityAction>(
    _ action: A, options: ActionOptions
  ) throws -> ActionHandle<A.Output> {
    try execute(action, options: options, completionBlock: nil)
  }
}
