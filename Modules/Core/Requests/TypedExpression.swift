public import Foundation

extension FetchPredicate {
  /// A predicate as a typed expression.
  ///
  /// ```swift
  /// FetchPredicate.where(Album.self) { $0.year > 1990 && $0.artist.name.hasPrefix("A") }
  /// ```
  public static func `where`<Root: KeyPathNaming>(
    _ type: Root.Type, _ condition: (QueryScope<Root>) -> FetchPredicate
  ) -> FetchPredicate {
    condition(QueryScope())
  }

  /// Whether both predicates are satisfied.
  public static func && (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    guard case .and(let parts) = left else { return .and([left, right]) }
    return .and(parts + [right])
  }

  /// Whether at least one of the predicates is satisfied.
  public static func || (left: FetchPredicate, right: FetchPredicate) -> FetchPredicate {
    guard case .or(let parts) = left else { return .or([left, right]) }
    return .or(parts + [right])
  }

  /// Whether the predicate is not satisfied.
  public static prefix func ! (predicate: FetchPredicate) -> FetchPredicate { .not(predicate) }
}

extension FetchRequest where Result: KeyPathNaming {
  /// Returns the request with a further condition: records must satisfy both.
  public func filter(_ condition: (QueryScope<Result>) -> FetchPredicate) -> FetchRequest {
    filter(condition(QueryScope()))
  }

  /// Returns the request with a further, less significant criterion of order: an attribute, over to-one relationships
  /// if any.
  public func sort<Value: AttributeConvertible>(
    ascending: Bool = true, options: StringOptions = [], by attribute: (QueryScope<Result>) -> QueryAttribute<Value>
  ) -> FetchRequest {
    var request = self
    request.sortKeys.append(SortKey(attribute(QueryScope()).path, ascending: ascending, options: options))
    return request
  }

  /// Returns the request with a further, less significant criterion of order: an attribute of the records.
  public func sort<Value: AttributeConvertible>(
    _ keyPath: KeyPath<Result, Value>, order: SortOrder = .forward, options: StringOptions = []
  ) -> FetchRequest {
    var request = self
    request.sortKeys.append(SortKey(keyPath, order: order, options: options))
    return request
  }
}

extension SortKey {
  /// A criterion by key path.
  public init<Root: KeyPathNaming, Value: AttributeConvertible>(
    _ keyPath: KeyPath<Root, Value>, order: SortOrder = .forward, options: StringOptions = []
  ) {
    let path = PropertyPath(names: [Root.propertyName(of: keyPath)])
    self.init(path, ascending: order == .forward, options: options)
  }
}

extension QueryAttribute {
  /// The path of the attribute. A count has no order: its path is the relationship's, which an order refuses.
  fileprivate var path: PropertyPath {
    switch expression {
    case .path(let path), .count(let path): path
    case .value: .own
    }
  }
}
