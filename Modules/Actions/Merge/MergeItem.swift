import CoherenceCore

/// One record of a merge's input.
protocol MergeItem {
  var key: MergeKey { get }
  /// The values to give to a record that exists, by attribute; the key's are among them.
  var values: [String: AttributeValue] { get }
  /// The keys of relationships' destinations.
  var links: [String: MergeLink] { get }
  /// Makes the record in a context.
  func insert(into context: ActionContext, entity: EntityDescription) throws -> ManagedObject
}

/// An object without a context.
struct ObjectMergeItem: MergeItem {
  let object: ManagedObject
  let key: MergeKey
  let values: [String: AttributeValue]
  var links: [String: MergeLink] { [:] }

  init(_ object: ManagedObject, for entity: EntityDescription, keyAttributes: [AttributeDescription]) throws {
    guard Self.isUnattached(object) else {
      throw CoherenceError(
        .wrongContext,
        "An object to merge belongs, or belonged, to a context; make it with `init(entity:insertInto: nil)`.")
    }
    guard object.entity.isKind(of: entity) else {
      throw CoherenceError(
        .wrongType, "An object of '\(object.entity.name)' cannot be merged into '\(entity.name)'.")
    }
    var values: [String: AttributeValue] = [:]
    for attribute in object.entity.attributes { values[attribute.name] = try object.value(for: attribute.name) }
    self.object = object
    self.values = values
    key = MergeKey(values: keyAttributes.map { values[$0.name] ?? .null })
  }

  /// Whether the object never had a context. One whose context is gone has none either, but cannot be used any more.
  private static func isUnattached(_ object: ManagedObject) -> Bool {
    object.managedObjectContext == nil && !object.isInserted && !object.isFault && object.version == 0
  }

  func insert(into context: ActionContext, entity: EntityDescription) throws -> ManagedObject {
    context.insert(object)
    return object
  }
}

/// Values by attribute, and links.
struct RecordMergeItem: MergeItem {
  let key: MergeKey
  let values: [String: AttributeValue]
  let links: [String: MergeLink]

  init(_ record: MergeRecord, for entity: EntityDescription, keyAttributes: [AttributeDescription]) throws {
    var values: [String: AttributeValue] = [:]
    var links: [String: MergeLink] = [:]
    for (name, value) in record.values {
      switch try entity.property(named: name) {
      case let attribute as AttributeDescription:
        values[name] = try Self.checked(value.attributeValue, for: attribute, of: entity)
      default:
        let key = MergeKey(values: [value.attributeValue])
        links[name] = key.isIncomplete ? MergeLink.none : .one(key)
      }
    }
    for (name, link) in record.links { links[name] = link }
    for (name, link) in links { try Self.check(link, name: name, of: entity) }
    self.values = values
    self.links = links
    key = MergeKey(values: keyAttributes.map { values[$0.name] ?? $0.defaultValue })
  }

  /// The value as a record would hold it, so that keys of input and records are compared in one form.
  private static func checked(
    _ value: AttributeValue, for attribute: AttributeDescription, of entity: EntityDescription
  ) throws -> AttributeValue {
    do {
      return try attribute.type.checked(value)
    } catch {
      throw CoherenceError(error.code, "'\(entity.name).\(attribute.name)': \(error.message)")
    }
  }

  private static func check(_ link: MergeLink, name: String, of entity: EntityDescription) throws {
    guard let relationship = try entity.property(named: name) as? RelationshipDescription else {
      throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is an attribute; give its value among `values`.")
    }
    let fits =
      switch link {
      case .none: true
      case .one: !relationship.isToMany
      case .many: relationship.isToMany
      }
    guard fits else {
      let form = relationship.isToMany ? ".many" : ".one"
      throw CoherenceError(.wrongType, "'\(entity.name).\(name)' is to be linked by `\(form)`.")
    }
  }

  func insert(into context: ActionContext, entity: EntityDescription) throws -> ManagedObject {
    let object = try context.insertNewObject(forEntityName: entity.name)
    for (name, value) in values { try object.setAttributeValue(value, for: name) }
    return object
  }
}
