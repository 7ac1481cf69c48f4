import CoherenceCore
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// A store and a copy of its file, which has the identifier of the store.
@Suite("Copies of stores")
struct CopiedStoreTests {
  typealias Container = GenericPersistentContainer<ContextStrategy.Direct>
  private let directory = TemporaryDirectory()

  private func makeContainer() -> Container {
    Container(name: "Copies", managedObjectModel: ContainerModels.users, storeLocation: directory.url)
  }

  @discardableResult
  private func attach(_ name: String, to container: Container) throws -> any PersistentStore {
    try container.attachPersistentStore(for: StoreConfiguration(fileName: name, type: .sqlite))
  }

  /// Saves a user in a store and detaches the store.
  private func makeStore(_ name: String) throws -> ManagedObjectID {
    let container = makeContainer()
    let store = try attach(name, to: container)
    let context = container.newBackgroundContext()
    let id = try context.performAndWait {
      let user = try ContainerUser.insert(named: "ada", into: context)
      try context.save()
      return user.objectID
    }
    try container.detach(persistentStore: store)
    return id
  }

  private func copy(_ name: String, to target: String) throws {
    try FileManager.default.copyItem(at: directory.file(name), to: directory.file(target))
  }

  private func names(in container: Container) throws -> [String] {
    let context = container.newBackgroundContext()
    return try context.performAndWait { try context.fetch(FetchRequest(ContainerUser.self)).map(\.userName) }
  }

  @Test func `a store and its copy show their own records`() throws {
    let id = try makeStore("original.sqlite")
    try copy("original.sqlite", to: "copy.sqlite")
    let (original, copied) = (makeContainer(), makeContainer())
    let store = try attach("original.sqlite", to: original)
    #expect(try attach("copy.sqlite", to: copied).identifier == store.identifier)

    try Stack.change(id, in: original) { $0.userName = "in the original" }
    // The objects in use retain their rows, which other contexts may share.
    let reader = original.newBackgroundContext()
    let user = try reader.performAndWait { try reader.user(id) }
    try Stack.change(id, in: copied) { $0.userName = "in the copy" }
    #expect(try names(in: original) == ["in the original"])
    #expect(try names(in: copied) == ["in the copy"])
    withExtendedLifetime(user) {}
  }

  @Test func `a store restored from a backup shows the records of the backup to new contexts`() throws {
    let id = try makeStore("store.sqlite")
    try copy("store.sqlite", to: "backup.sqlite")
    let container = makeContainer()
    let store = try attach("store.sqlite", to: container)
    try Stack.change(id, in: container) { $0.userName = "before the restore" }
    let reader = container.newBackgroundContext()
    let user = try reader.performAndWait { try reader.user(id) }

    try container.detach(persistentStore: store)
    try FileManager.default.removeItem(at: directory.file("store.sqlite"))
    try copy("backup.sqlite", to: "store.sqlite")
    try attach("store.sqlite", to: container)
    #expect(try names(in: container) == ["ada"])
    try Stack.change(id, in: container) { $0.userName = "after the restore" }
    #expect(try names(in: container) == ["after the restore"])
    withExtendedLifetime(user) {}
  }
}
