import CoherenceCore
import CoherenceInMemory
import CoherenceReconciliation
import Testing

/// The rows read for keys of several attributes.
@Suite struct KeyOrderTests {
  @Test func `the conditions of keys of two attributes match few rows without one of the keys`() throws {
    let model = try ManagedObjectModel {
      Entity("Seat", uniqueness: [["row", "place"]]) {
        Attribute("row", .int64)
        Attribute("place", .int64)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(coordinator: coordinator)
    let entity = try model.entity(named: "Seat")
    let row = try #require(entity.attribute(named: "row"))
    let place = try #require(entity.attribute(named: "place"))
    func key(_ number: Int) -> [AttributeValue] { [.int(Int64(number / 50)), .int(Int64(number % 50))] }
    try context.performAndWait {
      let seats = (0..<5_000).map { number in ["row": key(number)[0], "place": key(number)[1]] }
      try context.execute(BatchInsertRequest(entityName: "Seat", rows: seats))
      let rows = StoredRows(entity, keyAttributes: [row, place], in: context)
      // All places of 20 rows, each after a distant one.
      let keys = KeyColumns((0..<1_000).map { key($0 * 333 % 1_000) }, width: 2)
      var matchCount = 0
      try rows.forEachPredicate(matching: keys) { predicate in
        matchCount += try context.count(for: rows.request(ManagedObject.self, where: predicate))
      }
      #expect(matchCount == 1_000)
    }
  }
}
