/// What a relationship leads to.
public enum MergeLink: Sendable, Hashable {
  /// To nothing.
  case none
  /// A to-one relationship's destination.
  case one(MergeKey)
  /// A to-many relationship's members; all of them, in order if the relationship has one.
  case many([MergeKey])

  var keys: [MergeKey] {
    switch self {
    case .none: []
    case .one(let key): [key]
    case .many(let keys): keys
    }
  }
}
