import CoherenceCore
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

@Suite struct ConfigurationNameTests {
  private let directory = TemporaryDirectory()

  @Test(arguments: [
    #"it's "a" name"#, "🎷🇮🇸", " a b ", "a/b", "../../a", "select", String(repeating: "seventy", count: 10), "..",
  ])
  func `the file of a configuration with any name is in its directory`(name: String) throws {
    let model = try ManagedObjectModel(
      entities: [Entity("Thing") { Attribute("name", .string) }], configurations: [name: ["Thing"]])
    for number in 1...2 {
      let container = GenericPersistentContainer<ContextStrategy.Direct>(name: "Stores", managedObjectModel: model)
      let store = try container.attachPersistentStore(
        at: directory.url, for: StoreConfiguration(name: name, type: .sqlite))
      let file = try #require(store.environment.url, "\(name)")
      #expect(file.deletingLastPathComponent().standardizedFileURL.path == directory.url.standardizedFileURL.path)
      let context = container.newBackgroundContext()
      try context.performAndWait {
        try context.insertNewObject(forEntityName: "Thing").setValue("a", for: "name")
        try context.save()
        #expect(try context.count(for: FetchRequest<ManagedObject>(entityName: "Thing")) == number)
      }
      try container.persistentStoreCoordinator.remove(store)
    }
    #expect(directory.names.count == 1)
  }

  @Test func `a configuration name too long for a file name is refused`() throws {
    let name = String(repeating: "🎷", count: 70)
    let model = try ManagedObjectModel(entities: [Entity("Thing")], configurations: [name: ["Thing"]])
    let container = GenericPersistentContainer<ContextStrategy.Direct>(name: "Stores", managedObjectModel: model)
    let error = #expect(throws: CoherenceError.self) {
      try container.attachPersistentStore(at: directory.url, for: StoreConfiguration(name: name, type: .sqlite))
    }
    #expect(error?.code == .storeInaccessible)
    #expect(error?.message.contains("too long") == true)
  }
}
