@testable import CoherenceCore
import CoherenceInMemory
import Testing

/// The temporary identifiers of a parent's records that a child has returned before it had objects of the records.
@Suite struct ExposedIdentifierTests {
  @Test(arguments: [false, true])
  func `a child finds a record by an identifier from before the save, and keeps no list of such identifiers`(
    isParent: Bool
  ) throws {
    let model = try ManagedObjectModel { Entity("Note") { Attribute("title", .string) } }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    let parent = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    let grandchild = isParent ? ManagedObjectContext(concurrencyType: .privateQueue, parent: child) : nil
    try parent.performAndWait {
      try parent.insertNewObject(forEntityName: "Note").setValue("A", for: "title")
    }
    let (former, note) = try child.performAndWait {
      let request = FetchRequest<ManagedObject>(entityName: "Note")
      let former = try #require(try child.fetchIDs(request).first)
      let note = try #require(try child.fetch(request).first)
      return (former, note)
    }
    #expect(former.isTemporaryID)
    try parent.performAndWait { try parent.save() }
    try child.performAndWait {
      #expect(child.storage.exposedTemporaryIDs.isEmpty)
      let found = try child.existingObject(with: former)
      #expect(found === note)
    }
    withExtendedLifetime(grandchild) {}
  }
}
