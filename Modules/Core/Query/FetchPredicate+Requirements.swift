extension FetchPredicate {
  /// What must hold of properties for the predicate to hold, where it is that a property has one of some values.
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
  /// Whether predicates find no other value of the type equal to the given one. Numbers with fractions compare across types,
  /// so that it is not so for them.
  package func hasOnly(_ value: AttributeValue) -> Bool {
    switch value {
    case .bool, .int, .string, .data, .date, .uuid: (try? checked(value)) == value
    case .null, .double, .decimal, .reference: false
    }
  }
}
