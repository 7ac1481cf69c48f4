extension EntityStore {
  /// Is told what happens to entities and aliases, on the thread that does it, as soon as the operation is over. It may
  /// use the store.
  public protocol Logger: Sendable {
    /// An entity was stored, alone or in an aggregate.
    func didStore<T: Identifiable>(_ type: T.Type, id: T.ID)
    /// An entity was refused: ``StampError`` or ``EntityError``.
    func didFailedToStore<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error)
    /// An entity was not removed: ``RemovalRefusal``. Does nothing by default.
    func didFailToRemove<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error)
    /// An alias stands for something, for the first time or something else.
    func didRegisterAlias<T>(_ alias: AliasKey<T>)
    /// An alias stands for nothing any more.
    func didUnregisterAlias<T>(_ alias: AliasKey<T>)
  }
}

extension EntityStore.Logger {
  public func didFailToRemove<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error) {}
}

extension StoreCore {
  var isLogging: Bool { logger != nil }

  func reportStored<T: Identifiable>(_ type: T.Type, _ id: T.ID) {
    report { $0.didStore(type, id: id) }
  }

  func reportRejected<T: Identifiable>(_ type: T.Type, _ id: T.ID, _ error: any Error) {
    report { $0.didFailedToStore(type, id: id, error: error) }
  }

  func reportNotRemoved<T: Identifiable>(_ type: T.Type, _ id: T.ID, _ error: RemovalRefusal) {
    report { $0.didFailToRemove(type, id: id, error: error) }
  }

  func reportRegistered<T>(_ alias: AliasKey<T>) {
    report { $0.didRegisterAlias(alias) }
  }

  func reportUnregistered<T>(_ alias: AliasKey<T>) {
    report { $0.didUnregisterAlias(alias) }
  }

  private func report(_ event: @escaping (any EntityStore.Logger) -> Void) {
    guard let logger else { return }
    deferred.events.append { event(logger) }
    hasWork = true
  }
}
