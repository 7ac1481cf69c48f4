import CoherenceCore

/// Combines the changes of consecutive entries of one record into one change for each property: the changes of the
/// single request that sends the entries.
struct MergedChanges {
  private let first: OutboxEntry
  private var last: OutboxEntry
  /// The changes of attributes and to-one relationships, each with its first base and its last value.
  private var fields: [OutboxChange]
  /// The indices in ``fields``, by the names of the properties.
  private var indices: [String: Int]
  /// The changes of to-many relationships, without those that later entries have undone.
  private var combinedMembers: [CombinedMembers]

  /// The combined changes of members, by relationship.
  var members: [OutboxMembers] { combinedMembers.map(\.change) }

  init(_ entry: OutboxEntry) {
    first = entry
    last = entry
    let changes = entry.changes
    fields = changes
    indices = Dictionary(changes.indices.map { (changes[$0].name, $0) }, uniquingKeysWith: { first, _ in first })
    combinedMembers = entry.members.map(CombinedMembers.init)
  }

  /// Adds the next entry of the record.
  mutating func add(_ entry: OutboxEntry) {
    last = entry
    for change in entry.changes {
      if let index = indices[change.name] {
        fields[index].value = change.value
        // An insert has no base. The value that it sends is the base of the later change.
        fields[index].base = fields[index].base ?? change.base
      } else {
        indices[change.name] = fields.count
        fields.append(change)
      }
    }
    for change in entry.members { add(change) }
  }

  private mutating func add(_ change: OutboxMembers) {
    guard let index = combinedMembers.firstIndex(where: { $0.name == change.name }) else {
      return combinedMembers.append(CombinedMembers(change))
    }
    combinedMembers[index].add(change)
    if combinedMembers[index].isEmpty { combinedMembers.remove(at: index) }
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
  /// Whether the last value equals the first base. `false` with an omitted value: the copy of a large value has its
  /// size alone, which another value may have too.
  fileprivate var isUndone: Bool { base != nil && base == value && !hasOmittedValue }
}

/// The combined change of one relationship's members by consecutive entries. A member that is added and later removed,
/// or removed and later added, is no change.
///
/// A further entry costs as much as the entry's own members, however many members the earlier entries have: a user may
/// add thousands of members one by one while the server is unreachable.
private struct CombinedMembers {
  private let first: OutboxMembers
  private var added: Set<OutboxRecord>
  private var removed: Set<OutboxRecord>
  private var isReordered: Bool
  /// Whether the change of a further entry was added.
  private var isCombined = false

  init(_ change: OutboxMembers) {
    first = change
    added = Set(change.added)
    removed = Set(change.removed)
    isReordered = change.isReordered
  }

  var name: String { first.name }
  var isEmpty: Bool { added.isEmpty && removed.isEmpty && !isReordered }

  mutating func add(_ later: OutboxMembers) {
    isCombined = true
    let addedLater = later.added.filter { !removed.contains($0) }
    let removedLater = later.removed.filter { !added.contains($0) }
    added.subtract(later.removed)
    added.formUnion(addedLater)
    removed.subtract(later.added)
    removed.formUnion(removedLater)
    isReordered = isReordered || later.isReordered
  }

  /// The combined change; the change of a single entry as it was recorded.
  var change: OutboxMembers {
    guard isCombined else { return first }
    var change = first
    change.added = Self.sorted(added)
    change.removed = Self.sorted(removed)
    change.isReordered = isReordered
    return change
  }

  /// The records in an order that does not depend on the process.
  private static func sorted(_ records: Set<OutboxRecord>) -> [OutboxRecord] {
    records.sorted { ($0.rootName, $0.key) < ($1.rootName, $1.key) }
  }
}
