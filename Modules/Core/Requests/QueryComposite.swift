extension QueryScope {
  /// A `codable` attribute. Conditions can only test whether it has a value.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Root.Properties, CodableKey<Value>>) -> QueryCodable {
    QueryCodable(expression: .path(path(Root.Properties.table[keyPath: keyPath].name)))
  }

  /// A composite.
  public subscript<Value>(dynamicMember keyPath: KeyPath<Root.Properties, CompositeKey<Value>>)
    -> QueryComposite<Value>
  {
    QueryComposite(of: start, name: Root.Properties.table[keyPath: keyPath].name)
  }
}

/// A `codable` attribute in a typed expression.
public struct QueryCodable {
  let expression: FetchExpression

  /// Whether the value is missing.
  public var isNil: FetchPredicate { .comparison(expression, .equal, .value(.null)) }
}

/// A composite in a typed expression.
///
/// ```swift
/// FetchRequest(Poster.self).filter { $0.size.width > 30 }.sort(\.size.height)
/// ```
/// A part is looked up in the table of the composite's type, so that an unknown part is a compile-time error. The parts
/// of a type without a table are found by their names. A part of a missing composite is missing.
@dynamicMemberLookup
public struct QueryComposite<Value: CompositeValue> {
  /// The path to the object.
  private let owner: PropertyPath
  private let name: String

  init(of owner: PropertyPath, name: String) {
    self.owner = owner
    self.name = name
  }

  /// A part of the composite.
  public subscript<Part: AttributeConvertible>(dynamicMember keyPath: KeyPath<Value.Parts, PartKey<Part>>)
    -> QueryAttribute<Part>
  {
    QueryAttribute(expression(Value.Parts.table[keyPath: keyPath].name))
  }

  /// A part with parts of its own: a composite within the composite.
  public subscript<Part: CompositeValue>(dynamicMember keyPath: KeyPath<Value.Parts, PartKey<Part>>)
    -> QueryComposite<Part>
  {
    QueryComposite<Part>(of: owner, name: "\(name).\(Value.Parts.table[keyPath: keyPath].name)")
  }

  /// A part of the composite by its name, with dots for the parts of an inner composite.
  public subscript<Part: AttributeConvertible>(name: String, as type: Part.Type = Part.self) -> QueryAttribute<Part> {
    QueryAttribute(expression(name))
  }

  /// Whether all parts are missing.
  public var isNil: FetchPredicate {
    .and(Value.compositeParts.map { .comparison(expression($0.name), .equal, .value(.null)) })
  }

  /// Whether all parts equal the parts of a value.
  public static func == (left: QueryComposite, right: Value) -> FetchPredicate {
    var writer = CompositeWriter()
    right.write(to: &writer)
    return .and(
      zip(Value.compositeParts, writer.values).map { part, value in
        .comparison(left.expression(part.name), .equal, .value(value))
      })
  }

  /// Whether a part differs from the part of a value.
  public static func != (left: QueryComposite, right: Value) -> FetchPredicate { .not(left == right) }

  private func expression(_ part: String) -> FetchExpression {
    .path(owner.appending(["\(name).\(part)"]))
  }
}
