import CoherenceCore
import Foundation

/// The record of one entry: the change of one record by one save.
///
/// The values that describe the change are written when the entry is made; merges, decided conflicts and the user may
/// rewrite them. A forwarder changes the state of sending on the first entry of a record only: ``state``, ``attempts``,
/// ``nextAttempt``, ``lastError``, ``isRejected``, ``groupEnd``, ``lease`` and ``claimant``. The user may park and
/// retry a later entry too.
final class OutboxEntryRecord: ManagedObject, DeclaredEntity {
  struct Properties: EntityProperties {
    static let table = Properties()
    let sequence = AttributeKey<Int64>("sequence")
    let transaction = AttributeKey<Int64>("transaction")
    let entityName = AttributeKey<String>("entityName")
    let rootName = AttributeKey<String>("rootName")
    let recordKey = AttributeKey<Int64>("recordKey")
    let recordVersion = AttributeKey<Int64>("recordVersion")
    let kind = AttributeKey<OutboxEntryKind>("kind")
    let idempotencyKey = AttributeKey<UUID>("idempotencyKey")
    let author = AttributeKey<String?>("author")
    let enqueued = AttributeKey<Date>("enqueued")
    let identity = AttributeKey<Data?>("identity")
    let references = AttributeKey<Data?>("references")
    let payload = AttributeKey<Data>("payload")
    let contentSize = AttributeKey<Int64>("contentSize")
    let contents = ToManyKey<OutboxContentRecord>("contents")
    let state = AttributeKey<OutboxEntryState>("state")
    let attempts = AttributeKey<Int64>("attempts")
    let nextAttempt = AttributeKey<Date>("nextAttempt")
    let lastError = AttributeKey<String?>("lastError")
    let isRejected = AttributeKey<Bool>("isRejected")
    let groupEnd = AttributeKey<Int64?>("groupEnd")
    let lease = AttributeKey<Date?>("lease")
    let claimant = AttributeKey<String?>("claimant")
  }

  static var entityName: String { "CoherenceOutboxEntry" }
  static var entityDeclaration: Entity {
    Entity(
      entityName, class: OutboxEntryRecord.self,
      indexes: [["state", "sequence"], ["entityName", "state", "sequence"], ["recordKey"]]
    ) {
      Attribute("sequence", .int64)
      Attribute("transaction", .int64)
      Attribute("entityName", .string)
      Attribute("rootName", .string)
      Attribute("recordKey", .int64)
      Attribute("recordVersion", .int64)
      Attribute("kind", OutboxEntryKind.attributeType)
      Attribute("idempotencyKey", .uuid)
      Attribute("author", .string, optional: true)
      Attribute("enqueued", .date)
      Attribute("identity", .data, optional: true)
      Attribute("references", .data, optional: true)
      Attribute("payload", .data)
      Attribute("contentSize", .int64, default: Int64(0))
      Attribute("state", OutboxEntryState.attributeType, default: OutboxEntryState.pending)
      Attribute("attempts", .int64, default: Int64(0))
      Attribute("nextAttempt", .date, default: atOnce)
      Attribute("lastError", .string, optional: true)
      Attribute("isRejected", .bool, default: false)
      Attribute("groupEnd", .int64, optional: true)
      Attribute("lease", .date, optional: true)
      Attribute("claimant", .string, optional: true)
      Relationship("contents", toMany: OutboxContentRecord.entityName, inverse: "entry", deleteRule: .cascade)
    }
  }

  /// The store of an unsaved entry of this context, which will receive it.
  var assignedStore: StoreIdentifier?

  /// The store of the entry.
  var storeIdentifier: StoreIdentifier? { objectID.storeIdentifier ?? assignedStore }

  /// The value of ``nextAttempt`` of an entry without a delay. A constant in the past: the present date would delay the
  /// attempt if the clock were set back later.
  static let atOnce = Date(timeIntervalSince1970: 0)

  /// The value of ``nextAttempt`` of an entry that the user has retried, until its next attempt. Such an entry is sent
  /// even while the server is unavailable. A constant in the past, so that the entry is due for every program.
  static let retried = Date(timeIntervalSince1970: 1)
}

// MARK: - The change

extension OutboxEntryRecord {
  /// The position in the order of all entries: microseconds since 1970, raised where the clock stands still or is set
  /// back.
  var sequence: Int64 {
    get { self[Properties.table.sequence] }
    set { self[Properties.table.sequence] = newValue }
  }
  /// The greatest sequence that the save reserved. A reader of all entries up to this sequence has all entries of the
  /// save.
  var transaction: Int64 {
    get { self[Properties.table.transaction] }
    set { self[Properties.table.transaction] = newValue }
  }
  /// The name of the record's own entity when the save recorded it.
  var entityName: String {
    get { self[Properties.table.entityName] }
    set { self[Properties.table.entityName] = newValue }
  }
  /// The name of the root of the entity's hierarchy when the save recorded it.
  var rootName: String {
    get { self[Properties.table.rootName] }
    set { self[Properties.table.rootName] = newValue }
  }
  /// The key of the record in its hierarchy and store.
  var recordKey: Int64 {
    get { self[Properties.table.recordKey] }
    set { self[Properties.table.recordKey] = newValue }
  }
  /// The version of the record after the save. The versions of a record ascend with its saves, in all processes.
  var recordVersion: Int64 {
    get { self[Properties.table.recordVersion] }
    set { self[Properties.table.recordVersion] = newValue }
  }
  var kind: OutboxEntryKind {
    get { self[Properties.table.kind] }
    set { self[Properties.table.kind] = newValue }
  }
  var idempotencyKey: UUID {
    get { self[Properties.table.idempotencyKey] }
    set { self[Properties.table.idempotencyKey] = newValue }
  }
  /// The transaction author of the context that saved.
  var author: String? {
    get { self[Properties.table.author] }
    set { self[Properties.table.author] = newValue }
  }
  /// The time of the save by the clock of the device.
  var enqueued: Date {
    get { self[Properties.table.enqueued] }
    set { self[Properties.table.enqueued] = newValue }
  }
  /// The identifying values, in the format of ``EntryWriter``.
  var identity: Data? {
    get { self[Properties.table.identity] }
    set { self[Properties.table.identity] = newValue }
  }
  /// The related records, in the format of ``EntryWriter``.
  var references: Data? {
    get { self[Properties.table.references] }
    set { self[Properties.table.references] = newValue }
  }
  /// The changes, in the format of ``EntryWriter``, with only the sizes of large values.
  var payload: Data {
    get { self[Properties.table.payload] }
    set { self[Properties.table.payload] = newValue }
  }
  /// The number of bytes of the whole payload in ``contents``; zero when ``payload`` is complete.
  var contentSize: Int64 {
    get { self[Properties.table.contentSize] }
    set { self[Properties.table.contentSize] = newValue }
  }
  /// The whole payload of an entry with large values.
  var contents: ToMany<OutboxContentRecord> { self[Properties.table.contents] }
}

// MARK: - The state of sending

extension OutboxEntryRecord {
  var state: OutboxEntryState {
    get { self[Properties.table.state] }
    set { self[Properties.table.state] = newValue }
  }
  /// The number of claims that count as attempts, since the last retry by the user. A request follows each claim,
  /// unless the process ends first.
  var attempts: Int64 {
    get { self[Properties.table.attempts] }
    set { self[Properties.table.attempts] = newValue }
  }
  /// The earliest time of the next attempt.
  var nextAttempt: Date {
    get { self[Properties.table.nextAttempt] }
    set { self[Properties.table.nextAttempt] = newValue }
  }
  /// The error of the last attempt, or the reason for which the entry was parked; without values.
  var lastError: String? {
    get { self[Properties.table.lastError] }
    set { self[Properties.table.lastError] = newValue }
  }
  /// Whether the server refused the entry. The server has certainly not applied a refused change.
  var isRejected: Bool {
    get { self[Properties.table.isRejected] }
    set { self[Properties.table.isRejected] = newValue }
  }
  /// The sequence of the last entry that the request with this entry's idempotency key includes; `nil` before the first
  /// claim.
  var groupEnd: Int64? {
    get { self[Properties.table.groupEnd] }
    set { self[Properties.table.groupEnd] = newValue }
  }
  /// The time until which no other forwarder sends the entry.
  var lease: Date? {
    get { self[Properties.table.lease] }
    set { self[Properties.table.lease] = newValue }
  }
  /// The name of the forwarder that sends the entry.
  var claimant: String? {
    get { self[Properties.table.claimant] }
    set { self[Properties.table.claimant] = newValue }
  }

  /// The longest time until the end of a lease, in seconds: a day, and an hour for the clocks of several machines. A
  /// later end was written before the clock was set back.
  private static let longestLease: TimeInterval = 90_000

  /// Whether a forwarder may send the entry at a date, by the lease of its claim.
  func isBeingSent(at date: Date) -> Bool {
    guard state == .sending, let lease else { return false }
    return lease > date && lease <= date.addingTimeInterval(Self.longestLease)
  }
}
