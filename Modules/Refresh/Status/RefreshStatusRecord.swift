import CoherenceCore
import Foundation

/// The record of a ``RefreshStatus``.
final class RefreshStatusRecord: ManagedObject {
  private static let nameKey = AttributeKey<String>("name")
  private static let typeKey = AttributeKey<String>("type")
  private static let scopeKey = AttributeKey<String>("scope")
  private static let lastSyncErrorKey = AttributeKey<String?>("lastSyncError")
  private static let lastSyncStatusKey = AttributeKey<Int>("lastSyncStatus")
  private static let lastSyncTimeKey = AttributeKey<Date?>("lastSyncTime")
  private static let lastAttemptTimeKey = AttributeKey<Date?>("lastAttemptTime")
  private static let failureCountKey = AttributeKey<Int>("failureCount")
  private static let nextAttemptTimeKey = AttributeKey<Date?>("nextAttemptTime")
  private static let cursorKey = AttributeKey<String?>("cursor")
  private static let ownerKey = AttributeKey<UUID?>("owner")
  private static let leaseEndKey = AttributeKey<Date?>("leaseEnd")

  static let declaration = Entity(
    RefreshStatus.entityName, class: RefreshStatusRecord.self, uniqueness: [["name", "type", "scope"]]
  ) {
    Attribute("name", .string)
    Attribute("type", .string)
    Attribute("scope", .string, default: "")
    Attribute("lastSyncError", .string, optional: true)
    Attribute("lastSyncStatus", .int64, default: 0)
    Attribute("lastSyncTime", .date, optional: true)
    Attribute("lastAttemptTime", .date, optional: true)
    Attribute("failureCount", .int64, default: 0)
    Attribute("nextAttemptTime", .date, optional: true)
    Attribute("cursor", .string, optional: true)
    Attribute("owner", .uuid, optional: true)
    Attribute("leaseEnd", .date, optional: true)
  }

  var name: String {
    get { self[Self.nameKey] }
    set { self[Self.nameKey] = newValue }
  }
  var type: String {
    get { self[Self.typeKey] }
    set { self[Self.typeKey] = newValue }
  }
  var scope: String {
    get { self[Self.scopeKey] }
    set { self[Self.scopeKey] = newValue }
  }
  var lastSyncError: String? {
    get { self[Self.lastSyncErrorKey] }
    set { self[Self.lastSyncErrorKey] = newValue }
  }
  var lastSyncStatus: Int {
    get { self[Self.lastSyncStatusKey] }
    set { self[Self.lastSyncStatusKey] = newValue }
  }
  var lastSyncTime: Date? {
    get { self[Self.lastSyncTimeKey] }
    set { self[Self.lastSyncTimeKey] = newValue }
  }
  var lastAttemptTime: Date? {
    get { self[Self.lastAttemptTimeKey] }
    set { self[Self.lastAttemptTimeKey] = newValue }
  }
  var failureCount: Int {
    get { self[Self.failureCountKey] }
    set { self[Self.failureCountKey] = newValue }
  }
  var nextAttemptTime: Date? {
    get { self[Self.nextAttemptTimeKey] }
    set { self[Self.nextAttemptTimeKey] = newValue }
  }
  var cursor: String? {
    get { self[Self.cursorKey] }
    set { self[Self.cursorKey] = newValue }
  }
  /// The identifier of the running attempt; `nil` when no attempt is running.
  var owner: UUID? {
    get { self[Self.ownerKey] }
    set { self[Self.ownerKey] = newValue }
  }
  var leaseEnd: Date? {
    get { self[Self.leaseEndKey] }
    set { self[Self.leaseEndKey] = newValue }
  }
}
