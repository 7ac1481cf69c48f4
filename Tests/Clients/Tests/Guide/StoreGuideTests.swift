import CoherenceConformance
import CoherenceCore
import Notebook
import Testing

extension StoreType {
  static func notebook(_ notebook: Notebook) -> StoreType { notebook.storeType }
}

struct NotesHarness: StoreHarness {
  let name = "Notes"

  func makeLocation() throws -> any StoreLocation { NotesLocation() }

  var skips: [String: String] {
    ConformanceSuite.skips(ofArea: "Migration", because: "The store is opened with its own model only.")
  }
}

/// A fresh place for a store, which keeps its content while stores are opened and closed here.
final class NotesLocation: StoreLocation {
  let type = Notebook().storeType

  func destroy() throws {}
}

@Suite("The article about custom stores")
struct StoreGuideTests {
  @Test func `a harness has no faults`() {
    #expect(ConformanceSuite.faults(of: NotesHarness()) == [])
  }

  @Test func `a store is attached by its type`() throws {
    let model = try ManagedObjectModel { Entity("Book") { Attribute("title", .string) } }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .notebook(Notebook()))
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      try context.insertNewObject(forEntityName: "Book").setValue("Lavinia", for: "title")
      try context.save()
    }
    #expect(try context.performAndWait { try context.count(for: FetchRequest<ManagedObject>(entityName: "Book")) } == 1)
  }
}
