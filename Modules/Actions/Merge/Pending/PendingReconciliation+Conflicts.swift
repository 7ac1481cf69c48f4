import CoherenceCore

/// The ends of conflicts, for which the input shows that the user has nothing to decide any more.
extension PendingReconciliation {
  /// Whether the input ends the conflict of an update: the server has each property of the conflict as the store has it
  /// or as before the edit, or the edit of the property is discarded.
  ///
  /// - Parameter values: The values of the input record, by slot.
  func endsConflict(_ edit: PendingEdit, _ row: Row, _ values: [IncomingValue?], discarded: Set<String>) -> Bool {
    guard let conflict = edit.conflict else { return false }
    return conflict.names.allSatisfy { name in
      if discarded.contains(name) { return true }
      guard let slot = row.entity.slots.firstIndex(where: { $0.name == name }), slot < values.count,
        let value = values[slot]
      else { return false }
      return value == .value(row[slot]) || conflict.isTakenBack(by: value, edit, name)
    }
  }

  /// Whether a value of the input is the server's side of an edit's conflict, over which a user has to decide.
  func isInConflict(_ value: IncomingValue, _ name: String, _ edit: PendingEdit) -> Bool {
    guard let conflict = edit.conflict, conflict.names.contains(name), let server = conflict.serverValues?[name] else {
      return false
    }
    return value == .value(server)
  }

  /// Whether the input ends the conflict of a pending deletion. The values of the input record are those from before
  /// the deletion, or the server had deleted the record too.
  func endsConflict(_ deletion: PendingEdit, _ values: [String: AttributeValue]) -> Bool {
    guard let conflict = deletion.conflict else { return false }
    // The server had deleted the record too, and has inserted it again.
    if conflict.serverValues == nil { return true }
    guard !conflict.names.isEmpty else { return false }
    return conflict.names.allSatisfy { name in
      values[name].map { conflict.isTakenBack(by: .value($0), deletion, name) } ?? false
    }
  }

  /// Ends the conflicts over records that equal the input.
  ///
  /// - Parameter updated: The indexes of the input records that differ from their records.
  func endConflictsOfMatches(besides updated: Set<Int>, _ incoming: Incoming) throws {
    let equal = matches.filter { !updated.contains($0.index) && conflictingUpdates[$0.id] != nil }
    let rows = try context.rows(of: equal.map(\.id))
    for match in equal {
      guard let edit = conflictingUpdates[match.id], !edit.isFixed, let row = rows[match.id] else { continue }
      let values = try values(match.index, of: row, incoming)
      // A record that the condition protects is among the matches too, and differs.
      let isEqual = values.indices.allSatisfy { slot in values[slot].map { $0 == .value(row[slot]) } ?? true }
      guard isEqual, endsConflict(edit, row, values, discarded: []) else { continue }
      decide(over: edit, serverValues: namedValues(values, row.entity), isConflict: false, endsConflict: true)
    }
  }

  /// Ends the conflicts over records that the server has deleted too.
  ///
  /// - Parameter isAbsent: Whether the server has no record with a key.
  func endConflictsOfDeletions(where isAbsent: (MergeKey) throws -> Bool) rethrows {
    for (key, edit) in pendingDeletions where edit.conflict != nil && !edit.isFixed {
      if try isAbsent(key) { decide(over: edit, serverValues: nil, isConflict: false, endsConflict: true) }
    }
  }
}

extension PendingConflict {
  /// Whether the server had another value in the conflict, and has now a value from before the edit or from the edit.
  fileprivate func isTakenBack(by value: IncomingValue, _ edit: PendingEdit, _ name: String) -> Bool {
    guard let former = serverValues?[name] else { return false }
    return value != .value(former) && value.isKnown(to: edit, name)
  }
}
