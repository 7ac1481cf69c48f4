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
}
