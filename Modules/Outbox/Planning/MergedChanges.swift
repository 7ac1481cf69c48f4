import CoherenceCore

/// Combines the changes of consecutive entries of one record into one change for each property.
struct MergedChanges {
  private let first: OutboxEntry
  private var last: OutboxEntry
  private var fields: [OutboxChange]
  /// The indices in ``fields``, by the names of the properties.
  private var indices: [String: Int]
  private(set) var members: [OutboxMembers]

  init(_ entry: OutboxEntry) {
    first = entry
    last = entry
    let changes = entry.changes
    fields = changes
    indices = Dictionary(changes.indices.map { (changes[$0].name, $0) }, uniquingKeysWith: { first, _ in first })
    members = entry.members
  }

  /// Adds the next entry of the record.
  mutating func add(_ entry: OutboxEntry) {
    last = entry
    for change in entry.changes {
      if let index = indices[change.name] {
        fields[index].value = change.value
        fields[index].base = fields[index].base ?? change.base
      } else {
        indices[change.name] = fields.count
        fields.append(change)
      }
    }
    for change in entry.members { add(change) }
  }

  /// Adds a change of members. A member that is added and later removed, or removed and later added, is no change.
  private mutating func add(_ change: OutboxMembers) {
    guard let index = members.firstIndex(where: { $0.name == change.name }) else { return members.append(change) }
    let (added, removed) = (Set(members[index].added), Set(members[index].removed))
    let (addedLater, removedLater) = (Set(change.added), Set(change.removed))
    members[index].added = Self.sorted(added.subtracting(removedLater).union(addedLater.subtracting(removed)))
    members[index].removed = Self.sorted(removed.subtracting(addedLater).union(removedLater.subtracting(added)))
    members[index].isReordered = members[index].isReordered || change.isReordered
    if members[index].added.isEmpty, members[index].removed.isEmpty, !members[index].isReordered {
      members.remove(at: index)
    }
  }

  private static func sorted(_ records: Set<OutboxRecord>) -> [OutboxRecord] {
    records.sorted { ($0.rootName, $0.key) < ($1.rootName, $1.key) }
  }

  /// The combined changes in the form for a request of a kind: an insert has no bases, a delete no values, and an
  /// update no property that regained its first value.
  func changes(of kind: OutboxEntryKind) -> [OutboxChange] {
    switch kind {
    case .insert:
      fields.map { field in
        var field = field
        field.base = nil
        return field
      }
    case .update: fields.filter { !$0.isUndone }
    case .delete:
      fields.compactMap { field in
        var field = field
        field.value = nil
        return field.base == nil ? nil : field
      }
    }
  }

  /// The identifying values that the server has for the record; for an insert, the values that the request sends.
  func identity(of kind: OutboxEntryKind) -> [String: AttributeValue] {
    var identity = first.identity
    guard first.kind == .insert else { return identity }
    // The insert sends the latest values. The delete of an attempted insert has the latest values too.
    if kind == .delete { return last.identity }
    for name in identity.keys {
      if let index = indices[name], let value = fields[index].value?.attributeValue { identity[name] = value }
    }
    return identity
  }
}

extension OutboxChange {
  /// Whether the last value equals the first base. False for omitted values, which cannot be compared.
  fileprivate var isUndone: Bool { base != nil && base == value && !hasOmittedValue }
}
