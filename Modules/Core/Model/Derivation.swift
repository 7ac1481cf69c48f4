import Foundation

/// The rule by which saves compute the value of a derived attribute.
///
/// ```swift
/// Attribute("name", .string)
/// Attribute("nameFold", .string, derived: .canonical("name"))
/// Attribute("savedAt", .date, derived: .now)
/// ```
/// A save into a store computes the values of the records that it writes, on every store alike. An object shows the new
/// value after that save, and a fetch finds records by the saved value. The value of a derived attribute cannot be
/// assigned: the attempt is an ``ErrorCode/invalidValue``. A derived attribute is always optional,
/// because a new object has no value before its first save.
///
/// The other rules read related records:
///
/// ```swift
/// Attribute("trackCount", .int64, derived: .count("tracks"))
/// Attribute("length", .double, derived: .sum("tracks.length"))
/// Attribute("artistName", .string, derived: .path("artist.name"))
/// ```
/// Every save that changes one of these records computes such a value in its transaction, in every context and process:
/// see ``RelationshipDerivation``. Later reads find the new value, even if the save did not write the record with the
/// derived attribute.
///
/// A store computes the values of its existing records when it is attached with a new derived attribute or with a
/// changed rule, and after a program with another model has opened the store.
public enum Derivation: Sendable, Hashable {
  /// The text of an attribute of the same entity, folded: without differences of case and diacritics, as comparisons
  /// with the option `[cd]` compare it.
  case canonical(String)
  /// The text of an attribute of the same entity in small letters, by the rules of Unicode for no particular language.
  case lowercase(String)
  /// The text of an attribute of the same entity in capital letters, by the rules of Unicode for no particular language.
  case uppercase(String)
  /// The time of the last save that changed the record's own values, by ``PersistentStoreCoordinator/clock``. Missing
  /// in records that no save has written since the attribute was added to the store. Batch deletes, and changes of
  /// links alone, do not count.
  case now
  /// The ``ManagedObjectContext/transactionAuthor`` of the context whose save last changed the record's own values, a
  /// text. Missing after a save without an author, and in the same records as ``now``.
  case author
  /// The value of an attribute of another record, at the end of one or more to-one relationships: `artist.name`.
  /// Missing if a relationship on the path has no target.
  case path(String)
  /// The number of members of a to-many relationship.
  case count(String)
  /// The sum of a number of the members of a to-many relationship: `tracks.length`. Zero without members.
  case sum(String)
  /// The least value of an attribute of the members of a to-many relationship; missing without values.
  case minimum(String)
  /// The greatest value of an attribute of the members of a to-many relationship; missing without values.
  case maximum(String)
  /// The average of a number of the members of a to-many relationship, as a double; missing without values.
  case average(String)

  /// The name of the attribute of the same record on which the value depends; `nil` without such an attribute.
  public var source: String? {
    switch self {
    case .canonical(let name), .lowercase(let name), .uppercase(let name): name
    case .now, .author, .path, .count, .sum, .minimum, .maximum, .average: nil
    }
  }

  /// The path over relationships on which the value depends, such as `tracks.length`; `nil` for a rule that reads no
  /// other record.
  public var relationshipPath: String? {
    switch self {
    case .path(let path), .count(let path), .sum(let path), .minimum(let path), .maximum(let path), .average(let path):
      path
    case .canonical, .lowercase, .uppercase, .now, .author: nil
    }
  }

  /// The type of the values; `nil` for a rule whose values have the type of another attribute.
  package var type: AttributeType? {
    switch self {
    case .canonical, .lowercase, .uppercase, .author: .string
    case .now: .date
    case .count: .int64
    case .average: .double
    case .path, .sum, .minimum, .maximum: nil
    }
  }

  /// The value derived from a text; missing for a missing text.
  package func value(from text: AttributeValue) -> AttributeValue {
    guard case .string(let text) = text else { return .null }
    return switch self {
    case .canonical: .string(text.folded([.caseInsensitive, .diacriticInsensitive]))
    case .lowercase: .string(text.lowercased())
    case .uppercase: .string(text.uppercased())
    default: .null
    }
  }

  /// The name of the rule in code.
  package var ruleName: String {
    switch self {
    case .canonical: "canonical"
    case .lowercase: "lowercase"
    case .uppercase: "uppercase"
    case .now: "now"
    case .author: "author"
    case .path: "path"
    case .count: "count"
    case .sum: "sum"
    case .minimum: "minimum"
    case .maximum: "maximum"
    case .average: "average"
    }
  }

  /// The rule in the text of version hashes.
  var canonicalText: String { (source ?? relationshipPath).map { "\(ruleName)(\($0))" } ?? ruleName }
}

/// A derived attribute whose value depends on the record alone, with the slots that a save needs.
struct DerivedSlot: Sendable {
  let slot: Int
  let derivation: Derivation
  /// The slot of the attribute on which the value depends; `nil` for ``Derivation/now`` and ``Derivation/author``.
  let source: Int?

  init?(_ attribute: AttributeDescription, in entity: EntityDescription) {
    guard let derivation = attribute.derivation, derivation.relationshipPath == nil else { return nil }
    slot = attribute.slot
    self.derivation = derivation
    source = derivation.source.flatMap { entity.attribute(named: $0)?.slot }
  }

  /// Computes the derived value from the values of a record, and from the time and the author of its save.
  func value(in values: (Int) -> AttributeValue, savedAt time: Timestamp, by author: AttributeValue) -> AttributeValue {
    if let source { return derivation.value(from: values(source)) }
    return derivation == .author ? author : .date(time)
  }
}

extension AttributeDescription {
  /// Refuses an assigned value of a derived attribute.
  ///
  /// - Throws: ``ErrorCode/invalidValue``.
  func checkIsAssignable() throws(CoherenceError) {
    guard let derivation else { return }
    let advice =
      derivation.relationshipPath.map { "saves compute the value from '\($0)'" }
      ?? derivation.source.map { "assign '\($0)' instead" } ?? "each save sets the time"
    throw CoherenceError(
      .invalidValue, "'\(entity.name).\(name)' is derived and cannot be assigned; \(advice).")
  }
}
