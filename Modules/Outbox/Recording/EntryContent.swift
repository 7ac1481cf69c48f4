import CoherenceCore
import Foundation

/// The encoded values of an entry.
struct EntryContent {
  /// The changes, with only the sizes of large values.
  private(set) var payload: Data
  /// The changes with all values; `nil` when ``payload`` has all values, or when large values are not kept.
  private(set) var whole: Data?
  /// The related records; `nil` without any.
  private(set) var references: Data?

  /// Encodes changes. The identifying values are encoded separately.
  ///
  /// - Parameter keepsLargeValues: Whether ``whole`` is made for values too large for ``payload``. Otherwise only their
  ///   sizes are kept.
  init(_ fields: [EntryFormat.Field], _ members: [EntryFormat.Members], keepsLargeValues: Bool) {
    whole = keepsLargeValues && fields.contains(where: \.isLarge) ? EntryWriter.payload(fields, members) : nil
    payload = EntryWriter.payload(fields.map(\.withoutLargeValues), members)
    references = Self.references(fields, members)
  }

  /// The changes of members that belong into the entry of a change.
  static func members(of change: RecordedChange, _ entity: RecordedEntity) -> [EntryFormat.Members] {
    change.members.filter(entity.recordsMembers).map { change in
      EntryFormat.Members(
        name: change.relationship.name, added: change.added.map(OutboxRecord.init),
        removed: change.removed.map(OutboxRecord.init), isReordered: change.isReordered, isOwner: change.isOwner)
    }
  }

  /// The values that belong into the entry of a change: all for an insert and a delete, the changed ones for an update.
  /// Only a delete has the server-assigned ones; see ``RecordedChange/isRecorded(_:isServerAssigned:)``.
  static func fields(of change: RecordedChange, _ entity: RecordedEntity) -> [EntryFormat.Field] {
    entity.fields.compactMap { field in
      guard change.isRecorded(field.slot, isServerAssigned: field.isServerAssigned) else { return nil }
      return EntryFormat.Field(
        name: field.name, base: change.base.map { OutboxValue(recording: $0[field.slot]) },
        value: change.row.map { OutboxValue(recording: $0[field.slot]) })
    }
  }

  /// Encodes the related records of an entry, each once in each role; `nil` without related records.
  static func references(_ fields: [EntryFormat.Field], _ members: [EntryFormat.Members]) -> Data? {
    var references: [EntryFormat.Reference] = []
    for field in fields {
      if let record = field.base?.record { references.append(EntryFormat.Reference(role: .base, record: record)) }
      if let record = field.value?.record { references.append(EntryFormat.Reference(role: .new, record: record)) }
    }
    for change in members {
      references += change.removed.map { EntryFormat.Reference(role: .base, record: $0) }
      references += change.added.map { EntryFormat.Reference(role: .new, record: $0) }
    }
    guard !references.isEmpty else { return nil }
    var seen: Set<EntryFormat.Reference> = []
    if references.count > 1 { references.removeAll { !seen.insert($0).inserted } }
    return EntryWriter.references(references)
  }
}

extension OutboxValue {
  /// Makes the value of a row's slot. The target of a relationship becomes an ``OutboxRecord``, which needs no model.
  init(recording value: AttributeValue) {
    if case .reference(let id) = value { self = .record(OutboxRecord(id)) } else { self = .value(value) }
  }

  /// The number of bytes of a text or data; zero for any other value.
  var byteCount: Int {
    switch self {
    case .value(.string(let text)): text.utf8.count
    case .value(.data(let data)): data.count
    default: 0
    }
  }

  /// The value without its bytes if it is large.
  var withoutLargeValue: OutboxValue {
    let count = byteCount
    return count > EntryFormat.largestInlineValue ? .omitted(byteCount: count) : self
  }
}

extension EntryFormat.Field {
  fileprivate var isLarge: Bool {
    max(base?.byteCount ?? 0, value?.byteCount ?? 0) > EntryFormat.largestInlineValue
  }

  fileprivate var withoutLargeValues: EntryFormat.Field {
    EntryFormat.Field(name: name, base: base?.withoutLargeValue, value: value?.withoutLargeValue)
  }
}
