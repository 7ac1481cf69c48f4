import Coherence
import Foundation
import Testing

@Suite("The default stores of the product Coherence")
struct DefaultStoresTests {
  @Test func `a default configuration opens a SQLite store without registration`() throws {
    let stack = try Stack()
    defer { stack.remove() }
    let store = try stack.container.attachPersistentStore(for: StoreConfiguration())
    #expect(store.type == .sqlite)
    #expect(store.url?.lastPathComponent == "Notes.sqlite")
    #expect(store.capabilities.contains(.durable))
  }

  @Test func `a container attaches its default store without arguments`() throws {
    let stack = try Stack()
    defer { stack.remove() }
    #expect(try stack.container.attachPersistentStore().type == .sqlite)
  }

  @Test func `an empty list of configurations means one default configuration`() throws {
    let stack = try Stack()
    defer { stack.remove() }
    let stores = try stack.container.attachPersistentStores(for: [])
    #expect(stores.map(\.type) == [.sqlite])
  }

  @Test func `a Connect started without stores has the default store`() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString, isDirectory: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Notes", managedObjectModel: try ManagedObjectModel(Note.self), storeLocation: directory)
    try connect.start()
    #expect(connect.persistentStoreCoordinator.persistentStores.map(\.type) == [.sqlite])
    try connect.stop()
  }

  @Test func `both stores are found by their names`() throws {
    #expect(Set(StoreRegistry.shared.registeredTypes).isSuperset(of: ["InMemory", "SQLite"]))
    let stack = try Stack()
    defer { stack.remove() }
    let store = try stack.container.attachPersistentStore(for: StoreConfiguration(type: "InMemory"))
    #expect(store.type == .inMemory)
    #expect(store.url == nil)
  }

  @Test func `a custom registry knows the stores registered in it`() {
    let registry = StoreRegistry()
    #expect(registry.registeredTypes.isEmpty)
    for _ in 1...2 { registerDefaults(in: registry) }
    #expect(registry.registeredTypes == ["InMemory", "SQLite"])
  }
}
