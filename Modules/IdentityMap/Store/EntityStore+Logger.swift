extension EntityStore {
  /// Receives the operations on entities and aliases, on their thread, at the end of the operation. It may use the
  /// store.
  public protocol Logger: Sendable {
    /// An entity was stored, alone or in an aggregate.
    func didStore<T: Identifiable>(_ type: T.Type, id: T.ID)
    /// A value was rejected: ``StampError`` or ``EntityError``.
    func didFailedToStore<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error)
    /// An entity was not removed: ``RemovalRefusal``. The default implementation does nothing.
    func didFailToRemove<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error)
    /// An alias has new content.
    func didRegisterAlias<T>(_ alias: AliasKey<T>)
    /// An alias has lost its content: the alias was removed, alone or with all others, the entity that its content
    /// requires was removed, or an optimistic change has ended the content. Called once for each loss, and neither for
    /// an alias without content nor for a loss that a transaction rolls back. The tentative removal of an entity only
    /// hides the content of its alias.
    func didUnregisterAlias<T>(_ alias: AliasKey<T>)
  }
}

extension EntityStore.Logger {
  public func didFailToRemove<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error) {}
}

/// Forwards the operations that the engine reports to a logger.
final class ForwardingLog: OperationLog {
  private let logger: any EntityStore.Logger

  init(to logger: any EntityStore.Logger) {
    self.logger = logger
  }

  func didStore<T: Identifiable>(_ type: T.Type, id: T.ID) { logger.didStore(type, id: id) }

  func didReject<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error) {
    logger.didFailedToStore(type, id: id, error: error)
  }

  func didFailToRemove<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error) {
    logger.didFailToRemove(type, id: id, error: error)
  }

  func didRegisterAlias<T>(_ alias: AliasKey<T>) { logger.didRegisterAlias(alias) }

  func didUnregisterAlias<T>(_ alias: AliasKey<T>) { logger.didUnregisterAlias(alias) }
}
