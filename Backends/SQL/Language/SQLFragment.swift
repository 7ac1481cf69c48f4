package import CoherenceCore

/// A piece of SQL: text, names and values, kept apart until a dialect renders them.
///
/// Values of records are never text. A fragment is written as a string literal, in which only names, values, numbers of
/// the program and other fragments can be interpolated:
///
/// ```swift
/// let fragment: SQLFragment = "SELECT \(name: column) FROM \(name: table) WHERE \(name: "$id") = \(key: 7)"
/// ```
package struct SQLFragment: Sendable {
  package enum Segment: Sendable {
    /// SQL as it stands.
    case text(String)
    /// A name, to be quoted.
    case name(String)
    /// A value, to be bound.
    case value(AttributeValue, StorageType)
    /// The right side of a membership, with its operator: `IN (?, ?)` for values bound one by one, or `= ANY($1)` for
    /// one bound array.
    case list([AttributeValue], StorageType)
  }
  package var segments: [Segment] = []

  package init() {}
  package init(_ segment: Segment) { segments = [segment] }

  package static func name(_ name: String) -> SQLFragment { SQLFragment(.name(name)) }
  /// A column of a table, by the alias of the table, or by the table's name if it has no alias.
  package static func column(_ name: String, of alias: String) -> SQLFragment { "\(name: alias).\(name: name)" }
  package static func value(_ value: AttributeValue, _ storage: StorageType) -> SQLFragment {
    SQLFragment(.value(value, storage))
  }

  package static func + (left: SQLFragment, right: SQLFragment) -> SQLFragment {
    var sum = left
    sum += right
    return sum
  }
  package static func += (left: inout SQLFragment, right: SQLFragment) { left.segments += right.segments }

  /// The number of parameters that the fragment takes.
  ///
  /// - Parameter bindsArrays: Whether a list is one parameter.
  package func bindingCount(bindsArrays: Bool) -> Int {
    segments.reduce(0) { count, segment in
      switch segment {
      case .text, .name: count
      case .value: count + 1
      case .list(let values, _): count + (bindsArrays ? 1 : values.count)
      }
    }
  }

  /// The number of values outside lists.
  package var valueCount: Int {
    segments.count { if case .value = $0 { true } else { false } }
  }
}

extension SQLFragment: ExpressibleByStringInterpolation {
  package init(stringLiteral value: String) { segments = value.isEmpty ? [] : [.text(value)] }
  package init(stringInterpolation: StringInterpolation) { segments = stringInterpolation.segments }

  /// Takes names, values, numbers and fragments. A plain string cannot be interpolated.
  package struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var segments: [Segment] = []

    package init(literalCapacity: Int, interpolationCount: Int) { segments.reserveCapacity(interpolationCount * 2 + 1) }
    package mutating func appendLiteral(_ literal: String) {
      if !literal.isEmpty { segments.append(.text(literal)) }
    }
    package mutating func appendInterpolation(_ fragment: SQLFragment) { segments += fragment.segments }
    package mutating func appendInterpolation(name: String) { segments.append(.name(name)) }
    package mutating func appendInterpolation(names: [String]) {
      for (index, name) in names.enumerated() {
        if index > 0 { segments.append(.text(", ")) }
        segments.append(.name(name))
      }
    }
    package mutating func appendInterpolation(value: AttributeValue, as storage: StorageType) {
      segments.append(.value(value, storage))
    }
    /// A membership in a list of values, with its operator: `\(name: column) \(list: values, as: storage)`.
    package mutating func appendInterpolation(list: [AttributeValue], as storage: StorageType) {
      segments.append(.list(list, storage))
    }
    package mutating func appendInterpolation(key: Int64) { segments.append(.value(.int(key), .int64)) }
    /// A membership in a list of keys, with its operator.
    package mutating func appendInterpolation(keys: [Int64]) {
      segments.append(.list(keys.map(AttributeValue.int), .int64))
    }
    package mutating func appendInterpolation(text: String) { segments.append(.value(.string(text), .string)) }
    /// An integer, as text. Its digits can be nothing but a number.
    package mutating func appendInterpolation(number: Int) { segments.append(.text(String(number))) }
  }
}

extension Sequence<SQLFragment> {
  package func joined(separator: SQLFragment) -> SQLFragment {
    var result = SQLFragment()
    for (index, fragment) in enumerated() {
      if index > 0 { result += separator }
      result += fragment
    }
    return result
  }
}

extension Array<SQLFragment> {
  private static var groupSize: Int { 32 }

  /// The depth to which ``joinedInGroups(by:)`` nests a number of fragments.
  package static func groupLevels(of count: Int) -> Int {
    var (levels, count) = (0, count)
    while count > groupSize {
      levels += 1
      count = (count + groupSize - 1) / groupSize
    }
    return levels
  }

  /// The fragments in parentheses, joined by an operator. Many fragments are joined in nested groups, because some
  /// engines parse a list as a tree whose depth is the length of the list.
  package func joinedInGroups(by operation: SQLFragment) -> SQLFragment {
    var level = map { "(\($0))" as SQLFragment }
    while level.count > Self.groupSize {
      level = stride(from: 0, to: level.count, by: Self.groupSize).map { start in
        "(\(level[start..<Swift.min(start + Self.groupSize, level.count)].joined(separator: operation)))"
      }
    }
    return level.joined(separator: operation)
  }
}
