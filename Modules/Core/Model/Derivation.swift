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
/// A value depends on the record's own attributes only. Counts and sums over relationships, and values over paths to
/// other records, are no rules: an edit of another record would have to write this record too. Conditions compute them,
/// as in `$0.tracks.count > 10`.
///
/// A store with records that gets a derived attribute, or another rule for it, computes the values when it is attached.
/// So does a store that a program with another model has opened in between.
public enum Derivation: Sendable, Hashable {
  /// The text of an attribute of the same entity, without differences of case and of diacritics: the text that
  /// comparisons with the option `[cd]` compare.
  case canonical(String)
  /// The text of an attribute of the same entity in small letters, by the rules of Unicode for no particular language.
  case lowercase(String)
  /// The text of an attribute of the same entity in capital letters, by the rules of Unicode for no particular language.
  case uppercase(String)
  /// The time of the last save that changed the record's own values. Missing in records that no save has written since
  /// the attribute was added to the store. Batch deletes, and changes of links alone, do not count.
  case now

  /// The name of the attribute that the value depends on; `nil` for none.
  public var source: String? {
    switch self {
    case .canonical(let name), .lowercase(let name), .uppercase(let name): name
    case .now: nil
    }
  }

  /// The type of the values.
  package var type: AttributeType { source == nil ? .date : .string }

  /// The value derived from a text; missing for a missing text.
  package func value(from text: AttributeValue) -> AttributeValue {
    guard case .string(let text) = text else { return .null }
    return switch self {
    case .canonical: .string(text.folded([.caseInsensitive, .diacriticInsensitive]))
    case .lowercase: .string(text.lowercased())
    case .uppercase: .string(text.uppercased())
    case .now: .null
    }
  }

  /// The rule in the text of version hashes.
  var canonicalText: String {
    switch self {
    case .canonical(let name): "canonical(\(name))"
    case .lowercase(let name): "lowercase(\(name))"
    case .uppercase(let name): "uppercase(\(name))"
    case .now: "now"
    }
  }
}

/// A derived attribute of an entity, with the slots that a save needs.
struct DerivedSlot: Sendable {
  let slot: Int
  let derivation: Derivation
  /// The slot of the attribute that the value depends on; `nil` for none.
  let source: Int?

  init?(_ attribute: AttributeDescription, in entity: EntityDescription) {
    guard let derivation = attribute.derivation else { return nil }
    slot = attribute.slot
    self.derivation = derivation
    source = derivation.source.flatMap { entity.attribute(named: $0)?.slot }
  }

  /// The value in a record with these values, saved at a time.
  func value(in values: (Int) -> AttributeValue, savedAt time: Timestamp) -> AttributeValue {
    source.map { derivation.value(from: values($0)) } ?? .date(time)
  }
}

extension AttributeDescription {
  /// Refuses an assigned value of a derived attribute.
  ///
  /// - Throws: ``ErrorCode/invalidValue``.
  func checkIsAssignable() throws(CoherenceError) {
    guard let derivation else { return }
    let advice = derivation.source.map { "assign '\($0)' instead" } ?? "each save sets the time"
    throw CoherenceError(
      .invalidValue, "'\(entity.name).\(name)' is derived and cannot be assigned; \(advice).")
  }
}
