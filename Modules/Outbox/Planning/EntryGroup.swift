/// Consecutive entries of one record that one request sends.
struct EntryGroup: Equatable {
  /// The common effect of the entries, which the request sends.
  enum Outcome: Equatable, Sendable {
    case insert, update, delete
    /// A delete of a record whose insert was attempted with an unknown result: the server may or may not have the
    /// record.
    case deleteOfUncertainInsert
    /// No request: the record was inserted and deleted, and the server never had the record.
    case nothing
  }

  /// The properties of an entry that determine its group.
  struct Facts: Equatable {
    var kind: OutboxEntryKind
    var state: OutboxEntryState
    /// Whether the server may have applied the entry: the entry was claimed, and the server did not refuse it.
    var isAttempted: Bool
    var sequence: Int64
    /// See ``OutboxEntryRecord/groupEnd``; `nil` for a refused entry too.
    var groupEnd: Int64?
  }

  /// The indices of the entries in the order of the record.
  var range: Range<Int>
  var outcome: Outcome
}

extension EntryGroup {
  /// Divides the entries of one record into groups, one for each request.
  ///
  /// - An insert absorbs the updates after it, an update absorbs the updates after it, and a delete absorbs the inserts
  ///   and updates before it.
  /// - An insert without an attempt and the delete of the same record form a group without a request.
  /// - A claimed group keeps its entries: its request is repeated with the same entries and the same key, and later
  ///   entries begin a new group. Only a delete absorbs a claimed group.
  /// - A parked entry begins a new group, because it waits for a decision of the user.
  ///
  /// - Parameter entries: All entries of the record, in the record's order.
  static func groups(of entries: [Facts]) -> [EntryGroup] {
    var groups: [EntryGroup] = []
    var index = 0
    while index < entries.count {
      var group = group(at: index, of: entries)
      // A delete absorbs the claimed groups before it too.
      while group.outcome == .delete, let last = groups.last, isAbsorbed(last, by: group, of: entries) {
        groups.removeLast()
        group.range = last.range.lowerBound..<group.range.upperBound
        if last.outcome == .insert { group.outcome = .deleteOfUncertainInsert }
      }
      index = group.range.upperBound
      groups.append(group)
    }
    return groups
  }

  /// Whether a delete absorbs the group before it: no entry of either group is parked.
  private static func isAbsorbed(_ group: EntryGroup, by delete: EntryGroup, of entries: [Facts]) -> Bool {
    guard group.outcome == .insert || group.outcome == .update else { return false }
    return entries[group.range.lowerBound..<delete.range.upperBound].allSatisfy { $0.state != .parked }
  }

  /// Returns the group whose first entry has an index.
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

  /// The index behind the claimed group that begins with an entry; `nil` for an unclaimed entry.
  static func claimedEnd(at first: Int, of entries: [Facts]) -> Int? {
    guard let groupEnd = entries[first].groupEnd else { return nil }
    if let last = entries[first...].firstIndex(where: { $0.sequence == groupEnd }) { return last + 1 }
    // The last entry of the group was dropped.
    return entries[first...].dropFirst().firstIndex { $0.sequence > groupEnd } ?? entries.count
  }
}

extension EntryGroup.Facts {
  /// Makes the properties of an entry. The server has certainly not applied a refused entry, so that the entry counts
  /// as never attempted, and its group can grow again.
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
  /// The properties that determine the group of the entry.
  var facts: EntryGroup.Facts {
    EntryGroup.Facts(
      kind: kind, state: state, isRejected: isRejected, sequence: sequence, groupEnd: groupEnd)
  }

  /// Whether the entry is readable and certainly in no request yet.
  var isUntried: Bool { isReadable && !facts.isAttempted && state == .pending }
}
