// The key of an entity: the attributes whose values identify a record.

import Foundation

extension EntityDescription {
  /// The entry of ``userInfo`` that names the attributes of the entity's key, separated by commas:
  /// `["uniquenessAttributes": "label, number"]`.
  ///
  /// A subentity without an entry inherits the entry of its nearest ancestor. Stores enforce the key as a uniqueness
  /// constraint, among the records of each concrete entity with the key and of its subentities. Records with a missing
  /// value in the key are not compared. The entry does not affect ``versionHash``. A store that an earlier program
  /// created without the constraint gets it when it is attached, see ``StoreOption/allowsDuplicateKeys``.
  public static let keySetting = "uniquenessAttributes"

  /// The attributes of the entity's key; `nil` without a key, and when the entity lacks an attribute that
  /// ``keySetting`` names.
  public var keyAttributes: [AttributeDescription]? {
    guard let names = keyNames else { return nil }
    let attributes = names.compactMap { attribute(named: $0) }
    return attributes.count == names.count ? attributes : nil
  }

  /// The names in the ``keySetting`` of the entity or of its nearest ancestor with the entry, whether or not the
  /// attributes exist; `nil` without an entry.
  package var keyNames: [String]? {
    var current: EntityDescription? = self
    while let entity = current {
      if let names = Self.names(in: entity.userInfo[Self.keySetting] ?? "") { return names }
      current = entity.superentity
    }
    return nil
  }

  private static func names(in text: String) -> [String]? {
    let names = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    return names.isEmpty ? nil : names
  }

  /// The constraint that the entity's key adds to the declared and the inherited constraints.
  ///
  /// `nil` for an abstract entity, because each of its subentities enforces the key separately, and if a constraint on
  /// some of the attributes enforces the key already.
  var addedKeyConstraint: [PropertyDescription]? {
    guard !isAbstract, let attributes = keyAttributes else { return nil }
    var key: [PropertyDescription] = []
    for attribute in attributes where !key.contains(attribute) { key.append(attribute) }
    let isUnique = uniquenessConstraints.contains { constraint in constraint.allSatisfy(key.contains) }
    return isUnique ? nil : key
  }
}
