/// Executes actions.
///
/// A completion block is called once for each call of `execute`, after the action finished and after
/// `ActionDidFinishExecuting` was posted, on a thread that neither actions nor tasks need. A block that blocks delays the
/// beginning and the end of no action. It delays other actions' completion blocks by about a millisecond, until as many
/// blocks as ``ConnectOptions/maximumConcurrentCompletionBlocks`` are blocked at once: further blocks wait until one of
/// them returns. Blocks that return at once share one thread. Completion blocks begin in the order in which their actions
/// finished; those of one action are called one after the other, in the order of the calls of `execute`.
///
/// `options` say how this one execution differs from the action's own ``Action/options``; `nil` for no difference. When
/// an equal action, with the same ``ActionOptions/uniqueKey``, is on its way, its handle is returned: the two are one
/// from then on, with arguments and options of the first, and canceling one cancels both. The options may have the equal
/// action replaced, joined only while it waits, or raised in priority: see ``EqualActionPolicy``.
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
