/// A record source with bulk reads of related records.
protocol PreloadingSource: RecordSource where Record == RecordState {
  /// Reads the records at the end of a path together, so that ``RecordSource/target(of:from:)`` knows them.
  func preload(_ path: [RelationshipDescription], of records: some Sequence<RecordState>) throws
  /// Reads the members of owners together, so that ``RecordSource/members(of:from:)`` knows them.
  func preload(members relationship: RelationshipDescription, of owners: [RecordState]) throws
}

extension PreloadingSource {
  /// Returns the rows that satisfy a predicate. Reads the related records of all rows together, without the rows that
  /// parts of a conjunction rule out by values of the rows alone.
  ///
  /// - Parameter entity: The entity of the predicate.
  func matching(_ rows: [Row], _ predicate: PreparedPredicate, of entity: EntityDescription) throws -> [Row] {
    guard let split = predicate.split else {
      let records = rows.map { RecordState($0) }
      try preload(for: predicate.predicate, of: records, from: entity)
      return try zip(rows, records).filter { try predicate.matches($0.1, in: self) }.map(\.0)
    }
    let candidates = rows.compactMap { row -> Candidate? in
      let record = RecordState(row)
      guard let remainder = split.remainder(for: record, in: self) else { return nil }
      return Candidate(row: row, record: record, condition: remainder)
    }
    try preload(for: predicate.predicate, of: candidates.map(\.record), from: entity)
    return try candidates.filter { try $0.condition.holds(for: $0.record, in: self) }.map(\.row)
  }

  /// Reads the related records together that a predicate reads.
  private func preload(
    for predicate: FetchPredicate, of records: [RecordState], from entity: EntityDescription
  ) throws {
    guard !records.isEmpty else { return }
    for path in predicate.preloadedPaths(from: entity) { try preload(path, of: records) }
    for relationship in predicate.preloadedMembers(of: entity) {
      try preload(members: relationship, of: records.filter { $0.entity.isKind(of: relationship.entity) })
    }
  }
}

/// A row with the condition that still decides about it.
private struct Candidate {
  let row: Row
  let record: RecordState
  let condition: Condition
}

extension FetchPredicate {
  /// The paths of to-one relationships from the fetched record to values of the predicate, without paths inside of
  /// conditions on members.
  func preloadedPaths(from entity: EntityDescription) -> Set<[RelationshipDescription]> {
    Set(paths.compactMap { try? ResolvedPath($0, from: entity).steps }).filter { !$0.isEmpty }
  }

  /// The relationships of the fetched record whose members have conditions.
  func preloadedMembers(of entity: EntityDescription) -> Set<RelationshipDescription> {
    Set(
      memberPaths.compactMap { path in
        guard let resolved = try? ResolvedPath(path, from: entity), resolved.steps.isEmpty,
          case .toMany(let relationship) = resolved.target
        else { return nil }
        return relationship
      })
  }

  /// The paths to members with conditions.
  private var memberPaths: [PropertyPath] {
    switch self {
    case .and(let parts), .or(let parts): parts.flatMap(\.memberPaths)
    case .not(let part): part.memberPaths
    case .quantified(_, let path, _): [path]
    case .constant, .comparison, .membership, .list, .between: []
    }
  }

  /// The paths that the predicate reads from the fetched record.
  private var paths: [PropertyPath] {
    switch self {
    case .constant: []
    case .comparison(let left, _, let right, _): left.paths + right.paths
    case .membership(let expression, _, _), .list(let expression, _, _, _): expression.paths
    case .between(let value, let lower, let upper): value.paths + lower.paths + upper.paths
    case .and(let parts), .or(let parts): parts.flatMap(\.paths)
    case .not(let part): part.paths
    case .quantified(_, let path, _): [path]
    }
  }
}
