import CoherenceCore
import Foundation

/// The attributes that identify the records of an entity, by the model alone and in any order of entities.
struct EntityUniqueness {
  /// The key of `userInfo` that names attributes, separated by commas.
  static let settingName = "uniquenessAttributes"

  let entity: EntityDescription

  /// The attributes that identify a record; `nil` when the model names no existing ones.
  var validAttributes: [String]? {
    if let setting, missing(in: setting).isEmpty { return setting }
    return shortestConstraint
  }

  /// The attributes that the model names, existing or not.
  var attributes: [String] { validAttributes ?? setting ?? [] }

  /// Attributes that a setting names and that the entity does not have.
  var invalidAttributes: [String] { setting.map(missing) ?? [] }

  /// The entity's own setting, or that of its nearest ancestor with one.
  private var setting: [String]? {
    var current: EntityDescription? = entity
    while let entity = current {
      if let own = Self.names(in: entity.userInfo[Self.settingName] ?? "") { return own }
      current = entity.superentity
    }
    return nil
  }

  /// The first of the constraints with the fewest attributes. A constraint over a relationship identifies nothing.
  private var shortestConstraint: [String]? {
    entity.uniquenessConstraints
      .filter { $0.allSatisfy { $0 is AttributeDescription } }
      .min { $0.count < $1.count }?
      .map(\.name)
  }

  private func missing(in names: [String]) -> [String] { names.filter { entity.attribute(named: $0) == nil } }

  static func names(in text: String) -> [String]? {
    let names = text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    return names.isEmpty ? nil : names
  }
}
