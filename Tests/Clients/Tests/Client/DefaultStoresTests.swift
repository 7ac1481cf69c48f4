// Named, because a client calls the function by the module's name.
import Coherence
import Foundation
import Testing

@Suite("The stores that come with the face")
struct DefaultStoresTests {
  @Test func `a bare configuration is a SQLite store once the defaults are registered`() throws {
    Coherence.registerDefaults()
    let stack = try Stack()
    defer { stack.remove() }
    let store = try stack.container.attachPersistentStore(for: StoreConfiguration())
    #expect(store.type == .sqlite)
    #expect(store.url?.lastPathComponent == "Notes.sqlite")
    #expect(store.capabilities.contains(.durable))
  }

  @Test func `no configurations are one bare configuration`() throws {
    Coherence.registerDefaults()
    let stack = try Stack()
    defer { stack.remove() }
    let stores = try stack.container.attachPersistentStores(for: [])
    #expect(stores.map(\.type) == [.sqlite])
  }

  @Test func `both stores are found by their names`() throws {
    Coherence.registerDefaults()
    #expect(Set(StoreRegistry.shared.registeredTypes).isSuperset(of: ["InMemory", "SQLite"]))
    let stack = try Stack()
    defer { stack.remove() }
    let store = try stack.container.attachPersistentStore(for: StoreConfiguration(type: "InMemory"))
    #expect(store.type == .inMemory)
    #expect(store.url == nil)
  }

  @Test func `registering the defaults again changes nothing`() {
    Coherence.registerDefaults()
    let types = StoreRegistry.shared.registeredTypes
    Coherence.registerDefaults()
    #expect(StoreRegistry.shared.registeredTypes == types)
  }
}
