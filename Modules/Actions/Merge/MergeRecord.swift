import CoherenceCore

/// A record to merge: values by attribute, and other records by their keys.
///
/// What is not named stays as it is in a record that exists, and gets the model's default in a fresh one.
///
/// ```swift
/// MergeRecord(["id": 7, "title": "Kind of Blue"], links: ["artist": .one(3), "genres": .many([1, 4])])
/// ```
public struct MergeRecord: Sendable {
  /// The attributes. For a to-one relationship whose destination has a key of one attribute, that key may stand here.
  /// A missing value is written `Int?.none`.
  public var values: [String: any AttributeConvertible]
  /// The relationships.
  public var links: [String: MergeLink]

  public init(_ values: [String: any AttributeConvertible], links: [String: MergeLink] = [:]) {
    self.values = values
    self.links = links
  }
}

/// What a relationship leads to.
public enum MergeLink: Sendable, Hashable {
  /// To nothing.
  case none
  /// A to-one relationship's destination.
  case one(MergeKey)
  /// A to-many relationship's members; all of them, in order if the relationship has one.
  case many([MergeKey])

  var keys: [MergeKey] {
    switch self {
    case .none: []
    case .one(let key): [key]
    case .many(let keys): keys
    }
  }
}

/// What tells a record apart: the values of its entity's uniqueness attributes, in their order.
public struct MergeKey: Sendable, Hashable {
  public let values: [AttributeValue]

  public init(_ values: any AttributeConvertible...) { self.values = values.map(\.attributeValue) }
  init(values: [AttributeValue]) { self.values = values }

  /// Whether a part of the key is missing. Such a key identifies nothing.
  var isIncomplete: Bool { values.contains { $0.isNull } }
}

extension MergeKey: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  public init(integerLiteral value: Int) { self.init(value) }
  public init(stringLiteral value: String) { self.init(value) }
}
