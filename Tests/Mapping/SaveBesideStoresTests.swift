import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// Saves of models of an entity that several attached stores hold.
@Suite("Saves of models beside other stores")
struct SaveBesideStoresTests {
  private let products = [GroceryProduct(id: "1", name: "Tea"), GroceryProduct(id: "2", name: "Milk")]

  /// Attaches the store of another manager to read only, with a product that a manager's own store does not have, and with
  /// another product.
  private func attachArchive(to stack: MappingStack, _ backend: Backend) throws -> MappingStack {
    let archive = try MappingStack(backend, model: stack.manager.container.managedObjectModel)
    let archived = [GroceryProduct(id: "1", name: "Old tea"), GroceryProduct(id: "9", name: "Oil")]
    try archive.manager.save(entity: GroceryRecord.self, models: archived, shouldOverwrite: false)
    var readOnly = archive.configuration
    readOnly.location = archive.manager.container.persistentStoreCoordinator.persistentStores.first?.url
    readOnly.options[StoreOption.readOnly] = true
    try stack.manager.container.attachPersistentStore(for: readOnly)
    return archive
  }

  private static let mapping = Mapping<GroceryProduct>("GroceryRecord", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
    Field("points", \.points)
    Field("details", \.details)
  }

  /// Saves by the class of the records, or by a mapping.
  private func save(
    _ models: [GroceryProduct], _ stack: MappingStack, byMapping: Bool, shouldOverwrite: Bool = false,
    in store: (any PersistentStore)? = nil
  ) throws -> SaveResult {
    if byMapping {
      try stack.manager.save(Self.mapping, models: models, shouldOverwrite: shouldOverwrite, in: store)
    } else {
      try stack.manager.save(
        entity: GroceryRecord.self, models: models, shouldOverwrite: shouldOverwrite, in: store)
    }
  }

  @Test(arguments: Backend.available, [true, false])
  func `an overwriting save deletes the records of writable stores alone`(backend: Backend, byMapping: Bool) throws {
    let stack = try MappingStack(backend)
    _ = try save(products, stack, byMapping: byMapping)
    let archive = try attachArchive(to: stack, backend)
    let result = try save(
      [GroceryProduct(id: "1", name: "Green tea")], stack, byMapping: byMapping, shouldOverwrite: true)
    #expect(result.updated == 1 && result.deleted == 1 && result.inserted == 0)
    #expect(try archive.products().map(\.name) == ["Old tea", "Oil"])
    #expect(try stack.products().map(\.name).sorted() == ["Green tea", "Oil", "Old tea"])
  }

  @Test(arguments: Backend.available, [true, false])
  func `a save inserts its new records into the given store`(backend: Backend, byMapping: Bool) throws {
    let stack = try MappingStack(backend)
    _ = try save([products[0]], stack, byMapping: byMapping)
    let other = try stack.manager.container.attachPersistentStore(for: backend.newConfiguration())
    let result = try save(products, stack, byMapping: byMapping, in: other)
    #expect(result.inserted == 1 && result.unchanged == 1)
    let isInOther = try stack.work { context in
      try context.fetch(FetchRequest(GroceryRecord.self).sort("id")).map {
        $0.objectID.storeIdentifier == other.identifier
      }
    }
    #expect(isInOther == [false, true])
  }

  @Test(arguments: Backend.available)
  func `a save of the server's models inserts into the given store`(backend: Backend) throws {
    let stack = try MappingStack(backend)
    let other = try stack.manager.container.attachPersistentStore(for: backend.newConfiguration())
    try stack.manager.save(
      entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server(), in: other)
    let stores = try stack.work { context in
      Set(try context.fetch(FetchRequest(FruitRecord.self)).map(\.objectID.storeIdentifier))
    }
    #expect(stores == [other.identifier])
  }
}
