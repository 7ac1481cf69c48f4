import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Foundation
import TestSupport

/// A manager with a separate store.
struct MappingStack {
  let directory = TemporaryDirectory()
  let manager: PersistenceManager
  let configuration: StoreConfiguration

  init(
    _ backend: Backend = .inMemory, model: ManagedObjectModel? = nil, mergePolicy: MergePolicy = .error,
    isLoaded: Bool = true
  ) throws {
    configuration = backend.newConfiguration()
    manager = PersistenceManager(
      name: "Groceries", model: try model ?? Self.groceries(), mergePolicy: mergePolicy,
      storeConfigurations: [configuration], storeLocation: directory.url)
    if isLoaded { try manager.load() }
  }

  /// Groceries without synchronisation and fruits with it. The uids have no uniqueness constraint.
  static func groceries() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("GroceryRecord", class: GroceryRecord.self) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("points", .int64, default: 0)
        Attribute("details", .string, optional: true)
        Attribute("note", .string, optional: true)
        Relationship("shelf", toOne: "Shelf", inverse: "products")
      }
      Entity("Shelf") {
        Attribute("number", .int64, default: 0)
        Relationship("products", toMany: "GroceryRecord", inverse: "shelf", deleteRule: .deny)
      }
      Entity("FruitRecord", class: FruitRecord.self) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("isUploaded", .bool, default: false)
        Attribute("wasDeleted", .bool, default: false)
        Attribute("isKnown", .bool, default: false)
      }
    }
  }

  /// Returns a second manager on the same store, like the manager of another program.
  func makeStranger() throws -> PersistenceManager {
    let stranger = PersistenceManager(
      name: "Groceries", model: manager.container.managedObjectModel, storeConfigurations: [configuration],
      storeLocation: directory.url)
    try stranger.load()
    return stranger
  }

  /// Inserts a record for each model, without matching existing records.
  func insert<Record: RecordFromModel>(_ type: Record.Type, _ models: [Record.ModelType]) throws {
    try work { context in
      for model in models {
        let record = try context.insertNewObject(forEntityName: Record.entityName) as? Record
        try record?.fromModel(model)
      }
      try context.save()
    }
  }

  /// Runs a block in a new worker context.
  func work<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = manager.workerContext
    return try context.performAndWait { try body(context) }
  }

  func products() throws -> [GroceryProduct] {
    try manager.fetchModels(entity: GroceryRecord.self, predicate: nil, sortDescriptors: [SortKey("id")])
  }

  /// The versions of all records by identifier. Writing a record changes its version.
  func versions(of entityName: String = "GroceryRecord") throws -> [ManagedObjectID: Int64] {
    try work { context in
      let records = try context.fetch(FetchRequest<ManagedObject>(entityName: entityName))
      return Dictionary(uniqueKeysWithValues: records.map { ($0.objectID, $0.version) })
    }
  }

  /// Changes the record of a product in a new worker context and saves.
  func change(_ id: String, _ change: (GroceryRecord) throws -> Void) throws {
    try work { context in
      for record in try context.fetch(FetchRequest(GroceryRecord.self).filter(.id(id))) { try change(record) }
      try context.save()
    }
  }
}

extension FetchPredicate {
  /// The records with an `id`.
  static func id(_ id: String) -> FetchPredicate {
    .comparison(.path(PropertyPath("id")), .equal, .value(.string(id)))
  }
}
