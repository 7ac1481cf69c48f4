/// A column of the rows of an ``AggregateRequest``: a group key, or an aggregate of the records of a group.
///
/// A string literal is a group key or an expression, by its own name: `"album.title"`, `"@count"`, `"@sum.length"`.
public struct ResultColumn: Sendable, Hashable {
  /// The name of the column in rows, in the having predicate and in the order.
  public var name: String
  /// The expression as text: the path of a group key, or a function such as `@sum` with the path of its values.
  public var expression: String

  /// Makes a column of an expression. Without a name, the expression is the name.
  public init(named name: String? = nil, expression: String) {
    self.name = name ?? expression
    self.expression = expression
  }

  /// A group key.
  public static func property(_ path: String, named name: String? = nil) -> ResultColumn {
    ResultColumn(named: name, expression: path)
  }

  /// The number of records of the group.
  public static var count: ResultColumn { count() }

  /// The number of records of the group; with a property, the number of records with a value of the property.
  public static func count(of path: String? = nil, named name: String? = nil) -> ResultColumn {
    ResultColumn(.count, path, name)
  }

  /// The number of different values of a property.
  public static func countDistinct(of path: String, named name: String? = nil) -> ResultColumn {
    ResultColumn(.countDistinct, path, name)
  }

  /// The sum of an attribute; 0 for no values.
  public static func sum(of path: String, named name: String? = nil) -> ResultColumn { ResultColumn(.sum, path, name) }

  /// The average of an attribute; null for no values.
  public static func average(of path: String, named name: String? = nil) -> ResultColumn {
    ResultColumn(.average, path, name)
  }

  /// The least value of an attribute; null for no values.
  public static func minimum(of path: String, named name: String? = nil) -> ResultColumn {
    ResultColumn(.minimum, path, name)
  }

  /// The greatest value of an attribute; null for no values.
  public static func maximum(of path: String, named name: String? = nil) -> ResultColumn {
    ResultColumn(.maximum, path, name)
  }

  private init(_ function: AggregateFunction, _ path: String?, _ name: String?) {
    self.init(named: name, expression: ([function.pathOperator] + (path.map { [$0] } ?? [])).joined(separator: "."))
  }
}

extension ResultColumn: ExpressibleByStringLiteral {
  /// Makes a column of an expression, which is also its name.
  public init(stringLiteral value: String) { self.init(expression: value) }
}
