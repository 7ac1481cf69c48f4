/// The destination of a relationship, by key.
public enum MergeLink: Sendable, Hashable {
  /// No destination.
  case none
  /// The destination of a to-one relationship.
  case one(MergeKey)
  /// All members of a to-many relationship, in order where the relationship is ordered.
  case many([MergeKey])

  var keys: [MergeKey] {
    switch self {
    case .none: []
    case .one(let key): [key]
    case .many(let keys): keys
    }
  }
}
