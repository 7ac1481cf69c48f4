/// A record source with bulk reads of related records.
protocol PreloadingSource: RecordSource where Record == RecordState {
  /// Reads the records at the end of a path together, so that ``RecordSource/target(of:from:)`` knows them.
  func preload(_ path: [RelationshipDescription], of records: some Sequence<RecordState>) throws
  /// Reads the members of owners together, so that ``RecordSource/members(of:from:)`` knows them.
  func preload(members relationship: RelationshipDescription, of owners: [RecordState]) throws
  /// Reads the numbers of members of owners together, so that ``RecordSource/memberCount(of:from:)`` knows them.
  func preload(memberCounts relationship: RelationshipDescription, of owners: [RecordState]) throws
}

extension PreloadingSource {
  func id(of record: RecordState) -> ManagedObjectID { record.id }
  func entity(of record: RecordState) -> EntityDescription { record.entity }
  func value(_ slot: Int, of record: RecordState) throws -> AttributeValue { record[slot] }

  /// Reads the records together to which a path leads from records: the targets of its to-one relationships, and the
  /// members at its end.
  func preload(_ path: ResolvedPath, of records: [RecordState]) throws {
    if !path.steps.isEmpty { try preload(path.steps, of: records) }
    switch path.target {
    case .toMany(let relationship):
      try preload(members: relationship, of: owners(of: relationship, at: path, from: records))
    case .aggregate(let aggregate) where aggregate.operand == nil:
      let relationship = aggregate.relationship
      try preload(memberCounts: relationship, of: owners(of: relationship, at: path, from: records))
    case .aggregate(let aggregate):
      let relationship = aggregate.relationship
      let owners = try owners(of: relationship, at: path, from: records)
      try preload(members: relationship, of: owners)
      guard let operand = aggregate.operand?.toOtherRecords else { return }
      try preload(operand, of: try members(of: relationship, fromAny: owners))
    case .attribute, .toOne, .identity: break
    }
  }

  /// The owners of a relationship at the end of a path over to-one relationships, each once. The targets are preloaded.
  private func owners(
    of relationship: RelationshipDescription, at path: ResolvedPath, from records: [RecordState]
  ) throws -> [RecordState] {
    var owners = records
    for step in path.steps {
      var targets: [ManagedObjectID: RecordState] = [:]
      for owner in owners where owner.entity.isKind(of: step.entity) {
        if let next = try target(of: step, from: owner) { targets[next.id] = next }
      }
      owners = Array(targets.values)
    }
    return owners.filter { $0.entity.isKind(of: relationship.entity) }
  }

  /// Returns the members of owners, each once. The members are preloaded.
  private func members(
    of relationship: RelationshipDescription, fromAny owners: [RecordState]
  ) throws -> [RecordState] {
    var seen: Set<ManagedObjectID> = []
    var members: [RecordState] = []
    for owner in owners {
      for member in try self.members(of: relationship, from: owner) where seen.insert(member.id).inserted {
        members.append(member)
      }
    }
    return members
  }
}

extension PreloadingSource {
  /// Returns the rows whose records satisfy a predicate, as the function for records does.
  func matching(_ rows: [Row], _ predicate: PreparedPredicate, of entity: EntityDescription) throws -> [Row] {
    let records = rows.map { RecordState($0) }
    return try matchingIndices(of: records, predicate, of: entity).map { rows[$0] }
  }

  /// Returns the records that satisfy a predicate. Reads the related records of all records together, without the
  /// records that parts of a conjunction rule out by values of the records alone.
  ///
  /// - Parameter entity: The entity of the predicate.
  func matching(
    _ records: [RecordState], _ predicate: PreparedPredicate, of entity: EntityDescription
  ) throws -> [RecordState] {
    try matchingIndices(of: records, predicate, of: entity).map { records[$0] }
  }

  private func matchingIndices(
    of records: [RecordState], _ predicate: PreparedPredicate, of entity: EntityDescription
  ) throws -> [Int] {
    guard let split = predicate.split else {
      try preload(for: predicate.predicate, of: [PreloadingSubject(records: records, entity: entity)])
      return try records.indices.filter { try predicate.matches(records[$0], in: self) }
    }
    let candidates = records.indices.compactMap { index in
      split.remainder(for: records[index], in: self).map { Candidate(index: index, condition: $0) }
    }
    let subject = PreloadingSubject(records: candidates.map { records[$0.index] }, entity: entity)
    try preload(for: predicate.predicate, of: [subject])
    return try candidates.filter { try $0.condition.holds(for: records[$0.index], in: self) }.map(\.index)
  }

  /// Reads the related records together that a predicate reads, and then those that its conditions on members read.
  ///
  /// - Parameter subjects: The records of the conditions, from the outermost to the innermost.
  private func preload(for predicate: FetchPredicate, of subjects: [PreloadingSubject]) throws {
    guard subjects.last?.records.isEmpty == false else { return }
    let entities = subjects.map(\.entity)
    for (index, paths) in predicate.preloadedPaths(from: entities) {
      for path in paths { try preload(path, of: subjects[index].records) }
    }
    for (path, condition) in predicate.memberConditions {
      guard let index = path.subjectIndex(among: entities),
        let resolved = try? ResolvedPath(path, from: entities[index]),
        case .toMany(let relationship) = resolved.target,
        !condition.preloadedPaths(from: entities + [relationship.destination]).isEmpty
      else { continue }
      let owners = try owners(of: relationship, at: resolved, from: subjects[index].records)
      let members = try members(of: relationship, fromAny: owners)
      try preload(
        for: condition, of: subjects + [PreloadingSubject(records: members, entity: relationship.destination)])
    }
  }
}

/// The records of a condition, whose related records are read together.
private struct PreloadingSubject {
  let records: [RecordState]
  let entity: EntityDescription
}

/// The index of a record, and the condition that still decides about the record.
private struct Candidate {
  let index: Int
  let condition: Condition
}

extension ResolvedPath {
  /// The part of the path that leads to other records; `nil` for a value of the record itself.
  var toOtherRecords: ResolvedPath? {
    switch target {
    case .toMany, .aggregate: return self
    case .attribute, .toOne, .identity:
      guard !steps.isEmpty else { return nil }
      // Paths to several values of one record are the same path.
      var path = self
      path.target = .identity
      return path
    }
  }
}

extension PropertyPath {
  /// The index of the record from which the path begins among the records around it, the outermost first; `nil` for a
  /// path that begins outside of them.
  fileprivate func subjectIndex(among subjects: [EntityDescription]) -> Int? {
    let index = subjects.count - 1 - outerLevel
    return subjects.indices.contains(index) ? index : nil
  }
}

extension FetchPredicate {
  /// The paths to other records that the predicate reads, without paths inside of conditions on members, by the index
  /// of the record from which they begin.
  ///
  /// - Parameter subjects: The entities of the records around the predicate, from the outermost to the innermost.
  fileprivate func preloadedPaths(from subjects: [EntityDescription]) -> [Int: Set<ResolvedPath>] {
    var result: [Int: Set<ResolvedPath>] = [:]
    for path in paths {
      guard let index = path.subjectIndex(among: subjects),
        let resolved = (try? ResolvedPath(path, from: subjects[index]))?.toOtherRecords
      else { continue }
      result[index, default: []].insert(resolved)
    }
    return result
  }

  /// The outermost conditions on members, with the paths to the members.
  fileprivate var memberConditions: [(path: PropertyPath, condition: FetchPredicate)] {
    switch self {
    case .constant: []
    case .comparison(let left, _, let right, _): left.memberConditions + right.memberConditions
    case .membership(let expression, _, _), .list(let expression, _, _, _): expression.memberConditions
    case .between(let value, let lower, let upper):
      value.memberConditions + lower.memberConditions + upper.memberConditions
    case .and(let parts), .or(let parts): parts.flatMap(\.memberConditions)
    case .not(let part): part.memberConditions
    case .quantified(_, let path, let condition): [(path, condition)]
    }
  }

  /// The paths that the predicate reads, without paths inside of conditions on members.
  private var paths: [PropertyPath] {
    switch self {
    case .constant: []
    case .comparison(let left, _, let right, _): left.preloadedPaths + right.preloadedPaths
    case .membership(let expression, _, _), .list(let expression, _, _, _): expression.preloadedPaths
    case .between(let value, let lower, let upper):
      value.preloadedPaths + lower.preloadedPaths + upper.preloadedPaths
    case .and(let parts), .or(let parts): parts.flatMap(\.paths)
    case .not(let part): part.paths
    case .quantified(_, let path, _): [path]
    }
  }
}

extension FetchExpression {
  /// The conditions on members in the expression, with the paths to the members.
  fileprivate var memberConditions: [(path: PropertyPath, condition: FetchPredicate)] {
    switch self {
    case .subquery(let path, let condition): [(path, condition)]
    case .arithmetic(_, let left, let right): left.memberConditions + right.memberConditions
    case .count, .value, .path, .variable: []
    }
  }

  /// The paths that the expression reads from the fetched record. The path of a number of members ends at the number.
  fileprivate var preloadedPaths: [PropertyPath] {
    switch self {
    case .count(let path): [path.counted]
    case .arithmetic(_, let left, let right): left.preloadedPaths + right.preloadedPaths
    case .value, .path, .subquery, .variable: paths
    }
  }
}
