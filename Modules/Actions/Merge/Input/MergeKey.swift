public import CoherenceCore
import CoherenceReconciliation

/// The key of a record: the values of its entity's uniqueness attributes, in their order.
public struct MergeKey: Sendable, Hashable {
  /// The values, in the order of the uniqueness attributes.
  public let values: [AttributeValue]

  /// Makes a key from values in the order of the uniqueness attributes. An integer or string literal is a key too.
  public init(_ values: any AttributeConvertible...) { self.values = values.map(\.attributeValue) }
  init(values: [AttributeValue]) { self.values = values }

  /// Whether the key lacks a value. Such a key identifies no record.
  var isIncomplete: Bool { values.isIncompleteKey }
}

extension MergeKey: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  /// Makes a key of one integer.
  public init(integerLiteral value: Int) { self.init(value) }
  /// Makes a key of one string.
  public init(stringLiteral value: String) { self.init(value) }
}
