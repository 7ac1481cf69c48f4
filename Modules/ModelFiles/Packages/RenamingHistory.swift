/// The former names of the entities and properties of a version, from the renaming identifiers of the other versions.
///
/// An entity is followed from its renaming identifier to the entity of that name in another version, and from there to
/// that entity's own identifier, so that a store of any version finds its records. If `Track` became `Song`, and `Song`
/// became `Tune`, then `Tune` has the identifier `Song`, and its former names are `Song` and `Track`.
struct RenamingHistory {
  /// The former names by `Entity` and `Entity.property`, without those that the version still has.
  private(set) var formerNames: [String: [String]] = [:]
  /// Warnings about renaming identifiers that no other version has.
  private(set) var unknownRenamings: [String] = []

  /// A name in a version with its renaming identifier.
  private struct Item {
    let name: String
    let identifier: String?
  }

  /// Follows all names of a version.
  ///
  /// - Parameters:
  ///   - file: The model file of the version.
  ///   - others: The model files of the other versions of the package, older and newer ones.
  init(of file: ModelFile, others: [ModelFile]) {
    guard !others.isEmpty else { return }
    let otherEntities = others.flatMap { $0.entities.map { Item(name: $0.name, identifier: $0.renamingIdentifier) } }
    let present = Set(file.entities.map(\.name))
    for entity in file.entities {
      let item = Item(name: entity.name, identifier: entity.renamingIdentifier)
      let names = follow(item, in: otherEntities, present: present, path: entity.name)
      formerNames[entity.name] = names
      // The entity in the other versions.
      let counterparts = others.flatMap { other in
        other.entities.filter { $0.name == entity.name || names.contains($0.name) }.map { (file: other, entity: $0) }
      }
      guard !counterparts.isEmpty else { continue }
      let properties = counterparts.flatMap { Self.properties($0.entity) }
      let own = Self.properties(entity)
      for property in own {
        let path = "\(entity.name).\(property.name)"
        formerNames[path] = follow(property, in: properties, present: Set(own.map(\.name)), path: path)
      }
      let attributes = counterparts.flatMap { other in other.entity.attributes.map { Owned(file: other.file, $0) } }
      for attribute in entity.attributes {
        let path = "\(entity.name).\(attribute.name)"
        followParts(of: Owned(file: file, attribute), among: attributes, path: path, in: [])
      }
    }
    removeSharedNames(of: file)
  }

  /// An attribute with the file that declares the parts of its type.
  private struct Owned {
    let file: ModelFile
    let attribute: ModelFile.Attribute

    init(file: ModelFile, _ attribute: ModelFile.Attribute) {
      self.file = file
      self.attribute = attribute
    }

    /// The parts of a composite; none for another attribute.
    var parts: [Owned] { (file.parts(of: attribute) ?? []).map { Owned(file: file, $0) } }
    /// The name with the renaming identifier. An identifier with a full stop is a whole path, which is not followed.
    var item: Item {
      let identifier = attribute.renamingIdentifier
      return Item(name: attribute.name, identifier: identifier?.contains(".") == true ? nil : identifier)
    }
  }

  /// Follows the parts of a composite, and of the composites in it. The former names of a part are names in the same
  /// composite.
  ///
  /// - Parameters:
  ///   - others: The attributes beside the composite in the other versions.
  ///   - nesting: The composite types around the composite: a type that contains itself is a fault of the file.
  private mutating func followParts(
    of composite: Owned, among others: [Owned], path: String, in nesting: Set<String>
  ) {
    let parts = composite.parts
    let type = composite.file.compositeType(of: composite.attribute)?.name
    guard !parts.isEmpty, type.map(nesting.contains) != true else { return }
    let names = [composite.attribute.name] + (formerNames[path] ?? [])
    let otherParts = others.filter { names.contains($0.attribute.name) }.flatMap(\.parts)
    guard !otherParts.isEmpty else { return }
    let (items, present) = (otherParts.map(\.item), Set(parts.map(\.attribute.name)))
    let inner = nesting.union([type].compactMap(\.self))
    let paths = parts.map { "\(path).\($0.attribute.name)" }
    for (part, path) in zip(parts, paths) {
      formerNames[path] = follow(part.item, in: items, present: present, path: path)
      followParts(of: part, among: otherParts, path: path, in: inner)
    }
    removeSharedNames(of: paths, identifiers: parts.compactMap(\.item.identifier))
  }

  /// The attributes and relationships of an entity. They share one space of names.
  private static func properties(_ entity: ModelFile.Entity) -> [Item] {
    entity.attributes.map { Item(name: $0.name, identifier: $0.renamingIdentifier) }
      + entity.relationships.map { Item(name: $0.name, identifier: $0.renamingIdentifier) }
  }

  /// The former names of an item, the nearest first. Adds a warning for an identifier that no other version has.
  ///
  /// - Parameters:
  ///   - others: The items of the other versions.
  ///   - present: The names that the version itself has, which are no former names.
  ///   - path: The path of the item in the warning, such as `Entity.property`.
  private mutating func follow(_ item: Item, in others: [Item], present: Set<String>, path: String) -> [String] {
    if let identifier = item.identifier, identifier != item.name,
      !others.contains(where: { $0.name == identifier || $0.identifier == identifier })
    {
      unknownRenamings.append(
        "'\(path)' has the renaming identifier '\(identifier)', which no other version of the package has.")
    }
    var pending = [item.identifier, item.name].compactMap(\.self)
    var seen = Set(pending)
    var names: [String] = []
    while let identifier = pending.first {
      pending.removeFirst()
      for other in others where other.name == identifier || other.identifier == identifier {
        if !present.contains(other.name), !names.contains(other.name) { names.append(other.name) }
        for next in [other.identifier, other.name].compactMap(\.self) where seen.insert(next).inserted {
          pending.append(next)
        }
      }
    }
    return names
  }

  /// Removes the names that two entities, or two properties of an entity, would have: a name stands for one of them,
  /// and only a renaming identifier of the file itself says for which.
  private mutating func removeSharedNames(of file: ModelFile) {
    removeSharedNames(of: file.entities.map(\.name), identifiers: file.entities.compactMap(\.renamingIdentifier))
    for entity in file.entities {
      let properties = Self.properties(entity)
      removeSharedNames(
        of: properties.map { "\(entity.name).\($0.name)" }, identifiers: properties.compactMap(\.identifier))
    }
  }

  /// Removes from the former names of some paths the names that several paths have, and the renaming identifiers of the
  /// file: ``FileSetting`` reads an identifier as a former name of the part that has the identifier.
  private mutating func removeSharedNames(of paths: [String], identifiers: [String]) {
    var counts: [String: Int] = [:]
    for path in paths { for name in formerNames[path] ?? [] { counts[name, default: 0] += 1 } }
    for path in paths {
      formerNames[path]?.removeAll { counts[$0]! > 1 || identifiers.contains($0) }
    }
  }
}
