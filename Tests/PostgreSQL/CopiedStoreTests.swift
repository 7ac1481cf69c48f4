import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Testing

/// A store, and a store with its identifier in another schema, as a copy of a database has it.
@Suite(.needsServer) struct CopiedStoreTests {
  private let model: ManagedObjectModel
  init() throws { model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } } }

  private func attach(_ schema: TemporarySchema) throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url, options: [PostgreSQLOption.schema: .string(schema.name)])
    return coordinator
  }

  /// Sets the name of the only record, and returns the record's object.
  private func rename(_ name: String, in context: ManagedObjectContext) throws -> ManagedObject {
    try context.performAndWait {
      let request = FetchRequest<ManagedObject>(entityName: "Thing")
      let thing = try context.fetch(request).first ?? context.insertNewObject(forEntityName: "Thing")
      try thing.setValue(name, for: "name")
      try context.save()
      return thing
    }
  }

  private func names(in coordinator: PersistentStoreCoordinator) throws -> [AttributeValue] {
    let context = ManagedObjectContext(coordinator: coordinator)
    return try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).map { try $0.value(for: "name") }
    }
  }

  @Test func `a store and its copy show their own records`() throws {
    let (original, copy) = (try TemporarySchema(), try TemporarySchema())
    for schema in [original, copy] {
      _ = try rename("new", in: ManagedObjectContext(coordinator: attach(schema)))
    }
    try original.administration().run(
      """
      UPDATE \(name: copy.name).\(name: SQLSchema.metadataTable) SET \(name: "value") = (\
      SELECT \(name: "value") FROM \(name: original.name).\(name: SQLSchema.metadataTable) \
      WHERE \(name: "key") = \(text: "metadata")) WHERE \(name: "key") = \(text: "metadata")
      """, isPrepared: false)
    let coordinators = [try attach(original), try attach(copy)]
    #expect(Set(coordinators.flatMap { $0.persistentStores }.map { $0.identifier }).count == 1)

    let contexts = coordinators.map { ManagedObjectContext(coordinator: $0) }
    // The objects in use retain their rows, which other contexts may share.
    let things = [try rename("original", in: contexts[0]), try rename("copy", in: contexts[1])]
    #expect(try coordinators.map(names) == [[.string("original")], [.string("copy")]])
    withExtendedLifetime(things) {}
  }
}
