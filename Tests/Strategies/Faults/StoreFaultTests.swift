import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Logging
import Testing
import TestSupport

/// The faults of stores and configurations in Coherence 5. Each test is named after the fault and checks that it is
/// fixed.
@Suite("Faults of stores and configurations")
struct StoreFaultTests {
  typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>
  private let directory = TemporaryDirectory()
  private let garbage = Data("this is no database, and long enough to be looked at as one".utf8)

  private func makeContainer(_ model: ManagedObjectModel = ContainerModels.users, log: MessageLog? = nil) -> Container {
    Container(name: "Stores", managedObjectModel: model, storeLocation: directory.url, logger: log?.logger)
  }

  private func write(_ data: Data, to name: String) throws {
    try FileManager.default.createDirectory(at: directory.url, withIntermediateDirectories: true)
    try data.write(to: directory.file(name))
  }

  private func attached(_ container: Container) -> [any PersistentStore] {
    container.persistentStoreCoordinator.persistentStores
  }

  @Test func `fault: an incompatible store is deleted without a backup`() throws {
    try makeContainer().attachPersistentStore(for: StoreConfiguration(type: .sqlite))
    let overwriting = StoreConfiguration(type: .sqlite, overwriteIncompatibleStore: true)
    try makeContainer(ContainerModels.usersAndRoles).attachPersistentStore(for: overwriting)
    let aside = try #require(directory.names.first { $0.hasSuffix(".incompatible") })
    let kept = makeContainer()
    try kept.attachPersistentStore(for: StoreConfiguration(fileName: aside, type: .sqlite))
    let context = kept.newBackgroundContext()
    #expect(try context.performAndWait { try context.count(for: FetchRequest(ContainerUser.self)) } == 0)
  }

  @Test func `fault: an unreadable store is not overwritten`() throws {
    try write(garbage, to: "Stores.sqlite")
    let overwriting = StoreConfiguration(type: .sqlite, overwriteIncompatibleStore: true)
    #expect(try makeContainer().attachPersistentStore(for: overwriting).type == .sqlite)
    #expect(
      try directory.names.contains { name in
        try name.hasSuffix(".incompatible") && Data(contentsOf: directory.file(name)) == garbage
      })
  }

  @Test func `fault: a missing model or directory ends the process`() throws {
    #expect { try Container(name: "Nobody registered this") } throws: { ErrorCode.modelNotFound ~= $0 }
    try write(Data(), to: "file")
    let blocked = directory.file("file").appendingPathComponent("below", isDirectory: true)
    #expect {
      try makeContainer().attachPersistentStore(at: blocked, for: StoreConfiguration(type: .sqlite))
    } throws: { ErrorCode.storeInaccessible ~= $0 }
  }

  @Test func `fault: when one of several stores fails, an unknown part of them is attached`() throws {
    try write(garbage, to: "bad.sqlite")
    let container = makeContainer()
    #expect(throws: CoherenceError.self) {
      try container.attachPersistentStores(for: [
        StoreConfiguration(fileName: "good.sqlite"), StoreConfiguration(fileName: "bad.sqlite"),
      ])
    }
    #expect(attached(container).isEmpty)
  }

  @Test func `fault: when one of several stores is not attached, some are detached`() throws {
    let (container, other) = (makeContainer(), makeContainer())
    let store = try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let foreign = try other.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    #expect { try container.detach(persistentStores: [store, foreign]) } throws: { ErrorCode.storeDetached ~= $0 }
    #expect(attached(container).count == 1 && attached(other).count == 1)
  }

  @Test func `fault: a configuration that the model does not know is accepted without a warning`() throws {
    let log = MessageLog()
    try makeContainer(log: log).attachPersistentStore(for: StoreConfiguration(name: "Unknown", type: .inMemory))
    #expect(log.texts(.warning).contains { $0.contains("Unknown") })
  }

  @Test func `fault: equal configurations have different hashes, and shared configurations change`() {
    let one = StoreConfiguration(fileName: "a.sqlite", options: [StoreOption.readOnly: true])
    var other = one
    #expect(one == other && [one].contains(other) && Set([one, other]).count == 1)
    other.fileName = "b.sqlite"
    #expect(one.fileName == "a.sqlite" && one != other)
  }
}
