import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// Stores without the constraints of keys, like stores of earlier versions of the framework.
@Suite("Adding the constraints of keys to stores", .timeLimit(.minutes(15)))
struct KeyUpgradeTests {
  private typealias Container = GenericPersistentContainer<ContextStrategy.Direct>

  /// The location of a store of people with pets.
  private struct PeopleStore {
    let directory = TemporaryDirectory()
    let configuration: StoreConfiguration

    init(_ backend: Backend) { configuration = backend.newConfiguration() }

    /// Attaches the store for a model whose people have a key, or none.
    func open(key: String? = "email", _ options: [String: OptionValue] = [:]) throws -> Container {
      let model = try ManagedObjectModel(name: "People") {
        Entity("Person", userInfo: key.map { [EntityDescription.keySetting: $0] } ?? [:]) {
          Attribute("email", .string, optional: true)
          Attribute("name", .string)
        }
        Entity("Pet") {
          Attribute("name", .string)
          Relationship("owner", toOne: "Person", inverse: nil)
          Relationship("friends", toMany: "Person", inverse: nil)
          Attribute("sitter", .weakReference(to: "Person"), optional: true)
        }
      }
      let container = Container(name: "People", managedObjectModel: model, storeLocation: directory.url)
      var configuration = configuration
      configuration.options.merge(options) { $1 }
      try container.attachPersistentStore(for: configuration)
      return container
    }

    /// Runs a block with the store attached.
    func with<T>(
      key: String? = "email", _ options: [String: OptionValue] = [:], _ body: (BackgroundContext) throws -> T
    ) throws -> T {
      let container = try open(key: key, options)
      let context = container.newBackgroundContext()
      let result = try context.performAndWait { try body(context) }
      try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
      return result
    }

    /// Inserts people through a model without a key.
    func fill(_ people: [(String?, String)]) throws {
      try with(key: nil) { context in
        for (email, name) in people { try Self.insert(email, name, into: context) }
        try context.save()
      }
    }

    @discardableResult
    static func insert(_ email: String?, _ name: String, into context: ManagedObjectContext) throws -> ManagedObject {
      let person = try context.insertNewObject(forEntityName: "Person")
      try person.setValue(email, for: "email")
      try person.setValue(name, for: "name")
      return person
    }

    static func names(_ context: ManagedObjectContext) throws -> [String] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
        .map { try $0.value(for: "name", as: String.self) }.sorted()
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a store without a key's constraint gets the constraint when it is attached`(backend: Backend) throws {
    let store = PeopleStore(backend)
    try store.fill([("a@x", "a"), ("b@x", "b"), (nil, "c"), (nil, "d")])
    try store.with { context in
      #expect(try PeopleStore.names(context) == ["a", "b", "c", "d"])
      try PeopleStore.insert("a@x", "other", into: context)
      #expect { try context.save() } throws: { ErrorCode.uniquenessViolated ~= $0 }
    }
    // A program with the former model can use the store, and attaching the key's model restores the constraint.
    try store.with(key: nil) { context in
      #expect(try PeopleStore.names(context) == ["a", "b", "c", "d"])
      try PeopleStore.insert("e@x", "e", into: context)
      try context.save()
    }
    try store.with { context in
      try PeopleStore.insert("e@x", "other", into: context)
      #expect { try context.save() } throws: { ErrorCode.uniquenessViolated ~= $0 }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a store with duplicate keys is refused with their number, and attached after mergeDuplicates`(
    backend: Backend
  ) throws {
    let store = PeopleStore(backend)
    try store.fill([("a@x", "older"), ("a@x", "newer"), ("b@x", "b"), (nil, "c"), (nil, "d")])
    try store.with(key: nil) { context in
      let people = try context.fetch(FetchRequest<ManagedObject>(entityName: "Person"))
      let older = try #require(try people.first { try $0.value(for: "name", as: String.self) == "older" })
      let pet = try context.insertNewObject(forEntityName: "Pet")
      try pet.setValue("Rex", for: "name")
      try pet.setObject(older, for: "owner")
      try pet.setObjects(people, for: "friends")
      try pet.setReferencedObject(older, for: "sitter")
      try context.save()
    }
    for _ in 0..<2 {
      let error = #expect(throws: CoherenceError.self) { _ = try store.open() }
      #expect(error?.code == .duplicateKeys)
      let duplicates = try #require(error?.duplicateKeys.first)
      #expect(duplicates.entityName == "Person" && duplicates.propertyNames == ["email"])
      #expect(duplicates.valueCount == 1 && duplicates.recordCount == 2 && duplicates.examples.count == 1)
      let message = try #require(error?.message)
      #expect(["Person", "email", StoreOption.allowsDuplicateKeys].allSatisfy(message.contains))
      #expect(!message.contains("a@x"))
    }
    try store.with(options) { context in
      #expect(try PeopleStore.names(context) == ["b", "c", "d", "newer", "older"])
      #expect(try context.mergeDuplicates(of: "Person") == 1)
      try context.save()
    }
    try store.with { context in
      #expect(try PeopleStore.names(context) == ["b", "c", "d", "newer"])
      let pet = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Pet")).first)
      #expect(try pet.object(for: "owner")?.value(for: "name", as: String.self) == "newer")
      #expect(try pet.objects(for: "friends").count == 4)
      #expect(try pet.referencedObject(for: "sitter")?.value(for: "name", as: String.self) == "newer")
      try PeopleStore.insert("a@x", "other", into: context)
      #expect { try context.save() } throws: { ErrorCode.uniquenessViolated ~= $0 }
    }
  }

  private let options: [String: OptionValue] = [StoreOption.allowsDuplicateKeys: true]

  @Test(arguments: Backend.availableSQL)
  func `allowing duplicates keeps an existing constraint, and a read-only store gets none`(
    backend: Backend
  ) throws {
    let store = PeopleStore(backend)
    try store.fill([("a@x", "a"), ("a@x", "b")])
    // An unchangeable store gets no constraint, so its duplicates are accepted.
    for option in [StoreOption.migrateAutomatically: false, StoreOption.readOnly: true] as [String: OptionValue] {
      let names = try store.with([option.key: option.value]) { try PeopleStore.names($0) }
      #expect(names == ["a", "b"])
    }
    try store.with(options) { context in
      _ = try context.mergeDuplicates(of: "Person")
      try context.save()
    }
    try store.with { _ in }
    try store.with(options) { context in
      try PeopleStore.insert("a@x", "other", into: context)
      #expect { try context.save() } throws: { ErrorCode.uniquenessViolated ~= $0 }
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `duplicates of a declared constraint are no duplicate keys, although a sibling entity has such a key`(
    backend: Backend
  ) throws {
    let directory = TemporaryDirectory()
    let configuration = backend.newConfiguration()
    func open(isUnique: Bool) throws -> Container {
      let model = try ManagedObjectModel(name: "Items") {
        Entity("Item") { Attribute("code", .string) }
        Entity("Book", parent: "Item", uniqueness: isUnique ? [["code"]] : [])
        Entity("Film", parent: "Item", userInfo: isUnique ? [EntityDescription.keySetting: "code"] : [:])
      }
      let container = Container(name: "Items", managedObjectModel: model, storeLocation: directory.url)
      try container.attachPersistentStore(for: configuration)
      return container
    }
    let container = try open(isUnique: false)
    let context = container.newBackgroundContext()
    try context.performAndWait {
      for _ in 0..<2 { try context.insertNewObject(forEntityName: "Book").setValue("a", for: "code") }
      try context.save()
    }
    try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)
    let error = #expect(throws: CoherenceError.self) { _ = try open(isUnique: true) }
    #expect(error?.code == .incompatibleModel)
    #expect(error?.duplicateKeys.map(\.entityName) == ["Book"])
  }
}
