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

  func tellStored<T: Identifiable>(_ type: T.Type, _ id: T.ID) {
    tell { $0.didStore(type, id: id) }
  }

  func tellRefused<T: Identifiable>(_ type: T.Type, _ id: T.ID, _ error: any Error) {
    tell { $0.didFailedToStore(type, id: id, error: error) }
  }

  func tellUnremoved<T: Identifiable>(_ type: T.Type, _ id: T.ID, _ error: RemovalRefusal) {
    tell { $0.didFailToRemove(type, id: id, error: error) }
  }

  func tellRegistered<T>(_ alias: AliasKey<T>) {
    tell { $0.didRegisterAlias(alias) }
  }

  func tellUnregistered<T>(_ alias: AliasKey<T>) {
    tell { $0.didUnregisterAlias(alias) }
  }

  private func tell(_ event: @escaping (any EntityStore.Logger) -> Void) {
    guard let logger else { return }
    aftermath.events.append { event(logger) }
    hasWork = true
  }
}
