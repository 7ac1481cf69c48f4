import CoherenceCore
import CoherenceInMemory
import CoherenceReconciliation
import Testing

/// An item, stored or in the input.
struct Item {
  let id: Int64?
  let name: String

  init(_ id: Int64?, _ name: String) {
    self.id = id
    self.name = name
  }
}

/// An in-memory store of items without a constraint on their identifiers, and a context.
struct ItemStack {
  let context: ManagedObjectContext
  let entity: EntityDescription

  init(_ items: [Item] = []) throws {
    let model = try ManagedObjectModel {
      Entity("Item") {
        Attribute("id", .int64, optional: true)
        Attribute("name", .string)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(coordinator: coordinator)
    self.context = context
    entity = try model.entity(named: "Item")
    try context.performAndWait {
      for item in items {
        let object = try context.insertNewObject(forEntityName: "Item")
        try object.setValue(item.id, for: "id")
        try object.setValue(item.name, for: "name")
        // One save for each item makes the order of their ages certain.
        if items.count < 100 { try context.save() }
      }
      try context.save()
    }
  }

  /// Returns a scan of the stored items, and the index of the input.
  func scan(
    _ items: [Item], duplicates: ScanOptions.Duplicates = .keep, includesIncompleteKeys: Bool = false
  ) throws -> (scan: RowScan, index: InputIndex) {
    let input = ItemInput(items, entity)
    let index = InputIndex(input, keyWidth: 1)
    for item in items.indices {
      _ = try index.insert(item, key: [input.keys[item]], replacesEarlier: true)
    }
    let key = try #require(entity.attribute(named: "id"))
    let scan = RowScan(
      StoredRows(entity, keyAttributes: [key], in: context), inputByKey: index, expected: input,
      options: ScanOptions(
        duplicates: duplicates, includesSubentities: true, includesIncompleteKeys: includesIncompleteKeys))
    return (scan, index)
  }

  /// The name in a row.
  func name(_ row: Row) -> AttributeValue? { entity.attribute(named: "name").map { row[$0.slot] } }
}

/// Items as input, whose names are expected of the stored items.
final class ItemInput: KeyedInput, ExpectedValues {
  let keys: [AttributeValue]
  private let names: [String]
  private let entity: EntityDescription
  private(set) var forgotten: Set<Int> = []

  init(_ items: [Item], _ entity: EntityDescription) {
    keys = items.map { $0.id.map(AttributeValue.int) ?? .null }
    names = items.map(\.name)
    self.entity = entity
  }

  var count: Int { keys.count }

  func readKey(_ index: Int, into key: inout [AttributeValue]) { key[0] = keys[index] }

  func readExpectedValues(
    _ index: Int, of id: ManagedObjectID, into values: inout [AttributeValue?]
  ) throws -> RowComparison {
    values = Array(repeating: nil, count: entity.slotCount)
    if let slot = entity.attribute(named: "name")?.slot { values[slot] = .string(names[index]) }
    return .inStore
  }

  func comparedSlotCount(_ index: Int, of row: Row) -> Int { entity.slotCount }

  func forget(_ indexes: Set<Int>) { forgotten.formUnion(indexes) }
}
