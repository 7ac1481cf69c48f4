import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Testing
import TestSupport

/// Overwriting saves of models whose records are deleted with other records by a delete rule.
@Suite("Saves of models beside cascades")
struct CascadeSaveTests {
  /// - Parameter isRequired: Whether each record has a box.
  private static func boxes(isRequired: Bool = false) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("GroceryRecord", class: GroceryRecord.self) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("points", .int64, default: 0)
        Attribute("details", .string, optional: true)
        Relationship("box", toOne: "GroceryRecord", inverse: "contents", optional: !isRequired)
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

  @Test(arguments: Backend.available, [true, false])
  func `a record stays when a record with a model requires it`(backend: Backend, byMapping: Bool) throws {
    let stack = try MappingStack(backend, model: try Self.boxes(isRequired: true))
    try stack.work { context in
      var box: GroceryRecord?
      for product in GroceryProduct.four.sorted(by: { $0.id < $1.id }) {
        let record = try #require(try context.insertNewObject(forEntityName: "GroceryRecord") as? GroceryRecord)
        try record.fromModel(product)
        // The first record is its own box.
        box = box ?? record
        try record.setObject(box, for: "box")
      }
      try context.save()
    }
    let kept = [GroceryProduct.blackberry, GroceryProduct.durian]
    let result =
      try byMapping
      ? stack.manager.save(Self.mapping, models: kept, shouldOverwrite: true)
      : stack.manager.save(entity: GroceryRecord.self, models: kept, shouldOverwrite: true)
    #expect(result.deleted == 1 && result.unchanged == 2)
    #expect(try stack.products().map(\.id) == ["1", "2", "3"])
  }

  /// - Parameter isRequired: Whether each fruit has a basket.
  private static func baskets(isRequired: Bool = false) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("FruitRecord", class: FruitRecord.self) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("isUploaded", .bool, default: false)
        Attribute("wasDeleted", .bool, default: false)
        Attribute("isKnown", .bool, default: false)
        Relationship("basket", toOne: "FruitRecord", inverse: "contents", optional: !isRequired)
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

  @Test(arguments: Deletion.allCases)
  func `the reads of marks of deletion do not grow with the number of records that the server never had`(
    deletion: Deletion
  ) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let reads = try [4, 40].map { count in
        let store = EvolvingStore(.sqlite)
        return try store.run(try Self.baskets()) { manager in
          let context = manager.container.newBackgroundContext()
          try context.performAndWait {
            for number in 0..<count {
              let (basket, fruit) = (try FruitRecord(context: context), try FruitRecord(context: context))
              basket.fromModel(Fruit(uid: "basket \(number)", name: ""))
              fruit.fromModel(Fruit(uid: "fruit \(number)", name: ""))
              try fruit.setObject(basket, for: "basket")
              try fruit.setValue(true, for: "isKnown")
            }
            try context.save()
          }
          store.log.removeAll()
          switch deletion {
          case .overwritingSave:
            try manager.save(entity: FruitRecord.self, models: [], shouldOverwrite: true, from: .here)
          case .allRecords: try manager.markAllRecordsAsDeleted(entity: FruitRecord.self)
          case .newRecord:
            try manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: (0..<count).map { "basket \($0)" })
          }
          return store.log.reads.count
        }
      }
      #expect(reads[1] <= reads[0] + 2, "\(reads)")
    }
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

  // MARK: Marks of deletion

  /// A stack with the fruit 1, which the server has, and new fruits.
  ///
  /// - Parameter baskets: The uids of baskets by the uids of their contents.
  private func stack(_ backend: Backend, newCount: Int, baskets: [String: String]) throws -> MappingStack {
    let stack = try MappingStack(backend, model: try Self.baskets())
    try stack.manager.save(entity: FruitRecord.self, models: [Fruit.four[0]], shouldOverwrite: true, from: .server())
    try stack.manager.save(
      entity: FruitRecord.self, models: Array(Fruit.four[1...newCount]), shouldOverwrite: false, from: .here)
    try stack.work { context in
      let records = try context.fetch(FetchRequest(FruitRecord.self))
      for record in records {
        guard let uid = baskets[record.uid] else { continue }
        try record.setObject(records.first { $0.uid == uid }, for: "basket")
      }
      try context.save()
    }
    return stack
  }

  private func deletions(_ stack: MappingStack) throws -> [String] {
    let deleted: [FruitRecord] = try stack.manager.fetchRecordsToDelete()
    return deleted.map(\.uid)
  }

  @Test(arguments: Backend.available)
  func `a record that the server has is marked as deleted when a cascade reaches it through another new record`(
    backend: Backend
  ) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let stack = try stack(backend, newCount: 2, baskets: ["1": "2", "2": "3"])
      try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["3"])
      #expect(try deletions(stack) == ["1"])
      #expect(try stack.manager.fetchModels(entity: FruitRecord.self).isEmpty)
    }
  }

  @Test(arguments: Backend.available)
  func `a record that the server has is not marked when a new record that refers to it is deleted`(
    backend: Backend
  ) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let stack = try stack(backend, newCount: 1, baskets: ["2": "1"])
      try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["2"])
      #expect(try deletions(stack).isEmpty)
      #expect(try stack.manager.fetchModels(entity: FruitRecord.self) == [Fruit.four[0]])
    }
  }

  @Test(arguments: Backend.available)
  func `a deletion that the server has received is not uploaded again when a cascade reaches its record`(
    backend: Backend
  ) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let stack = try stack(backend, newCount: 1, baskets: ["1": "2"])
      try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1"])
      try stack.manager.markRecordsAsUploaded(entity: FruitRecord.self, uids: ["1"])
      try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["2"])
      #expect(try deletions(stack).isEmpty)
      #expect(try stack.manager.purgeDeletedRecords(entity: FruitRecord.self) == 1)
    }
  }

  @Test(arguments: Backend.available)
  func `a record that the server has and that requires its owner is deleted with a new owner`(backend: Backend) throws {
    try FruitRecord.$knowsServer.withValue(true) {
      let stack = try MappingStack(backend, model: try Self.baskets(isRequired: true))
      try stack.work { context in
        var basket: FruitRecord?
        for fruit in Fruit.four.prefix(2) {
          let record = try #require(try context.insertNewObject(forEntityName: "FruitRecord") as? FruitRecord)
          record.fromModel(fruit)
          // The first record is its own basket.
          basket = basket ?? record
          try record.setObject(basket, for: "basket")
          try record.setValue(record !== basket, for: "isKnown")
        }
        try context.save()
      }
      try stack.manager.markRecordsAsDeleted(entity: FruitRecord.self, uids: ["1"])
      #expect(try stack.versions(of: "FruitRecord").isEmpty)
    }
  }
}
