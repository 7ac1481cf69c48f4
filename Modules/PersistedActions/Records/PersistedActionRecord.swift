import CoherenceCore
import Foundation

/// The record of an enqueued action.
final class PersistedActionRecord: ManagedObject, DeclaredEntity, DiscardedOnCollision, KeptByUndo {
  struct Properties: EntityProperties {
    static let table = Properties()
    let identifier = AttributeKey<UUID>("identifier")
    let name = AttributeKey<String>("name")
    let queue = AttributeKey<String>("queue")
    let payload = AttributeKey<Data>("payload")
    let key = AttributeKey<String?>("key")
    let activeKey = AttributeKey<String?>("activeKey")
    let priority = AttributeKey<Int16>("priority")
    let state = AttributeKey<String>("state")
    let rank = AttributeKey<Date>("rank")
    let enqueuedDate = AttributeKey<Date>("enqueuedDate")
    let dueDate = AttributeKey<Date>("dueDate")
    let startedDate = AttributeKey<Date?>("startedDate")
    let finishedDate = AttributeKey<Date?>("finishedDate")
    let attempts = AttributeKey<Int>("attempts")
    let retry = AttributeKey<String?>("retry")
    let failures = AttributeKey<String?>("failures")
    let worker = AttributeKey<UUID?>("worker")
    let lease = AttributeKey<UUID?>("lease")
    let isCancelRequested = AttributeKey<Bool>("isCancelRequested")
    let checkpoint = AttributeKey<Data?>("checkpoint")
    let result = AttributeKey<Data?>("result")
    let completedUnits = AttributeKey<Int64>("completedUnits")
    let totalUnits = AttributeKey<Int64>("totalUnits")
    let scheduleName = AttributeKey<String?>("scheduleName")
    let scheduleText = AttributeKey<String?>("scheduleText")
  }

  static var entityName: String { "CoherencePersistedAction" }

  static var entityDeclaration: Entity {
    // Each claim and each end of an attempt writes every index with the state. One index therefore serves the claims of
    // waiting records, the promotion of scheduled records, and the pruning of finished records, see `rank`. Pages are
    // sorted by the date of the enqueueing.
    Entity(
      entityName, class: PersistedActionRecord.self, uniqueness: [["identifier"], ["name", "activeKey"]],
      indexes: [["state", "queue", "rank"], ["enqueuedDate"]]
    ) {
      Attribute("identifier", .uuid)
      Attribute("name", .string)
      Attribute("queue", .string)
      Attribute("payload", .data)
      Attribute("key", .string, optional: true)
      Attribute("activeKey", .string, optional: true)
      Attribute("priority", .int16)
      Attribute("state", .string)
      Attribute("rank", .date)
      Attribute("enqueuedDate", .date)
      Attribute("dueDate", .date)
      Attribute("startedDate", .date, optional: true)
      Attribute("finishedDate", .date, optional: true)
      Attribute("attempts", .int64, default: 0)
      Attribute("retry", .string, optional: true)
      Attribute("failures", .string, optional: true)
      Attribute("worker", .uuid, optional: true)
      Attribute("lease", .uuid, optional: true)
      Attribute("isCancelRequested", .bool, default: false)
      Attribute("checkpoint", .data, optional: true)
      Attribute("result", .data, optional: true)
      Attribute("completedUnits", .int64, default: 0)
      Attribute("totalUnits", .int64, default: 0)
      Attribute("scheduleName", .string, optional: true)
      Attribute("scheduleText", .string, optional: true)
    }
  }

  /// The name of the action's type; see ``PersistedAction/name``.
  var name: String {
    get { self[Properties.table.name] }
    set { self[Properties.table.name] = newValue }
  }
  var identifier: UUID {
    get { self[Properties.table.identifier] }
    set { self[Properties.table.identifier] = newValue }
  }
  var queue: String {
    get { self[Properties.table.queue] }
    set { self[Properties.table.queue] = newValue }
  }
  var payload: Data {
    get { self[Properties.table.payload] }
    set { self[Properties.table.payload] = newValue }
  }
  /// The unique key, which the record keeps after its action has finished.
  var key: String? {
    get { self[Properties.table.key] }
    set { self[Properties.table.key] = newValue }
  }
  /// The unique key while the action is unfinished; `nil` afterwards. A constraint of the store allows one action with
  /// this key and name.
  var activeKey: String? {
    get { self[Properties.table.activeKey] }
    set { self[Properties.table.activeKey] = newValue }
  }
  var priority: Int16 {
    get { self[Properties.table.priority] }
    set { self[Properties.table.priority] = newValue }
  }
  /// The raw value of a ``PersistedActionState``.
  var stateText: String {
    get { self[Properties.table.state] }
    set { self[Properties.table.state] = newValue }
  }
  /// The date by which the actions of one queue and state are sorted: for waiting actions the due date, shifted by the
  /// priority; for scheduled actions the due date; for finished actions the date of the end.
  var rank: Date {
    get { self[Properties.table.rank] }
    set { self[Properties.table.rank] = newValue }
  }
  var enqueuedDate: Date {
    get { self[Properties.table.enqueuedDate] }
    set { self[Properties.table.enqueuedDate] = newValue }
  }
  var dueDate: Date {
    get { self[Properties.table.dueDate] }
    set { self[Properties.table.dueDate] = newValue }
  }
  var startedDate: Date? {
    get { self[Properties.table.startedDate] }
    set { self[Properties.table.startedDate] = newValue }
  }
  var finishedDate: Date? {
    get { self[Properties.table.finishedDate] }
    set { self[Properties.table.finishedDate] = newValue }
  }
  /// The number of failed attempts, including attempts whose worker stopped.
  var attempts: Int {
    get { self[Properties.table.attempts] }
    set { self[Properties.table.attempts] = newValue }
  }
  /// The JSON text of the action's own ``PersistedRetry``.
  var retryText: String? {
    get { self[Properties.table.retry] }
    set { self[Properties.table.retry] = newValue }
  }
  /// The JSON text of the latest ``PersistedActionFailure`` values.
  var failuresText: String? {
    get { self[Properties.table.failures] }
    set { self[Properties.table.failures] = newValue }
  }
  var worker: UUID? {
    get { self[Properties.table.worker] }
    set { self[Properties.table.worker] = newValue }
  }
  /// The token of the claim under which the action runs.
  var lease: UUID? {
    get { self[Properties.table.lease] }
    set { self[Properties.table.lease] = newValue }
  }
  var isCancelRequested: Bool {
    get { self[Properties.table.isCancelRequested] }
    set { self[Properties.table.isCancelRequested] = newValue }
  }
  var checkpoint: Data? {
    get { self[Properties.table.checkpoint] }
    set { self[Properties.table.checkpoint] = newValue }
  }
  var result: Data? {
    get { self[Properties.table.result] }
    set { self[Properties.table.result] = newValue }
  }
  var completedUnits: Int64 {
    get { self[Properties.table.completedUnits] }
    set { self[Properties.table.completedUnits] = newValue }
  }
  var totalUnits: Int64 {
    get { self[Properties.table.totalUnits] }
    set { self[Properties.table.totalUnits] = newValue }
  }
  var scheduleName: String? {
    get { self[Properties.table.scheduleName] }
    set { self[Properties.table.scheduleName] = newValue }
  }
  /// The text of the schedule from which the due date was computed.
  var scheduleText: String? {
    get { self[Properties.table.scheduleText] }
    set { self[Properties.table.scheduleText] = newValue }
  }

  var isDiscardedOnCollision: Bool { activeKey != nil }

  /// Has the save of a new action wake the workers. A signal of the enqueueing would be sent by the first save, and an
  /// undone action may come back after that save by a redo.
  override func willSave() {
    if isInserted, !state.isFinal { managedObjectContext?.signalOnSave(ActionChannel.due) }
  }
}
