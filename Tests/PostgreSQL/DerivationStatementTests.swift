import CoherenceCore
import CoherencePostgreSQL
import TestSupport
import Testing

/// The statements of saves in a model with values that are derived from other records.
@Suite(.needsServer) struct DerivationStatementTests {
  private let schema: TemporarySchema
  private let log = MessageLog()
  private let context: ManagedObjectContext

  init() throws {
    schema = try TemporarySchema()
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("trackCount", .int64, derived: .count("tracks"))
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("title", .string, optional: true)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url, options: [PostgreSQLOption.schema: .string(schema.name)])
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// The numbers of statements of the pipelines of a save.
  private func pipelines(_ change: (ManagedObjectContext) throws -> Void) throws -> [String] {
    try context.performAndWait {
      try change(context)
      log.removeAll()
      try context.save()
    }
    return log.messages.filter { $0.hasPrefix("save, ") }.map {
      $0.split(separator: " ").prefix(3).joined(separator: " ")
    }
  }

  @Test func `a count costs a save a lock and a computation in its one pipeline, whatever the number of members`()
    throws
  {
    let album = try pipelines { _ = try $0.insertNewObject(forEntityName: "Album") }
    #expect(album == ["save, 1 statements"])
    for count in [1, 20] {
      let tracks = try pipelines { context in
        let album = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")).first)
        for _ in 0..<count {
          try context.insertNewObject(forEntityName: "Track").setObject(album, for: "album")
        }
      }
      #expect(tracks == ["save, \(count + 2) statements"])
    }
    let titles = try pipelines { context in
      try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Track")).first).setValue(
        "x", for: "title")
    }
    #expect(titles == ["save, 1 statements"])
  }
}
