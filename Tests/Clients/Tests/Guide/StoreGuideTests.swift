import CoherenceCore
import Notebook
import Testing

extension StoreType {
  static func notebook(_ notebook: Notebook) -> StoreType { notebook.storeType }
}

@Suite("The article about custom stores")
struct StoreGuideTests {
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
