import CoherenceCore

/// An edit that the server has confirmed. A merge of a page from before the confirmation uses it to keep the edit.
struct Confirmation: Sendable {
  /// A record of a store. Equal for all coordinators with the store.
  struct Subject: Hashable, Sendable {
    let store: StoreIdentifier
    let record: OutboxRecord
  }

  let subject: Subject
  /// The name of the record's entity in the present model.
  let entityName: String
  let kind: OutboxEntryKind
  /// The values that the server had before the last value of the edit, by property: the base, and the values that the
  /// edit has passed through.
  private(set) var outdated: [String: [OutboxValue]] = [:]
  /// The properties with former values that the entries leave out because of their size.
  private(set) var omittedNames: Set<String> = []
  /// The changed members of to-many relationships.
  let members: [OutboxMembers]
  /// The identifying values that the server had for the record.
  let identity: [String: AttributeValue]
  /// A time after the reply of the server and before the save of the acknowledgement. Without a meaning in a
  /// confirmation of another process: its record has the time.
  var time = ContinuousClock.now

  init(
    of subject: Subject, entityName: String, _ kind: OutboxEntryKind, _ members: [OutboxMembers],
    _ identity: [String: AttributeValue]
  ) {
    self.subject = subject
    self.entityName = entityName
    self.kind = kind
    self.members = members
    self.identity = identity
  }

  /// Makes the confirmation of an edit; `nil` for entries without a store.
  init?(of step: OutboxStep) {
    guard let store = step.head.id.storeIdentifier else { return nil }
    self.init(
      of: Subject(store: store, record: step.record), entityName: step.head.entityName, step.kind, step.members,
      step.identity)
    // Only updates have outdated values: a page with the inserted record is newer than the insert, and a deletion is
    // kept whole.
    guard kind == .update else { return }
    let last = Dictionary(step.changes.map { ($0.name, $0.value) }) { _, last in last }
    for change in step.entries.flatMap(\.changes) {
      for case let value? in [change.base, change.value] where value != last[change.name] { add(value, change.name) }
    }
  }

  /// Adds a value that the server had for a property before the last value of the edit.
  mutating func add(_ value: OutboxValue, _ name: String) {
    if case .omitted = value { omittedNames.insert(name) } else { outdated[name, default: []].append(value) }
  }
}
