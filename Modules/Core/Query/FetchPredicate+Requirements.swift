extension FetchPredicate {
  /// The necessary conditions of the predicate with the form "the property has one of these values". Stores find
  /// candidates for them by an index.
  package var requirements: [(path: PropertyPath, values: [AttributeValue])] {
    switch self {
    case .and(let parts): parts.flatMap(\.requirements)
    case .comparison(.path(let path), .equal, .value(let value), let options) where options.isEmpty: [(path, [value])]
    case .comparison(.value(let value), .equal, .path(let path), let options) where options.isEmpty: [(path, [value])]
    case .membership(.path(let path), in: let values, let options) where options.isEmpty: [(path, values)]
    default: []
    }
  }
}

extension AttributeType {
  /// Whether a value of the type equals only itself in predicates. `false` for fractional numbers, which are equal
  /// across types.
  package func hasOnly(_ value: AttributeValue) -> Bool {
    switch value {
    case .bool, .int, .string, .data, .date, .uuid: (try? checked(value)) == value
    case .null, .double, .decimal, .reference: false
    }
  }
}
