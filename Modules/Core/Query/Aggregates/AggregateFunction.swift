/// A function that computes one value from the values of many records: of the records of a group, or of the members of
/// a to-many relationship.
///
/// Missing values are ignored. The results are the same on every store:
///
/// | function | values | result |
/// |---|---|---|
/// | ``count``, ``countDistinct`` | any | an integer |
/// | ``sum`` | integers | a 64-bit integer; 0 for no values |
/// | ``sum`` | decimals | a decimal, exact; 0 for no values |
/// | ``sum`` | floating-point numbers | a double; 0 for no values |
/// | ``average`` | integers, floating-point numbers | a double: the sum divided by the count; none for no values |
/// | ``average`` | decimals | a decimal: the exact sum divided by the count; none for no values |
/// | ``minimum``, ``maximum`` | any with an order | a value of the same type; none for no values |
///
/// A sum of integers or decimals does not depend on the order of the records. If the sum is out of the range of its
/// type, the fetch throws ``ErrorCode/arithmeticOverflow``. The store determines the order in which floating-point
/// numbers are added, so that the last digits of their sum may differ between stores. Infinities of both signs have no
/// sum.
public enum AggregateFunction: String, Sendable, Hashable, CaseIterable {
  /// The number of values of a property; without a property, the number of records.
  case count
  /// The number of different values. Texts differ by their UTF-8 bytes; `-0.0` equals `0.0`.
  case countDistinct
  /// The sum of numbers.
  case sum
  /// The arithmetic mean of numbers.
  case average
  /// The least value, in the order of fetches: texts by UTF-8 bytes, `false` before `true`.
  case minimum
  /// The greatest value, in the order of fetches.
  case maximum
}

extension AggregateFunction {
  /// The name of the function in paths, such as `@sum` in `tracks.@sum.length`.
  public var pathOperator: String {
    switch self {
    case .count: "@count"
    case .countDistinct: "@distinctCount"
    case .sum: "@sum"
    case .average: "@avg"
    case .minimum: "@min"
    case .maximum: "@max"
    }
  }

  /// The function with a name in paths, such as `@sum`; `nil` for an unknown name.
  init?(pathOperator name: String) {
    guard name.utf8.first == UInt8(ascii: "@"), let function = Self.allCases.first(where: { $0.pathOperator == name })
    else { return nil }
    self = function
  }

  /// The representation of the results, from the representation of the values; `nil` if the function is not defined for
  /// such values.
  package func result(for storage: StorageType) -> StorageType? {
    switch self {
    case .count, .countDistinct: .int64
    case .sum, .average:
      switch storage {
      case .int16, .int32, .int64: self == .sum ? .int64 : .double
      case .float, .double: .double
      case .decimal: .decimal
      case .bool, .string, .data, .date, .uuid, .reference: nil
      }
    case .minimum, .maximum: storage == .reference ? nil : storage
    }
  }

  /// The representation of the results for the values at the end of a path.
  ///
  /// - Parameter path: The path as the user wrote it, for the message.
  /// - Throws: ``ErrorCode/invalidFetchRequest`` naming the property, if the function is not defined for its values.
  func result(for operand: ResolvedPath, at path: String) throws(CoherenceError) -> StorageType {
    guard let storage = operand.storage else {
      throw CoherenceError(
        .invalidFetchRequest,
        "'\(path)' has many members and no single value; use an aggregate of an attribute of the members.")
    }
    guard let result = result(for: storage) else {
      let needed = self == .sum || self == .average ? "numbers" : "values with an order"
      throw CoherenceError(
        .invalidFetchRequest, "\(pathOperator) needs \(needed); the values of '\(path)' are of type \(storage).")
    }
    return result
  }
}

/// An aggregate function and the property whose values it reads.
public struct AggregateExpression: Sendable, Hashable {
  /// The function.
  public var function: AggregateFunction
  /// The path to an attribute or a to-one relationship, over to-one relationships if any; `nil` for the number of
  /// records.
  public var path: PropertyPath?

  /// Makes an aggregate of the values of a property; `nil` stands for the records themselves.
  public init(_ function: AggregateFunction, of path: PropertyPath? = nil) {
    self.function = function
    self.path = path
  }
}

extension ResolvedPath {
  /// The representation of the values at the end of the path; `nil` for the members of a to-many relationship.
  package var storage: StorageType? {
    switch target {
    case .attribute(let attribute): attribute.type.storage
    case .toOne, .identity: .reference
    case .toMany: nil
    case .aggregate(let aggregate): aggregate.storage
    }
  }

  /// The root of the hierarchy of the objects at the end of the path; `nil` for other values.
  var referencedRoot: EntityDescription? {
    switch target {
    case .toOne(let relationship): relationship.destination.root
    case .identity: owner.root
    case .attribute, .toMany, .aggregate: nil
    }
  }
}
