public import CoherenceCore

extension Refresher {
  /// Refreshes a list now and waits for the end, or joins the running attempt. Also works before the start, offline, and
  /// with the switch off. A joined attempt may have read its source before the call: ``RefreshStatus/lastSyncTime`` is the
  /// beginning of the attempt.
  ///
  /// - Parameters:
  ///   - onlyIfStale: Whether the call leaves new records unchanged and respects the delay after a failure.
  /// - Returns: The status after the attempt; with `onlyIfStale`, the status without an attempt.
  /// - Throws: The error of the attempt, which the status has as text; ``ErrorCode/refreshInProgress`` when another process
  ///   refreshes the scope; ``ErrorCode/invalidRefresh`` for a scope without a registration; errors of the store.
  @discardableResult
  public func refresh(
    _ type: ManagedObject.Type, entityName: String? = nil, scope: String? = nil, onlyIfStale: Bool = false
  ) async throws -> RefreshStatus {
    let name = StatusName(try entity(type, entityName), .list, scope: scope)
    return try await scopes.list(name).refresh(onlyIfStale: onlyIfStale)
  }

  /// Refreshes a single record and waits for the end, or joins the running read of the key.
  ///
  /// - Parameters:
  ///   - key: The key of the record as text, the scope of the read's status.
  ///   - onlyIfStale: Whether the call leaves a new record unchanged and respects the delay after a failure.
  /// - Returns: The status after the attempt; with `onlyIfStale`, the status without an attempt.
  /// - Throws: As ``refresh(_:entityName:scope:onlyIfStale:)``.
  @discardableResult
  public func read(
    _ type: ManagedObject.Type, entityName: String? = nil, key: String, onlyIfStale: Bool = true
  ) async throws -> RefreshStatus {
    let name = StatusName(try entity(type, entityName), .read, scope: key)
    return try await scopes.reading(name, in: stack) { try await $0.refresh(onlyIfStale: onlyIfStale) }
  }

  /// A new stream of the events from now on, in order for each scope. The stream keeps every event until it is read. The
  /// events are in the stream `Connect.events` of the Connect too, as `ConnectEvent.work`.
  public var events: AsyncStream<RefreshEvent> { stack.events.makeStream() }

  /// Returns the status of a list, or of the read of a key; `nil` before the first attempt.
  ///
  /// - Throws: ``ErrorCode/noStore`` and errors of the store.
  public func status(
    of type: ManagedObject.Type, entityName: String? = nil, _ kind: RefreshStatus.Kind = .list, scope: String? = nil
  ) async throws -> RefreshStatus? {
    try await stack.table.status(StatusName(try entity(type, entityName), kind, scope: scope))
  }

  /// Returns all statuses of the Connect's stores, also of scopes without a registration, by name, type and scope.
  ///
  /// - Throws: Errors of the stores.
  public func statuses() async throws -> [RefreshStatus] { try await stack.table.statuses() }
}
