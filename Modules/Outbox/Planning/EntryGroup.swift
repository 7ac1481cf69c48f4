/// Entries of one record that one request stands for.
struct EntryGroup: Equatable {
  /// What remains to be sent.
  enum Outcome: Equatable, Sendable {
    case insert, update, delete
    /// A delete of a record whose insert was attempted, so that the server may or may not have the record.
    case deleteOfUncertainInsert
    /// Nothing: the record was inserted and deleted, and the server never had it.
    case nothing
  }

  /// The properties of an entry that decide about groups.
  struct Facts: Equatable {
    var kind: OutboxEntryKind
    var state: OutboxEntryState
    /// Whether a request with the entry may have reached the server: the entry was claimed, and the server did not
    /// refuse it.
    var isAttempted: Bool
    var sequence: Int64
    var groupEnd: Int64?
  }

  /// The positions of the entries in the record's order.
  var range: Range<Int>
  var outcome: Outcome
}

extension EntryGroup {
  /// Divides the entries of one record into groups, each of which one request stands for.
  ///
  /// - An insert takes in the updates that follow, an update takes in updates, and a delete takes in everything before
  ///   it.
  /// - An insert that was never attempted and its delete leave nothing.
  /// - A group that was claimed has an end: its request is repeated with the same entries and the same key, so that
  ///   later entries begin a group of their own. Only a delete takes in such a group.
  /// - A parked entry begins a group of its own, because it waits for a decision.
  ///
  /// - Parameter entries: All entries of the record, in the record's order.
  static func groups(of entries: [Facts]) -> [EntryGroup] {
    var groups: [EntryGroup] = []
    var index = 0
    while index < entries.count {
      var group = group(at: index, of: entries)
      // A delete takes in the claimed group before it too.
      while group.outcome == .delete, let last = groups.last, canTakeIn(last, before: group, of: entries) {
        groups.removeLast()
        group.range = last.range.lowerBound..<group.range.upperBound
        if last.outcome == .insert { group.outcome = .deleteOfUncertainInsert }
      }
      index = group.range.upperBound
      groups.append(group)
    }
    return groups
  }

  /// Whether a delete takes in the group before it.
  private static func canTakeIn(_ group: EntryGroup, before delete: EntryGroup, of entries: [Facts]) -> Bool {
    guard group.outcome == .insert || group.outcome == .update else { return false }
    return entries[group.range.lowerBound..<delete.range.upperBound].allSatisfy { $0.state != .parked }
  }

  /// The group that begins with an entry.
  private static func group(at first: Int, of entries: [Facts]) -> EntryGroup {
    let end = claimedEnd(at: first, of: entries)
    var outcome = Outcome(entries[first].kind)
    var index = first + 1
    while index < entries.count, outcome == .insert || outcome == .update {
      if let end, index >= end { break }
      let next = entries[index]
      guard next.state != .parked, next.groupEnd == nil || index < end ?? first else { break }
      switch next.kind {
      case .insert: return EntryGroup(range: first..<index, outcome: outcome)
      case .update: break
      case .delete:
        guard outcome == .insert else {
          outcome = .delete
          break
        }
        outcome = entries[first].isAttempted ? .deleteOfUncertainInsert : .nothing
      }
      index += 1
    }
    return EntryGroup(range: first..<index, outcome: outcome)
  }

  /// The end of the claimed group that begins with an entry; `nil` when the entry was not claimed.
  private static func claimedEnd(at first: Int, of entries: [Facts]) -> Int? {
    guard let groupEnd = entries[first].groupEnd else { return nil }
    if let last = entries[first...].firstIndex(where: { $0.sequence == groupEnd }) { return last + 1 }
    // The last entry of the group was dropped.
    return entries[first...].dropFirst().firstIndex { $0.sequence > groupEnd } ?? entries.count
  }
}

extension EntryGroup.Facts {
  /// The properties of an entry. The server does not have the content of a refused entry, so that the entry counts as
  /// never attempted, and its group has no end yet.
  init(kind: OutboxEntryKind, state: OutboxEntryState, isRejected: Bool, sequence: Int64, groupEnd: Int64?) {
    self.init(
      kind: kind, state: state, isAttempted: groupEnd != nil && !isRejected, sequence: sequence,
      groupEnd: isRejected ? nil : groupEnd)
  }
}

extension EntryGroup.Outcome {
  fileprivate init(_ kind: OutboxEntryKind) {
    switch kind {
    case .insert: self = .insert
    case .update: self = .update
    case .delete: self = .delete
    }
  }
}

extension OutboxEntry {
  /// The properties that decide about groups.
  var facts: EntryGroup.Facts {
    EntryGroup.Facts(
      kind: kind, state: state, isRejected: isRejected, sequence: sequence, groupEnd: groupEnd)
  }
}
