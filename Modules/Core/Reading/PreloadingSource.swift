/// A source that reads related records together.
protocol PreloadingSource: RecordSource where Record == RecordState {
  /// Reads the records at the end of a path together, so that ``RecordSource/target(of:from:)`` knows them.
  func preload(_ path: [RelationshipDescription], of records: some Sequence<RecordState>) throws
}

extension FetchPredicate {
  /// The to-one relationships that lead from the fetched record to the values of the predicate, without those of members.
  func preloadedPaths(from entity: EntityDescription) -> Set<[RelationshipDescription]> {
    Set(paths.compactMap { try? ResolvedPath($0, from: entity).steps }).filter { !$0.isEmpty }
  }

  /// The paths that the predicate reads from the fetched record.
  private var paths: [PropertyPath] {
    func paths(_ expressions: [FetchExpression]) -> [PropertyPath] {
      expressions.compactMap { expression in
        switch expression {
        case .value: nil
        case .path(let path), .count(let path): path
        }
      }
    }
    return switch self {
    case .constant: []
    case .comparison(let left, _, let right, _): paths([left, right])
    case .membership(let expression, _, _): paths([expression])
    case .between(let value, let lower, let upper): paths([value, lower, upper])
    case .and(let parts), .or(let parts): parts.flatMap(\.paths)
    case .not(let part): part.paths
    case .quantified(_, let path, _): [path]
    }
  }
}
