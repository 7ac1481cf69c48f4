public import CoherenceCore

/// A record to merge: values by attribute, and other records by their keys.
///
/// A property has three states: a name with a value sets it, a name with a missing value (`Int?.none`) clears it, and a
/// property that is not named stays as it is in a record that exists and gets the model's default in a fresh one.
///
/// ```swift
/// MergeRecord(["id": 7, "title": "Kind of Blue"], links: ["artist": .one(3), "genres": .many([1, 4])])
/// ```
public struct MergeRecord: Sendable {
  /// The attributes. For a to-one relationship whose destination has a key of one attribute, that key may stand here.
  ///
  /// A missing value is written `Int?.none` in a dictionary literal. Assigned to a subscript, a `nil` removes the name,
  /// as in every dictionary; `updateValue(_:forKey:)` keeps it: `record.values.updateValue(person.email, forKey:
  /// "email")`.
  public var values: [String: any AttributeConvertible]
  /// The relationships.
  public var links: [String: MergeLink]

  public init(_ values: [String: any AttributeConvertible], links: [String: MergeLink] = [:]) {
    self.values = values
    self.links = links
  }
}
