import CoherenceCore
import Foundation
import Testing

/// Records in dictionaries, to evaluate predicates on.
struct QueryLibrary: RecordSource {
  final class Record {
    let id: ManagedObjectID
    let entity: EntityDescription
    var values: [Int: AttributeValue] = [:]
    var targets: [String: Record] = [:]
    var members: [String: [Record]] = [:]

    init(_ id: ManagedObjectID, _ entity: EntityDescription) {
      self.id = id
      self.entity = entity
    }
  }

  let model: ManagedObjectModel
  private let spaces: IDSpaces
  private let lastKey = Counter()
  private final class Counter { var value: Int64 = 0 }

  init() throws {
    model = try Self.makeModel()
    spaces = IDSpaces(store: StoreIdentifier("library"), model: model)
  }

  func entity(_ name: String) throws -> EntityDescription { try model.entity(named: name) }

  /// Makes a record and sets its attributes.
  @discardableResult
  func make(_ entityName: String, _ values: [String: any AttributeConvertible] = [:]) throws -> Record {
    let entity = try self.entity(entityName)
    lastKey.value += 1
    let record = Record(ManagedObjectID(space: spaces[entity], key: lastKey.value), entity)
    for (name, value) in values {
      let attribute = try #require(entity.attribute(named: name))
      record.values[attribute.slot] = try attribute.type.checked(value.attributeValue)
    }
    return record
  }

  // MARK: RecordSource

  func id(of record: Record) -> ManagedObjectID { record.id }
  func entity(of record: Record) -> EntityDescription { record.entity }

  func value(_ slot: Int, of record: Record) throws -> AttributeValue {
    if case .reference(let relationship) = record.entity.slots[slot] {
      return record.targets[relationship.name].map { .reference($0.id) } ?? .null
    }
    return record.values[slot] ?? .null
  }

  func target(of relationship: RelationshipDescription, from record: Record) throws -> Record? {
    record.targets[relationship.name]
  }

  func members(of relationship: RelationshipDescription, from record: Record) throws -> [Record] {
    record.members[relationship.name] ?? []
  }

  // MARK: Questions

  /// Whether a record satisfies a predicate put to an entity, or to its own.
  func holds(_ predicate: FetchPredicate, for record: Record, as entityName: String? = nil) throws -> Bool {
    let entity = try entityName.map { try self.entity($0) } ?? record.entity
    return try PreparedPredicate(predicate, for: entity).matches(record, in: self)
  }

  func holds(_ format: String, _ arguments: (any Sendable)?..., for record: Record, as entityName: String? = nil) throws
    -> Bool
  {
    try holds(try FetchPredicate(format: format, arguments: arguments), for: record, as: entityName)
  }

  /// The error of preparing a predicate.
  func refusal(of format: String, _ arguments: (any Sendable)?..., for entityName: String = "Album") throws
    -> CoherenceError?
  {
    let predicate = try FetchPredicate(format: format, arguments: arguments)
    let entity = try self.entity(entityName)
    do {
      _ = try PreparedPredicate(predicate, for: entity)
      return nil
    } catch {
      return error
    }
  }
}
