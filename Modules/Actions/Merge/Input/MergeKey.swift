public import CoherenceCore

/// What tells a record apart: the values of its entity's uniqueness attributes, in their order.
public struct MergeKey: Sendable, Hashable {
  public let values: [AttributeValue]

  public init(_ values: any AttributeConvertible...) { self.values = values.map(\.attributeValue) }
  init(values: [AttributeValue]) { self.values = values }

  /// Whether a part of the key is missing. Such a key identifies nothing.
  var isIncomplete: Bool { values.isIncompleteKey }
}

extension MergeKey: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  public init(integerLiteral value: Int) { self.init(value) }
  public init(stringLiteral value: String) { self.init(value) }
}

extension [AttributeValue] {
  /// Whether a part of a key is missing.
  var isIncompleteKey: Bool { contains { $0.isNull } }
}
