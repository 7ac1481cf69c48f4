import CoherenceCore

/// An edit that the server has confirmed, or that it has refused with the values of its record. A merge of a page from
/// before the server's reply uses it to keep the edit, and the values that the reply has written to the record.
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
  private(set) var members: [OutboxMembers]
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
    // Only updates have outdated values: a page with the inserted record is newer than the insert, although lists of
    // other records in the page may be older, and a deletion is kept whole.
    guard kind == .update else { return }
    let last = Dictionary(step.changes.map { ($0.name, $0.value) }) { _, last in last }
    for change in step.entries.flatMap(\.changes) {
      for case let value? in [change.base, change.value] where value != last[change.name] { add(value, change.name) }
    }
  }

  /// Makes the confirmation for the reply to an edit that the server has refused as a conflict, so that no older page
  /// decides over the edit; `nil` for a deletion, which leaves no record with values of the reply, and for entries
  /// without a store.
  ///
  /// - Parameters:
  ///   - serverValues: The values of the reply. The user may decide for them, so that the bases of the edit are outdated.
  ///   - former: The values of the record that the values of the reply have replaced.
  init?(
    ofConflictOver step: OutboxStep, _ serverValues: [String: AttributeValue], replacing former: [String: OutboxValue]
  ) {
    guard step.kind != .delete, let store = step.head.id.storeIdentifier else { return nil }
    self.init(
      of: Subject(store: store, record: step.record), entityName: step.head.entityName, .update, [], step.identity)
    for (name, value) in former { add(value, name) }
    for change in step.changes {
      guard let base = change.base, let value = serverValues[change.name], base != OutboxValue(recording: value) else {
        continue
      }
      add(base, change.name)
    }
  }

  /// Adds a value that the server had for a property before the last value of the edit.
  mutating func add(_ value: OutboxValue, _ name: String) {
    if case .omitted = value { omittedNames.insert(name) } else { outdated[name, default: []].append(value) }
  }
}

// MARK: - Memory

extension Confirmation {
  /// The approximate memory of the confirmation, in bytes.
  var memorySize: Int {
    let values = outdated.values.reduce(0) { size, values in values.reduce(size) { $0 + 64 + $1.byteCount } }
    let members = self.members.reduce(0) { $0 + 64 + 48 * ($1.added.count + $1.removed.count) }
    return 256 + values + members
  }

  /// Leaves out the former values over 32 KB, as the entries do.
  mutating func omitLargeValues() {
    for (name, values) in outdated {
      let small = values.filter { $0.withoutLargeValue == $0 }
      guard small.count < values.count else { continue }
      outdated[name] = small.isEmpty ? nil : small
      omittedNames.insert(name)
    }
  }

  /// Releases the former values and the members.
  mutating func releaseValues() {
    outdated = [:]
    members = []
  }
}
