public import CoherenceCore
import CoherenceReconciliation

/// The key of a record: the values of its entity's uniqueness attributes, in their order.
public struct MergeKey: Sendable, Hashable {
  public let values: [AttributeValue]

  public init(_ values: any AttributeConvertible...) { self.values = values.map(\.attributeValue) }
  init(values: [AttributeValue]) { self.values = values }

  /// Whether the key lacks a value. Such a key identifies no record.
  var isIncomplete: Bool { values.isIncompleteKey }
}

extension MergeKey: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  public init(integerLiteral value: Int) { self.init(value) }
  public init(stringLiteral value: String) { self.init(value) }
}
