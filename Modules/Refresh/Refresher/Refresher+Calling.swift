public import CoherenceCore
import Foundation

extension Refresher {
  /// Refreshes a list and waits for the end of the attempt. A call during an attempt waits for this attempt instead of
  /// beginning another one. Also works before the start, offline, and while ``isEnabled`` is `false`.
  ///
  /// An attempt that began before the call may have read its source before the call too. ``RefreshStatus/lastSyncTime``
  /// is the beginning of the attempt.
  ///
  /// - Parameters:
  ///   - onlyIfStale: Whether the call begins an attempt only for stale records, and only after the delay of a failure.
  ///     Records count as stale when the last attempt has failed, or its process has died.
  /// - Returns: The status after the attempt, or the present status if `onlyIfStale` has prevented an attempt.
  /// - Throws: The error of the attempt, whose text is also in the status, unless the attempt was cancelled or another
  ///   attempt has taken over; ``ErrorCode/refreshInProgress`` when another process refreshes the scope;
  ///   ``ErrorCode/invalidRefresh`` for a scope without a registration; ``ErrorCode/deadlock`` in an action that the
  ///   attempt waits for, such as the attempt itself, or an action that runs before the attempt in the queue of the
  ///   entity, and in a handler of an outbox or a persisted action whose end the attempt waits for; errors of the store.
  @discardableResult
  public func refresh(
    _ type: ManagedObject.Type, entityName: String? = nil, scope: String? = nil, onlyIfStale: Bool = false
  ) async throws -> RefreshStatus {
    let name = StatusName(try entity(type, entityName), .list, scope: scope)
    return try await scopes.list(name).refresh(onlyIfStale: onlyIfStale)
  }

  /// Refreshes a single record and waits for the end of the attempt. A call during a read of the same key waits for
  /// this read instead of beginning another one.
  ///
  /// The store keeps the status of a read for a week after the last attempt, or for the staleness interval if that is
  /// longer. Some reads of new keys delete older statuses.
  ///
  /// - Parameters:
  ///   - key: The key of the record as text, which is also the scope of the read's status.
  ///   - onlyIfStale: Whether the call begins an attempt only for a stale record, and only after the delay of a
  ///     failure.
  /// - Returns: The status after the attempt, or the present status if `onlyIfStale` has prevented an attempt.
  /// - Throws: As ``refresh(_:entityName:scope:onlyIfStale:)``.
  @discardableResult
  public func read(
    _ type: ManagedObject.Type, entityName: String? = nil, key: String, onlyIfStale: Bool = true
  ) async throws -> RefreshStatus {
    let name = StatusName(try entity(type, entityName), .read, scope: key)
    return try await scopes.reading(name, in: stack) { try await $0.refresh(onlyIfStale: onlyIfStale) }
  }

  /// A new stream of the events from now on, in order for each scope, until the refresher is released. The stream
  /// buffers all events for a slow reader. The stream `Connect.events` of the Connect has the events too, as
  /// `ConnectEvent.work`.
  public var events: AsyncStream<RefreshEvent> { stack.events.makeStream() }

  /// Returns the status of a list, or of the read of a key; `nil` before the first attempt.
  ///
  /// - Throws: ``ErrorCode/noStore`` and errors of the store.
  public func status(
    of type: ManagedObject.Type, entityName: String? = nil, _ kind: RefreshStatus.Kind = .list, scope: String? = nil
  ) async throws -> RefreshStatus? {
    try await stack.table.status(StatusName(try entity(type, entityName), kind, scope: scope))
  }

  /// Returns all statuses of the Connect's stores, sorted by name, type and scope. The statuses of scopes without a
  /// registration are included.
  ///
  /// - Throws: Errors of the stores.
  public func statuses() async throws -> [RefreshStatus] { try await stack.table.statuses() }
}
