/// A record source with bulk reads of related records.
protocol PreloadingSource: RecordSource where Record == RecordState {
  /// Reads the records at the end of a path together, so that ``RecordSource/target(of:from:)`` knows them.
  func preload(_ path: [RelationshipDescription], of records: some Sequence<RecordState>) throws
}

extension FetchPredicate {
  /// The paths of to-one relationships from the fetched record to values of the predicate, without paths inside of
  /// conditions on members.
  func preloadedPaths(from entity: EntityDescription) -> Set<[RelationshipDescription]> {
    Set(paths.compactMap { try? ResolvedPath($0, from: entity).steps }).filter { !$0.isEmpty }
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
