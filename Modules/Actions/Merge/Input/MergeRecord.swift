public import CoherenceCore

/// A record to merge: values by attribute, and links to other records by their keys.
///
/// A property has three states. A name with a value sets the property; a name with a missing value (`Int?.none`) clears
/// the property; without its name, the property keeps its stored value, and gets the model's default in a new record.
///
/// ```swift
/// MergeRecord(["id": 7, "title": "Kind of Blue"], links: ["artist": .one(3), "genres": .many([1, 4])])
/// ```
public struct MergeRecord: Sendable {
  /// The values by attribute name. A to-one relationship may have its destination's key here, if the key has one
  /// attribute.
  ///
  /// In a dictionary literal, `Int?.none` is a missing value. Assigning `nil` to a subscript removes the name, as in
  /// every dictionary; `record.values.updateValue(person.email, forKey: "email")` keeps the name.
  public var values: [String: any AttributeConvertible]
  /// The destinations by relationship name.
  public var links: [String: MergeLink]

  /// Makes a record. Names and types are checked by the merge, against the entity.
  public init(_ values: [String: any AttributeConvertible], links: [String: MergeLink] = [:]) {
    self.values = values
    self.links = links
  }
}
