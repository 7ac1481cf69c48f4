import CoherenceCore
import Foundation

/// Makes the parts of a file from the descriptions of a model, and collects the composite types of the attributes and the
/// sentences about omitted parts on the way.
struct FileMaker {
  private let model: ManagedObjectModel
  private(set) var composites: [ModelFile.Composite] = []
  private(set) var omissions: [String] = []

  init(_ model: ManagedObjectModel) { self.model = model }

  /// Makes an entity with its own properties: those that the parent has are left to the parent.
  mutating func entity(_ entity: EntityDescription) -> ModelFile.Entity {
    var part = ModelFile.Entity(entity.name, className: className(entity), parent: entity.superentity?.name)
    part.isAbstract = entity.isAbstract
    part.userInfo = entity.userInfo
    setFormerNames(entity.formerNames, &part.renamingIdentifier, &part.userInfo)
    let own = entity.attributes.filter { $0.entity === entity }
    // A composite has one attribute in the file, at the place of its first part.
    var finished: Set<String> = []
    for attribute in own {
      let name = compositeName(of: attribute, in: entity)
      if let name {
        guard finished.insert(name).inserted else { continue }
        let parts = own.filter { compositeName(of: $0, in: entity) == name }
        part.attributes.append(composite(name, parts, type: entity.name + Self.capitalized(name), prefix: name + "."))
      } else {
        part.attributes.append(self.attribute(attribute, name: attribute.name))
      }
    }
    part.relationships = entity.relationships.filter { $0.entity === entity }.map(relationship)
    part.fetchedProperties = fetchedProperties(of: entity)
    // The inherited constraints and indexes come first.
    let inherited = entity.superentity
    part.uniqueness = entity.declaredConstraints.dropFirst(inherited?.declaredConstraints.count ?? 0)
      .map { $0.map(\.name) }
    for names in entity.indexes.dropFirst(inherited?.indexes.count ?? 0).map({ $0.map(\.name) }) {
      var name = "by" + names.map(Self.capitalized).joined(separator: "And")
      while part.indexes.contains(where: { $0.name == name }) { name += "2" }
      part.indexes.append(.init(name, elements: names.map { .init(property: $0) }))
    }
    return part
  }

  /// The name of the class for the file, with its module where two classes of the model have one name; `nil` for
  /// `ManagedObject` itself.
  private func className(_ entity: EntityDescription) -> String? {
    guard entity.objectClass != ManagedObject.self else { return nil }
    let short = String(describing: entity.objectClass)
    let isShared = model.entities.contains {
      $0.objectClass != entity.objectClass && String(describing: $0.objectClass) == short
    }
    return isShared ? String(reflecting: entity.objectClass) : short
  }

  /// The name of the entity's composite with an attribute as its part; `nil` for an attribute by itself.
  private func compositeName(of attribute: AttributeDescription, in entity: EntityDescription) -> String? {
    entity.composites.first { $0.value.contains(attribute.slot) }?.key
  }

  /// Makes an attribute of a composite type, and the type. Parts of parts, with a further dot in their names, become
  /// composites again.
  ///
  /// - Parameters:
  ///   - parts: The attributes of the model below the composite, with paths as their names.
  ///   - type: The name of the type: the entity's name and the names of the composites on the path.
  ///   - prefix: The path of the composite, with a dot at its end.
  private mutating func composite(
    _ name: String, _ parts: [AttributeDescription], type: String, prefix: String
  ) -> ModelFile.Attribute {
    var made: [ModelFile.Attribute] = []
    for part in parts {
      let rest = part.name.dropFirst(prefix.count)
      guard let dot = rest.firstIndex(of: ".") else {
        made.append(attribute(part, name: String(rest)))
        continue
      }
      let nested = String(rest[..<dot])
      guard !made.contains(where: { $0.name == nested }) else { continue }
      let inner = prefix + nested + "."
      let own = parts.filter { $0.name.hasPrefix(inner) }
      made.append(composite(nested, own, type: type + Self.capitalized(nested), prefix: inner))
    }
    // The names of two entities and composites may join to one name: 'Foo' with 'barBaz', and 'FooBar' with 'baz'.
    var uniqueType = type
    while composites.contains(where: { $0.name == uniqueType }) { uniqueType += "2" }
    composites.append(.init(uniqueType, parts: made))
    return ModelFile.Attribute(name, .composite, optional: made.allSatisfy(\.isOptional), compositeName: uniqueType)
  }

  /// The fetched properties that the entity does not inherit.
  private mutating func fetchedProperties(of entity: EntityDescription) -> [ModelFile.FetchedProperty] {
    let inherited = Set(entity.superentity?.fetchedProperties.map(\.name) ?? [])
    return entity.fetchedProperties.filter { !inherited.contains($0.name) }.map { property in
      if !property.sortKeys.isEmpty {
        omissions.append("The order of '\(entity.name).\(property.name)' has no place in a file.")
      }
      let request = ModelFile.FetchTemplate(
        "fetchedPropertyFetchRequest", entity: property.destination, predicate: property.predicate,
        fetchLimit: property.fetchLimit, includesSubentities: property.includesSubentities ? nil : false)
      return ModelFile.FetchedProperty(property.name, request: request, userInfo: property.userInfo)
    }
  }

  /// Makes an attribute.
  ///
  /// - Parameter name: The name in the file: a composite's part has a path as its name in the model.
  private mutating func attribute(_ attribute: AttributeDescription, name: String) -> ModelFile.Attribute {
    var part = ModelFile.Attribute(name, .string, optional: attribute.isOptional, userInfo: attribute.userInfo)
    setType(attribute.type, of: &part)
    let path = "\(attribute.entity.name).\(attribute.name)"
    part.derivation = attribute.derivation.flatMap(DerivationText.text)
    if let text = part.derivation, DerivationText.derivation(text) != attribute.derivation {
      omissions.append("The derivation of '\(path)' names a property that no expression of a file can name.")
    } else if attribute.derivation != nil, part.derivation == nil {
      omissions.append("The rule of the derived attribute '\(path)' has no place in a file.")
    }
    if attribute.name == name {
      setFormerNames(attribute.formerNames, &part.renamingIdentifier, &part.userInfo)
    } else {
      setFormerNames(of: attribute, named: name, &part)
    }
    if part.kind == .data || part.kind == .transformable {
      part.userInfo[FileSetting.data] = ValueText.text(attribute.defaultValue)
    } else {
      part.defaultValue = ValueText.text(attribute.defaultValue)
    }
    for rule in attribute.validation { setRule(rule, of: &part, path: path) }
    if attribute.conversion != nil {
      omissions.append("The conversion of '\(path)' is code, for which a file has no place.")
    }
    return part
  }

  /// Sets the former names of a composite's part. The names are paths, and a renaming identifier is a name in the same
  /// composite, by which later versions of a package find the part of this version.
  private func setFormerNames(of attribute: AttributeDescription, named name: String, _ part: inout ModelFile.Attribute)
  {
    var names = attribute.formerNames
    let composite = attribute.name.dropLast(name.count)
    if let first = names.first, first.hasPrefix(composite) {
      let former = first.dropFirst(composite.count)
      if !former.isEmpty, !former.contains(".") {
        part.renamingIdentifier = String(former)
        names.removeFirst()
      }
    }
    guard !names.isEmpty else { return }
    part.userInfo[FileSetting.formerNames] = names.map { $0.contains(".") ? $0 : "." + $0 }.joined(separator: ",")
  }

  /// Sets the kind of a type in the editor, and for a type without such a kind the settings in the user info.
  private func setType(_ type: AttributeType, of part: inout ModelFile.Attribute) {
    switch type {
    case .enumeration(let raw, let cases):
      setType(raw, of: &part)
      part.userInfo[FileSetting.type] = "enumeration"
      guard let texts = cases?.compactMap(ValueText.text).sorted() else { return }
      part.userInfo[FileSetting.cases] = (try? JSONEncoder().encode(texts)).map { String(decoding: $0, as: UTF8.self) }
    case .codable:
      part.userInfo[FileSetting.type] = "codable"
    case .weakReference(let entity):
      part.userInfo[FileSetting.type] = "weakReference"
      part.userInfo[FileSetting.entity] = entity
    case .transformable(let name):
      part.kind = .transformable
      part.transformerName = name
    default:
      part.kind = Self.kinds[type] ?? .string
      let isNumber = [.int16, .int32, .int64, .float, .double, .bool].contains(part.kind)
      if isNumber { part.usesScalarValueType = !part.isOptional }
    }
  }

  private static let kinds: [AttributeType: ModelFile.AttributeKind] = [
    .int16: .int16, .int32: .int32, .int64: .int64, .decimal: .decimal, .double: .double, .float: .float,
    .string: .string, .bool: .bool, .date: .date, .data: .data, .uuid: .uuid, .url: .url,
  ]

  /// Sets the bound or the pattern of a rule. The file has one place for each kind of rule.
  private mutating func setRule(_ rule: ValidationRule, of part: inout ModelFile.Attribute, path: String) {
    let text: String?
    let field: WritableKeyPath<ModelFile.Attribute, String?>
    switch rule {
    case .minimum(let value): (field, text) = (\.minimum, ValueText.text(value))
    case .maximum(let value): (field, text) = (\.maximum, ValueText.text(value))
    case .minimumLength(let count): (field, text) = (\.minimum, String(count))
    case .maximumLength(let count): (field, text) = (\.maximum, String(count))
    case .pattern(let pattern): (field, text) = (\.pattern, pattern)
    }
    if part[keyPath: field] == nil {
      part[keyPath: field] = text
    } else {
      omissions.append("A second rule of one kind for '\(path)' has no place in a file.")
    }
  }

  private func relationship(_ relationship: RelationshipDescription) -> ModelFile.Relationship {
    var part = ModelFile.Relationship(
      relationship.name, to: relationship.destination.name, isToMany: relationship.isToMany,
      isOrdered: relationship.isOrdered, inverse: relationship.inverse?.name,
      inverseEntity: relationship.inverse?.entity.name, deleteRule: relationship.deleteRule,
      userInfo: relationship.userInfo)
    if relationship.isToMany {
      // A required to-many relationship of a file has at least one member.
      part.isOptional = relationship.minimumCount == 0
      part.minimumCount = relationship.minimumCount == 0 ? nil : relationship.minimumCount
      part.maximumCount = relationship.maximumCount
    } else {
      part.isOptional = relationship.isOptional
      part.maximumCount = 1
    }
    setFormerNames(relationship.formerNames, &part.renamingIdentifier, &part.userInfo)
    return part
  }

  /// Sets the latest former name, for which the editor has a field, and the further ones as a setting.
  private func setFormerNames(_ names: [String], _ identifier: inout String?, _ userInfo: inout [String: String]) {
    identifier = names.first
    if names.count > 1 { userInfo[FileSetting.formerNames] = names.dropFirst().joined(separator: ",") }
  }

  private static func capitalized(_ name: String) -> String {
    name.split(separator: ".").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}
