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
