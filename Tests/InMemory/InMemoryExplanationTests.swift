import CoherenceCore
import CoherenceInMemory
import Testing

@Suite struct InMemoryExplanationTests {
  @Test func `an explanation names the index for the candidates, or the scan`() throws {
    let model = try ManagedObjectModel {
      Entity("Album", uniqueness: [["code"]]) {
        Attribute("code", .string)
        Attribute("year", .int32, optional: true)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for code in ["a", "b", "c"] {
        try context.insertNewObject(forEntityName: "Album").setValue(code, for: "code")
      }
      try context.save()
      var request = FetchRequest<ManagedObject>(entityName: "Album")
      request.predicate = try FetchPredicate(format: "code == 'b' AND year >= 0")
      let found = try #require(try context.explain(request).stores.first).query.steps
      let search = QueryStep("Search", table: "Album", index: "code", estimatedRecords: 1)
      #expect(found == [QueryStep("Sort", steps: [QueryStep("Filter", steps: [search])])])
      request.predicate = nil
      request.fetchLimit = 2
      let all = try #require(try context.explain(request).stores.first).query.steps
      let scan = QueryStep("Scan", table: "Album", estimatedRecords: 3)
      #expect(all == [QueryStep("Range", steps: [QueryStep("Sort", steps: [scan])])])
    }
  }

  /// A part of the key has the same value in all records, so that a search for it alone would cost as much as a scan.
  @Test(arguments: [
    ("shop == 'central' AND number == 3", "shop", 1.0),
    ("shop == 'central' AND customer == 'c3'", "customer", 1.0),
    ("(shop == 'central' AND number == 3) OR (shop == 'north' AND number == 5)", "shop", 2.0),
    ("number IN {3, 5} OR customer == 'c7'", "number", 5.0),
  ])
  func `a fetch of few records by a key of several attributes has few candidates, however many share a part of the key`(
    format: String, index: String, candidates: Double
  ) throws {
    let model = try ManagedObjectModel {
      Entity("Order", uniqueness: [["shop", "number"]], indexes: [["customer"]]) {
        Attribute("shop", .string)
        Attribute("number", .int64)
        Attribute("customer", .string)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for index in 0..<100 {
        let order = try context.insertNewObject(forEntityName: "Order")
        try order.setValue(index < 50 ? "central" : "north", for: "shop")
        try order.setValue(Int64(index % 50), for: "number")
        try order.setValue("c\(index)", for: "customer")
      }
      try context.save()
      var request = FetchRequest<ManagedObject>(entityName: "Order")
      request.predicate = try FetchPredicate(format: format)
      let steps = try #require(try context.explain(request).stores.first).query.steps
      let search = QueryStep("Search", table: "Order", index: index, estimatedRecords: candidates)
      #expect(steps == [QueryStep("Sort", steps: [QueryStep("Filter", steps: [search])])])
      #expect(try context.fetch(request).count == Int(candidates))
    }
  }
}
