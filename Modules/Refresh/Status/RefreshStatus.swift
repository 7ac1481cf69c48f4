public import CoherenceCore
public import Foundation

/// The stored state of the refresh of one entity and scope.
///
/// All processes with the store share the status, and later runs of the program find it, also after the model has
/// renamed the entity and names the former name in `formerNames`. A stream of
/// `coordinator.entityChanges(of: RefreshStatus.entityName)` reports its changes.
public struct RefreshStatus: Sendable, Hashable {
  /// The name of the entity of the statuses, in models with `ManagedObjectModel.addingRefreshStatus()`.
  public static let entityName = "CoherenceRefreshStatus"

  /// The kind of a refresh.
  public enum Kind: String, Sendable, Hashable, CaseIterable {
    /// All records of a scope, loaded as a whole or by their changes.
    case list
    /// A single record; the scope is its key.
    case read
  }

  /// The result of the last finished attempt.
  public enum SyncStatus: Int, Sendable, Hashable, CaseIterable {
    /// No attempt has finished.
    case never
    /// The last attempt succeeded.
    case succeeded
    /// The last attempt failed.
    case failed
  }

  /// The present name of the refreshed entity. The name at the time of the last attempt, if the model does not have the
  /// entity any more.
  public let name: String
  /// The kind of the refresh.
  public let type: Kind
  /// The scope; `nil` for all records of the entity.
  public let scope: String?
  /// The text of the last attempt's error, without values of records; `nil` after a success.
  public let lastSyncError: String?
  /// The result of the last finished attempt.
  public let lastSyncStatus: SyncStatus
  /// The beginning of the last successful attempt. The data is as new as this date.
  public let lastSyncTime: Date?
  /// The beginning of the last attempt.
  public let lastAttemptTime: Date?
  /// The number of failed attempts since the last success.
  public let failureCount: Int
  /// After a failure, the earliest date of the next automatic attempt, unless the connectivity is online again before.
  public let nextAttemptTime: Date?
  /// The position after the last stored page of changes; see `DeltaPage`.
  public let cursor: String?
  /// The end of the lease of a running attempt; `nil` when no attempt is running. After this date, the attempt's
  /// process is assumed to be dead, and another attempt may begin.
  public let leaseEnd: Date?
}

extension RefreshStatus {
  /// - Parameter name: The present name of the entity, which may have another name in the record.
  init(_ record: RefreshStatusRecord, named name: String) {
    self.name = name
    type = Kind(rawValue: record.type) ?? .list
    scope = record.scope.isEmpty ? nil : record.scope
    lastSyncError = record.lastSyncError
    lastSyncStatus = SyncStatus(rawValue: record.lastSyncStatus) ?? .never
    lastSyncTime = record.lastSyncTime
    lastAttemptTime = record.lastAttemptTime
    failureCount = record.failureCount
    nextAttemptTime = record.nextAttemptTime
    cursor = record.cursor
    leaseEnd = record.owner == nil ? nil : record.leaseEnd
  }
}

extension RefreshStatus {
  /// Returns all statuses in the stores of a coordinator, sorted by name, type and scope. For programs without a
  /// refresher that show the refreshes of other programs.
  ///
  /// - Throws: `ErrorCode.invalidModel` for a model without `addingRefreshStatus()`; errors of the stores.
  public static func all(in coordinator: PersistentStoreCoordinator) async throws -> [RefreshStatus] {
    try await StatusTable(coordinator).statuses()
  }
}

/// The identity of a status: an entity, a kind and a scope.
struct StatusName: Sendable, Hashable {
  let entity: EntityDescription
  let type: RefreshStatus.Kind
  /// Empty for all records.
  let scope: String

  init(_ entity: EntityDescription, _ type: RefreshStatus.Kind, scope: String?) {
    self.entity = entity
    self.type = type
    self.scope = scope ?? ""
  }

  /// The error of an attempt that another attempt has taken over.
  var lostLeaseError: CoherenceError {
    CoherenceError(
      .cancelled,
      "The refresh of '\(entity.name)' took longer than its time limit, and another attempt has taken over; allow the "
        + "refresh more time.")
  }

  /// The error of a scope without a list.
  var unregisteredError: CoherenceError {
    CoherenceError(
      .invalidRefresh,
      "No list of '\(entity.name)' is registered for the scope; register a list with `register(list:)` or "
        + "`register(changesOf:)`.")
  }

  /// Returns the predicate that finds the status's record, and the records of the same scope under former names.
  ///
  /// - Parameter names: The present name and the former names of the entity.
  func predicate(_ names: [String]) -> FetchPredicate {
    func equals(_ name: String, _ value: String) -> FetchPredicate {
      .comparison(.path(PropertyPath(names: [name])), .equal, .value(.string(value)))
    }
    return .and([Self.hasName(names), equals("type", type.rawValue), equals("scope", scope)])
  }

  private static func hasName(_ names: [String]) -> FetchPredicate {
    .membership(.path(PropertyPath(names: ["name"])), in: names.map(AttributeValue.string))
  }

  /// Returns the predicate that finds the records of an entity's reads without an attempt since a date. A read with a
  /// cursor, or with the lease of a running attempt, is left out.
  ///
  /// - Parameter names: The present name and the former names of the entity.
  static func oldReads(of names: [String], before date: Date) -> FetchPredicate {
    func path(_ name: String) -> FetchExpression { .path(PropertyPath(names: [name])) }
    func isBefore(_ name: String) -> FetchPredicate { .comparison(path(name), .less, .value(date.attributeValue)) }
    func isMissing(_ name: String) -> FetchPredicate { .membership(path(name), in: [.null]) }
    return .and([
      hasName(names),
      .comparison(path("type"), .equal, .value(.string(RefreshStatus.Kind.read.rawValue))),
      isBefore("lastAttemptTime"), .or([isMissing("leaseEnd"), isBefore("leaseEnd")]), isMissing("cursor"),
    ])
  }
}
