import CoherenceCore
import CoherenceMapping
import Testing
import TestSupport

/// Overwriting saves of models whose records are deleted with other records by a delete rule.
@Suite("Saves of models beside cascades")
struct CascadeSaveTests {
  private static func boxes() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("GroceryRecord", class: GroceryRecord.self) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("points", .int64, default: 0)
        Attribute("details", .string, optional: true)
        Relationship("box", toOne: "GroceryRecord", inverse: "contents")
        Relationship("contents", toMany: "GroceryRecord", inverse: "box", deleteRule: .cascade)
      }
    }
  }

  private static let mapping = Mapping<GroceryProduct>("GroceryRecord", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
    Field("points", \.points)
    Field("details", \.details)
  }

  @Test(arguments: Backend.available, [true, false])
  func `a record with a model stays when an overwriting save deletes the record that contains it`(
    backend: Backend, byMapping: Bool
  ) throws {
    let stack = try MappingStack(backend, model: try Self.boxes())
    try stack.insert(GroceryRecord.self, GroceryProduct.four)
    try stack.work { context in
      let records = try context.fetch(FetchRequest(GroceryRecord.self).sort("id"))
      for record in records.dropFirst() { try record.setObject(records[0], for: "box") }
      try context.save()
    }
    let kept = [GroceryProduct.blackberry, GroceryProduct(id: "3", name: "Renamed")]
    let result =
      try byMapping
      ? stack.manager.save(Self.mapping, models: kept, shouldOverwrite: true)
      : stack.manager.save(entity: GroceryRecord.self, models: kept, shouldOverwrite: true)
    #expect(result.deleted == 2 && result.inserted == 0)
    #expect(try stack.products() == kept)
  }

  private static func baskets() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("FruitRecord", class: FruitRecord.self) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("isUploaded", .bool, default: false)
        Attribute("wasDeleted", .bool, default: false)
        Attribute("isKnown", .bool, default: false)
        Relationship("basket", toOne: "FruitRecord", inverse: "contents")
        Relationship("contents", toMany: "FruitRecord", inverse: "basket", deleteRule: .cascade)
      }
    }
  }

  @Test(arguments: Backend.available, SyncOrigin.UnsentEdits.allCases)
  func `a record that awaits its upload stays when a save of the server deletes the record that contains it`(
    backend: Backend, unsent: SyncOrigin.UnsentEdits
  ) throws {
    let stack = try MappingStack(backend, model: try Self.baskets())
    let manager = stack.manager
    try manager.save(entity: FruitRecord.self, models: Fruit.four, shouldOverwrite: true, from: .server())
    try stack.work { context in
      let records = try context.fetch(FetchRequest(FruitRecord.self).sort("id"))
      for record in records[1...2] { try record.setObject(records[0], for: "basket") }
      try context.save()
    }
    let edited = Fruit(uid: "2", name: "Edited")
    try manager.save(entity: FruitRecord.self, models: [edited], shouldOverwrite: false, from: .here)
    let result = try manager.save(
      entity: FruitRecord.self, models: [Fruit.four[3]], shouldOverwrite: true, from: .server(unsent))
    #expect(result.deleted == (unsent == .kept ? 2 : 3))
    let fruits: [Fruit] = try manager.fetchModels(
      entity: FruitRecord.self, predicate: nil, sortDescriptors: [SortKey("id")])
    #expect(fruits == (unsent == .kept ? [edited, Fruit.four[3]] : [Fruit.four[3]]))
  }

  /// The ways to delete all fruits on this side.
  enum Deletion: CaseIterable { case overwritingSave, allRecords, newRecord }

  @Test(arguments: Backend.available, Deletion.allCases)
  func `a record that the server has is marked as deleted when a cascade of a new record reaches it`(
    backend: Backend, deletion: Deletion
  ) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let stack = try MappingStack(backend, model: try Self.baskets())
      let manager = stack.manager
      try manager.save(entity: FruitRecord.self, models: [Fruit.four[0]], shouldOverwrite: true, from: .server())
      try manager.save(entity: FruitRecord.self, models: [Fruit.four[1]], shouldOverwrite: false, from: .here)
      try stack.work { context in
        let records = try context.fetch(FetchRequest(FruitRecord.self).sort("id"))
        try records[0].setObject(records[1], for: "basket")
        try context.save()
      }
      switch deletion {
      case .overwritingSave:
        let result = try manager.save(entity: FruitRecord.self, models: [], shouldOverwrite: true, from: .here)
        #expect(result.deleted == 2)
      case .allRecords: try manager.markAllRecordsAsDeleted(entity: FruitRecord.self)
      case .newRecord: try manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["2"])
      }
      let deleted: [FruitRecord] = try manager.fetchRecordsToDelete()
      #expect(deleted.map(\.uid) == ["1"])
      #expect(try manager.fetchModels(entity: FruitRecord.self).isEmpty)
    }
  }
}
