import CoherenceCore
import CoherenceInMemory
import Testing

/// Requests for the records of some stores, or of the stores that can be changed: over a store that only reads and two
/// others, with a record each.
@Suite struct StoresOfRequestTests {
  private let context: ManagedObjectContext
  /// The store that only reads, and the two others.
  private let stores: [StoreIdentifier]

  private var things: FetchRequest<ManagedObject> { FetchRequest(entityName: "Thing") }

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Thing") {
        Attribute("name", .string)
        Attribute("size", .int64, default: 0)
      }
    }
    var options: [String: OptionValue] = [
      InMemoryOption.sharedName: .string("things \(UInt64.random(in: 0...(.max)))")
    ]
    let writer = PersistentStoreCoordinator(managedObjectModel: model)
    let source = try writer.addPersistentStore(type: .inMemory, options: options)
    try Self.insert("fixed", into: source, of: writer)
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    options[StoreOption.readOnly] = true
    let fixed = try coordinator.addPersistentStore(type: .inMemory, options: options)
    // The shared content lives as long as a store of its name is open.
    withExtendedLifetime(writer) {}
    let first = try coordinator.addPersistentStore(type: .inMemory)
    let second = try coordinator.addPersistentStore(type: .inMemory)
    try Self.insert("first", into: first, of: coordinator)
    try Self.insert("second", into: second, of: coordinator)
    context = ManagedObjectContext(coordinator: coordinator)
    stores = [fixed.identifier, first.identifier, second.identifier]
  }

  private static func insert(
    _ name: String, into store: any PersistentStore, of coordinator: PersistentStoreCoordinator
  ) throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      let thing = try context.insertNewObject(forEntityName: "Thing")
      try thing.setValue(name, for: "name")
      try context.assign(thing, to: store)
      try context.save()
    }
  }

  private func names(_ request: FetchRequest<ManagedObject>, in other: ManagedObjectContext? = nil) throws -> [String] {
    let context = other ?? self.context
    return try context.performAndWait {
      try context.fetch(request).map { try $0.value(for: "name", as: String.self) }.sorted()
    }
  }

  @Test func `a fetch finds the records of the stores that it names, and of the stores that can be changed`() throws {
    #expect(try names(things) == ["first", "fixed", "second"])
    #expect(try names(things.inWritableStores()) == ["first", "second"])
    #expect(try names(things.inStores([stores[0], stores[2]])) == ["fixed", "second"])
    #expect(try names(things.inStores([stores[0], stores[2]]).inWritableStores()) == ["second"])
  }

  @Test func `a context of some stores finds and deletes the records of these stores alone`() throws {
    context.storeIdentifiers = [stores[0], stores[1]]
    #expect(try names(things) == ["first", "fixed"])
    #expect(try names(things.inWritableStores()) == ["first"])
    #expect(try names(things.inStores([stores[1], stores[2]])) == ["first"])
    let others = try FetchPredicate(format: "name != 'fixed'")
    let deleted = try context.performAndWait {
      try context.execute(BatchDeleteRequest(entityName: "Thing", predicate: others))
    }
    #expect(deleted.map(\.storeIdentifier) == [stores[1]])
    let coordinator = try #require(context.persistentStoreCoordinator)
    #expect(try names(things, in: ManagedObjectContext(coordinator: coordinator)) == ["fixed", "second"])
  }

  @Test func `a batch update changes the records of the stores that it names, and of the stores that can be changed`()
    throws
  {
    func update(includingReadOnly: Bool, among identifiers: Set<StoreIdentifier>?) throws -> Set<StoreIdentifier?> {
      var request = BatchUpdateRequest(entityName: "Thing", values: ["size": Int64(1)])
      request.includesReadOnlyStores = includingReadOnly
      request.storeIdentifiers = identifiers
      let ids = try context.performAndWait { [request] in try context.execute(request) }
      return Set(ids.map(\.storeIdentifier))
    }
    let error = #expect(throws: CoherenceError.self) { try update(includingReadOnly: true, among: nil) }
    #expect(error?.code == .storeReadOnly)
    #expect(try update(includingReadOnly: false, among: nil) == [stores[1], stores[2]])
    #expect(try update(includingReadOnly: true, among: [stores[2]]) == [stores[2]])
    #expect(try update(includingReadOnly: false, among: [stores[0], stores[1]]) == [stores[1]])
  }
}
