import CoherenceCore

// The filter of a merge, which says what records the input would name.

extension PendingReconciliation {
  /// Whether an update here has moved a record into the filter of the merge. The server still has the record outside of the
  /// filter, so that the lack of the record in the input is no deletion. An edit of members that the filter reads counts
  /// as such an update, because a row does not show its former members.
  ///
  /// - Parameter row: The stored row, which satisfies the filter.
  func isMovedIntoFilter(_ row: Row, by edit: PendingEdit) throws -> Bool {
    guard let filter, edit.kind == .update else { return false }
    if !filteredNames.isDisjoint(with: edit.members.keys) { return true }
    guard !filteredNames.isDisjoint(with: edit.changed) else { return false }
    let values = (0..<row.entity.slotCount).map { slot in
      let name = row.entity.slots[slot].name
      return filteredNames.contains(name) ? edit.base[name] ?? row[slot] : row[slot]
    }
    let former = Row.make(id: row.id, entity: row.entity, version: row.version, values: values)
    return try !context.satisfies(filter, stored: former)
  }
}

extension FetchPredicate {
  /// The names of the record's own properties that a resolved predicate reads, or over which it reads other records.
  var ownNames: Set<String> { Set(ownPaths.compactMap(\.names.first)) }

  private var ownPaths: [PropertyPath] {
    switch self {
    case .constant: []
    case .comparison(let left, _, let right, _): left.paths + right.paths
    case .membership(let expression, _, _), .list(let expression, _, _, _): expression.paths
    case .between(let value, let lower, let upper): value.paths + lower.paths + upper.paths
    case .and(let parts), .or(let parts): parts.flatMap(\.ownPaths)
    case .not(let part): part.ownPaths
    case .quantified(_, let path, _): [path]
    }
  }
}
