import CoherenceCore
import Foundation

/// Makes the elements of a model file from the descriptions of a model in memory: the reverse of the building of a model
/// from a file.
///
/// Two results belong to the whole file, and grow with each element: the composite types of the attributes, which a file
/// lists beside its entities, and the sentences about features of the model without a place in a file.
///
/// In the names here, an *element* belongs to the file, and a *part* is an attribute of a composite. The model has no
/// composites: each part is an attribute of the entity, with its path, such as `size.width`, as its name.
struct FileMaker {
  private let model: ManagedObjectModel
  /// The composite types of the elements so far. Each name is there once.
  private(set) var composites: [ModelFile.Composite] = []
  /// The features of the model that the elements so far leave out, as sentences.
  private(set) var omissions: [String] = []

  init(_ model: ManagedObjectModel) { self.model = model }

  /// Makes the element of an entity. It has the entity's own properties, constraints and indexes: the inherited ones are
  /// in the element of the parent.
  mutating func entity(_ entity: EntityDescription) -> ModelFile.Entity {
    var element = ModelFile.Entity(entity.name, className: className(entity), parent: entity.superentity?.name)
    element.isAbstract = entity.isAbstract
    element.userInfo = entity.userInfo
    setFormerNames(entity.formerNames, &element.renamingIdentifier, &element.userInfo)
    element.attributes = attributes(of: entity)
    element.relationships = entity.relationships.filter { $0.entity === entity }.map(relationship)
    element.fetchedProperties = fetchedProperties(of: entity)
    element.uniqueness = uniqueness(of: entity)
    element.indexes = indexes(of: entity)
    return element
  }

  /// Makes the elements of the attributes that the entity does not inherit. A composite has one element, at the index of
  /// its first part.
  private mutating func attributes(of entity: EntityDescription) -> [ModelFile.Attribute] {
    let own = entity.attributes.filter { $0.entity === entity }
    var elements: [ModelFile.Attribute] = []
    var finished: Set<String> = []
    for attribute in own {
      guard let name = compositeName(of: attribute, in: entity) else {
        elements.append(self.attribute(attribute, name: attribute.name))
        continue
      }
      guard finished.insert(name).inserted else { continue }
      let parts = own.filter { compositeName(of: $0, in: entity) == name }
      elements.append(composite(name, parts, type: entity.name + Self.capitalized(name), prefix: name + "."))
    }
    return elements
  }

  /// The names of the properties of each constraint that the entity does not inherit. The inherited constraints come
  /// first in the model.
  private func uniqueness(of entity: EntityDescription) -> [[String]] {
    entity.declaredConstraints.dropFirst(entity.superentity?.declaredConstraints.count ?? 0).map { $0.map(\.name) }
  }

  /// Makes the elements of the indexes that the entity does not inherit. The inherited indexes come first in the model.
  /// An index of the model has no name, so that its element is named for the properties.
  private func indexes(of entity: EntityDescription) -> [ModelFile.FetchIndex] {
    var elements: [ModelFile.FetchIndex] = []
    for names in entity.indexes.dropFirst(entity.superentity?.indexes.count ?? 0).map({ $0.map(\.name) }) {
      let name = Self.unique("by" + names.map(Self.capitalized).joined(separator: "And"), among: elements.map(\.name))
      elements.append(.init(name, elements: names.map { .init(property: $0) }))
    }
    return elements
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

  /// The name of the outermost composite with an attribute as its part; `nil` for an attribute outside of composites.
  private func compositeName(of attribute: AttributeDescription, in entity: EntityDescription) -> String? {
    entity.composites.first { $0.value.contains(attribute.slot) }?.key
  }

  /// Makes the element of a composite, and adds its type to ``composites``. A part with a further dot in its name becomes
  /// a part of a nested composite, which has a type of its own.
  ///
  /// - Parameters:
  ///   - name: The name of the composite within its entity or outer composite.
  ///   - parts: The attributes of the model in the composite, those of nested composites among them.
  ///   - type: The wanted name of the type: the entity's name and the names of the composites on the path.
  ///   - prefix: The path of the composite, with a dot at its end: the names of the parts begin with it.
  private mutating func composite(
    _ name: String, _ parts: [AttributeDescription], type: String, prefix: String
  ) -> ModelFile.Attribute {
    var elements: [ModelFile.Attribute] = []
    for part in parts {
      let rest = part.name.dropFirst(prefix.count)
      guard let dot = rest.firstIndex(of: ".") else {
        elements.append(attribute(part, name: String(rest)))
        continue
      }
      let nested = String(rest[..<dot])
      // The first part of a nested composite has made its element, with all of its parts.
      guard !elements.contains(where: { $0.name == nested }) else { continue }
      let inner = prefix + nested + "."
      let nestedParts = parts.filter { $0.name.hasPrefix(inner) }
      elements.append(composite(nested, nestedParts, type: type + Self.capitalized(nested), prefix: inner))
    }
    // The names of two entities and composites may join to one name: 'Foo' with 'barBaz', and 'FooBar' with 'baz'.
    let uniqueType = Self.unique(type, among: composites.map(\.name))
    composites.append(.init(uniqueType, parts: elements))
    return ModelFile.Attribute(name, .composite, optional: elements.allSatisfy(\.isOptional), compositeName: uniqueType)
  }

  /// Makes the elements of the fetched properties that the entity does not inherit.
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

  /// Makes the element of an attribute.
  ///
  /// - Parameter name: The name in the file: for a part of a composite the last component of the attribute's path.
  private mutating func attribute(_ attribute: AttributeDescription, name: String) -> ModelFile.Attribute {
    var element = ModelFile.Attribute(name, .string, optional: attribute.isOptional, userInfo: attribute.userInfo)
    setType(attribute.type, of: &element)
    let path = "\(attribute.entity.name).\(attribute.name)"
    setDerivation(of: attribute, in: &element, path: path)
    if attribute.name == name {
      setFormerNames(attribute.formerNames, &element.renamingIdentifier, &element.userInfo)
    } else {
      setFormerNames(ofPart: attribute, named: name, in: &element)
    }
    setDefaultValue(attribute.defaultValue, of: &element)
    for rule in attribute.validation { setRule(rule, of: &element, path: path) }
    if attribute.conversion != nil {
      omissions.append("The conversion of '\(path)' is code, for which a file has no place.")
    }
    return element
  }

  /// Sets the expression of a derived attribute, or reports that no expression of a file says the same.
  private mutating func setDerivation(
    of attribute: AttributeDescription, in element: inout ModelFile.Attribute, path: String
  ) {
    guard let derivation = attribute.derivation else { return }
    element.derivation = DerivationText.text(derivation)
    guard let text = element.derivation else {
      omissions.append("The rule of the derived attribute '\(path)' has no place in a file.")
      return
    }
    // The text of an unusual name may be the expression of another derivation.
    if DerivationText.derivation(text) != derivation {
      omissions.append("The derivation of '\(path)' names a property that no expression of a file can name.")
    }
  }

  /// Sets a default value. The editor has no field for the default of data, which is a setting in the user info.
  private func setDefaultValue(_ value: AttributeValue, of element: inout ModelFile.Attribute) {
    if element.kind == .data || element.kind == .transformable {
      element.userInfo[FileSetting.data] = ValueText.text(value)
    } else {
      element.defaultValue = ValueText.text(value)
    }
  }

  /// Sets the former names of a composite's part. The names are paths, and a renaming identifier is a name in the same
  /// composite, by which later versions of a package find the part of this version.
  ///
  /// The latest former name is the renaming identifier if it is a name in the same composite. All other former names are
  /// a setting, in which a dot marks a path, so that a name outside of composites gets a dot before it.
  private func setFormerNames(
    ofPart attribute: AttributeDescription, named name: String, in element: inout ModelFile.Attribute
  ) {
    var names = attribute.formerNames
    let composite = attribute.name.dropLast(name.count)
    if let first = names.first, first.hasPrefix(composite) {
      let former = first.dropFirst(composite.count)
      if !former.isEmpty, !former.contains(".") {
        element.renamingIdentifier = String(former)
        names.removeFirst()
      }
    }
    guard !names.isEmpty else { return }
    element.userInfo[FileSetting.formerNames] = names.map { $0.contains(".") ? $0 : "." + $0 }.joined(separator: ",")
  }

  /// Sets the kind of a type in the editor, and for a type without such a kind the settings in the user info.
  private func setType(_ type: AttributeType, of element: inout ModelFile.Attribute) {
    switch type {
    case .enumeration(let raw, let cases):
      setType(raw, of: &element)
      element.userInfo[FileSetting.type] = "enumeration"
      guard let texts = cases?.compactMap(ValueText.text).sorted() else { return }
      element.userInfo[FileSetting.cases] = (try? JSONEncoder().encode(texts)).map {
        String(decoding: $0, as: UTF8.self)
      }
    case .codable:
      element.userInfo[FileSetting.type] = "codable"
    case .weakReference(let entity):
      element.userInfo[FileSetting.type] = "weakReference"
      element.userInfo[FileSetting.entity] = entity
    case .transformable(let name):
      element.kind = .transformable
      element.transformerName = name
    default:
      element.kind = Self.kinds[type] ?? .string
      let isNumber = [.int16, .int32, .int64, .float, .double, .bool].contains(element.kind)
      if isNumber { element.usesScalarValueType = !element.isOptional }
    }
  }

  private static let kinds: [AttributeType: ModelFile.AttributeKind] = [
    .int16: .int16, .int32: .int32, .int64: .int64, .decimal: .decimal, .double: .double, .float: .float,
    .string: .string, .bool: .bool, .date: .date, .data: .data, .uuid: .uuid, .url: .url,
  ]

  /// Sets the bound or the pattern of a rule. The file has one place for each kind of rule.
  private mutating func setRule(_ rule: ValidationRule, of element: inout ModelFile.Attribute, path: String) {
    let text: String?
    let field: WritableKeyPath<ModelFile.Attribute, String?>
    switch rule {
    case .minimum(let value): (field, text) = (\.minimum, ValueText.text(value))
    case .maximum(let value): (field, text) = (\.maximum, ValueText.text(value))
    case .minimumLength(let count): (field, text) = (\.minimum, String(count))
    case .maximumLength(let count): (field, text) = (\.maximum, String(count))
    case .pattern(let pattern): (field, text) = (\.pattern, pattern)
    }
    if element[keyPath: field] == nil {
      element[keyPath: field] = text
    } else {
      omissions.append("A second rule of one kind for '\(path)' has no place in a file.")
    }
  }

  /// Makes the element of a relationship.
  private func relationship(_ relationship: RelationshipDescription) -> ModelFile.Relationship {
    var element = ModelFile.Relationship(
      relationship.name, to: relationship.destination.name, isToMany: relationship.isToMany,
      isOrdered: relationship.isOrdered, inverse: relationship.inverse?.name,
      inverseEntity: relationship.inverse?.entity.name, deleteRule: relationship.deleteRule,
      userInfo: relationship.userInfo)
    if relationship.isToMany {
      // A required to-many relationship of a file has at least one member.
      element.isOptional = relationship.minimumCount == 0
      element.minimumCount = relationship.minimumCount == 0 ? nil : relationship.minimumCount
      element.maximumCount = relationship.maximumCount
    } else {
      element.isOptional = relationship.isOptional
      element.maximumCount = 1
    }
    setFormerNames(relationship.formerNames, &element.renamingIdentifier, &element.userInfo)
    return element
  }

  /// Sets the latest former name, for which the editor has a field, and the further ones as a setting.
  private func setFormerNames(_ names: [String], _ identifier: inout String?, _ userInfo: inout [String: String]) {
    identifier = names.first
    if names.count > 1 { userInfo[FileSetting.formerNames] = names.dropFirst().joined(separator: ",") }
  }

  /// A name that none of the given names equals: the wanted name, with as many digits `2` at its end as it needs.
  private static func unique(_ wanted: String, among names: [String]) -> String {
    var name = wanted
    while names.contains(name) { name += "2" }
    return name
  }

  /// The components of a path, each with a capital letter first, as one word.
  private static func capitalized(_ name: String) -> String {
    name.split(separator: ".").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
  }
}
