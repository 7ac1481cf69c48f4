/// Receives the operations of a store, when the lock is free. The store above the engine forwards them to its logger.
protocol OperationLog: AnyObject, Sendable {
  func didStore<T: Identifiable>(_ type: T.Type, id: T.ID)
  func didReject<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error)
  func didFailToRemove<T: Identifiable>(_ type: T.Type, id: T.ID, error: any Error)
  func didRegisterAlias<T>(_ alias: AliasKey<T>)
  func didUnregisterAlias<T>(_ alias: AliasKey<T>)
}

/// The operation log and the change log of a store.
@usableFromInline
struct Instrumentation {
  /// Whether neither log exists, in one byte for the fast path of leaves.
  @usableFromInline var isOff = true
  var operationLog: (any OperationLog)?
  var changeLog = ChangeLog() {
    didSet { updateIsOff() }
  }
  /// The origin that the running transactions were given, for the change log.
  var origin: String?

  init(log: (any OperationLog)?) {
    operationLog = log
    updateIsOff()
  }

  private mutating func updateIsOff() {
    isOff = operationLog == nil && !changeLog.isKept
  }
}

extension StoreCore {
  var isLogging: Bool { instrumentation.operationLog != nil }

  func reportStored<T: Identifiable>(_ type: T.Type, _ id: T.ID) {
    report { $0.didStore(type, id: id) }
  }

  func reportRejected<T: Identifiable>(_ type: T.Type, _ id: T.ID, _ error: any Error) {
    report { $0.didReject(type, id: id, error: error) }
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

  private func report(_ event: @escaping (any OperationLog) -> Void) {
    guard let log = instrumentation.operationLog else { return }
    pending.addEvent { event(log) }
  }
}
