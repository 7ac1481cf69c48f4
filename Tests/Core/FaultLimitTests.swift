import CoherenceCore
import Testing

@Suite struct FaultLimitTests {
  @Test func `a fault policy with the greatest limit reports no fault`() throws {
    let model = try ManagedObjectModel { Entity("Note") { Attribute("title", .string) } }
    let coordinator = try PersistentStoreCoordinator(inMemory: model)
    // A cached row would load the object without a fault.
    coordinator.rowCachePolicy = .off
    let writer = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let id = try writer.performAndWait {
      let note = try writer.insertNewObject(forEntityName: "Note")
      try note.setValue("A", for: "title")
      try writer.save()
      return note.objectID
    }
    let reader = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    reader.faultPolicy = .report(after: .max) { _ in Issue.record("The fault is below the limit.") }
    let title = try reader.performAndWait { try reader.object(with: id).value(for: "title", as: String.self) }
    #expect(title == "A")
  }
}
