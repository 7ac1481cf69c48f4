import CoherenceCore
import CoherenceSQL
import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CoherencePostgreSQL

/// The order in which saves lock the rows of derived values, after a save of the store has met a deadlock.
///
/// Each test keeps a save waiting for a row that the save has to lock first, and looks whether the save has locked a
/// later row already. Two such saves in opposite orders would be a deadlock.
@Suite(.needsServer, .timeLimit(.minutes(5))) struct DerivedRowOrderTests {
  private let schema: TemporarySchema
  private let store: PostgreSQLStore
  private let context: ManagedObjectContext

  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Album") {
        Attribute("name", .string, optional: true)
        Attribute("code", .string, optional: true)
        Attribute("trackCount", .int64, derived: .count("tracks"))
        Attribute("weight", .int64, derived: .sum("labels.weight"))
        Attribute("length", .int64, derived: .sum("tracks.length"))
        Relationship("tracks", toMany: "Track", inverse: "album")
        Relationship("labels", toMany: "Label", inverse: "albums")
      }
      Entity("Artist") {
        Attribute("name", .string, optional: true)
        Relationship("bands", toMany: "Band", inverse: "leader")
      }
      Entity("Band") {
        Attribute("name", .string, optional: true)
        Relationship("leader", toOne: "Artist", inverse: "bands")
        Relationship("tracks", toMany: "Track", inverse: "band")
      }
      Entity("Label") {
        Attribute("weight", .int64, default: 0)
        Relationship("albums", toMany: "Album", inverse: "labels")
      }
      Entity("Track") {
        Attribute("name", .string, optional: true)
        Attribute("length", .int64, default: 0)
        Attribute("leaderName", .string, derived: .path("band.leader.name"))
        Relationship("album", toOne: "Album", inverse: "tracks")
        Relationship("band", toOne: "Band", inverse: "tracks")
      }
    }
  }

  init() throws {
    schema = try TemporarySchema()
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Self.model())
    let attached = try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url(with: ["application_name": schema.name]),
      options: [PostgreSQLOption.schema: .string(schema.name)])
    store = try #require(attached as? PostgreSQLStore)
    context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    store.pool.saveLocking.require()
  }

  /// Inserts records of an entity, and returns their identifiers in the order of their keys.
  private func insert(_ count: Int, _ entity: String) throws -> [ManagedObjectID] {
    try context.performAndWait {
      let objects = try (0..<count).map { _ in try context.insertNewObject(forEntityName: entity) }
      try context.save()
      return objects.map(\.objectID).sorted { $0.key < $1.key }
    }
  }

  /// Changes records and saves.
  private func save(_ change: (ManagedObjectContext) throws -> Void) throws {
    try context.performAndWait {
      try change(context)
      try context.save()
    }
  }

  private static func object(_ id: ManagedObjectID, _ context: ManagedObjectContext) throws -> ManagedObject {
    try context.existingObject(with: id)
  }

  /// The number of rows that a session can lock as an update without unique values does.
  private func lock(_ id: ManagedObjectID, in session: PostgreSQLConnection, waits: Bool) throws -> Int {
    let rest: SQLFragment = waits ? "FOR NO KEY UPDATE" : "FOR NO KEY UPDATE SKIP LOCKED"
    return try session.run(
      "SELECT 1 FROM \(name: id.entity.name) WHERE \(name: SQLTable.id) = \(key: id.key) \(rest)", isPrepared: false
    ).rowCount
  }

  /// Runs a save while another session has a lock on a row.
  ///
  /// - Parameter referenced: A row that the other session locks as the insert of a reference to the row does.
  /// - Returns: Whether a later row is free while the save waits.
  private func isFree(
    _ later: ManagedObjectID, whileSaveWaitsFor first: ManagedObjectID, referring referenced: ManagedObjectID? = nil,
    _ change: @escaping @Sendable (ManagedObjectContext) throws -> Void
  ) throws -> Bool {
    let (holder, observer) = (try schema.administration(), try schema.administration())
    try holder.run("BEGIN", isPrepared: false)
    #expect(try lock(first, in: holder, waits: true) == 1)
    if let referenced {
      try holder.run(
        "SELECT 1 FROM \(name: referenced.entity.name) WHERE \(name: SQLTable.id) = \(key: referenced.key) FOR KEY SHARE",
        isPrepared: false)
    }
    let ended = DispatchSemaphore(value: 0)
    let outcome = Locked<Result<Void, any Error>?>(nil)
    Thread.detachNewThread {
      let result = Result { try save(change) }
      outcome.withLock { $0 = result }
      ended.signal()
    }
    let waiting: SQLFragment = """
      SELECT 1 FROM pg_catalog.pg_stat_activity WHERE application_name = \(text: schema.name) AND wait_event_type = 'Lock'
      """
    while outcome.withLock({ $0 == nil }), try observer.run(waiting, isPrepared: false).rowCount == 0 { continue }
    let isLaterFree = try lock(later, in: observer, waits: false) == 1
    try holder.run("COMMIT", isPrepared: false)
    ended.wait()
    try #require(outcome.withLock { $0 }).get()
    return isLaterFree
  }

  @Test func `a save locks the owner of a new member before an edited owner with a greater key`() throws {
    let albums = try insert(2, "Album")
    let result = try isFree(albums[1], whileSaveWaitsFor: albums[0]) { context in
      try Self.object(albums[1], context).setValue("edited", for: "name")
      try context.insertNewObject(forEntityName: "Track").setObject(try Self.object(albums[0], context), for: "album")
    }
    #expect(result)
  }

  @Test func `a save locks the former and the new owner of a moved member before the member`() throws {
    let albums = try insert(2, "Album")
    let track = try insert(1, "Track")[0]
    try save { try Self.object(track, $0).setObject(try Self.object(albums[0], $0), for: "album") }
    for owner in albums {
      let result = try isFree(track, whileSaveWaitsFor: owner) { context in
        try Self.object(track, context).setObject(try Self.object(albums[1], context), for: "album")
      }
      #expect(result)
      try save { try Self.object(track, $0).setObject(try Self.object(albums[0], $0), for: "album") }
    }
  }

  @Test func `a save locks the owner of a deleted member before the member`() throws {
    let album = try insert(1, "Album")[0]
    let track = try insert(1, "Track")[0]
    try save { try Self.object(track, $0).setObject(try Self.object(album, $0), for: "album") }
    let result = try isFree(track, whileSaveWaitsFor: album) { $0.delete(try Self.object(track, $0)) }
    #expect(result)
  }

  @Test func `a save locks the owners that links lead to before the linked member`() throws {
    let album = try insert(1, "Album")[0]
    let label = try insert(1, "Label")[0]
    try save { try Self.object(album, $0).setObjects([try Self.object(label, $0)], for: "labels") }
    let result = try isFree(label, whileSaveWaitsFor: album) { context in
      try Self.object(label, context).setValue(Int64(7), for: "weight")
    }
    #expect(result)
  }

  @Test func `a save locks an owner at the beginning of a path before an edited record with a greater key`() throws {
    let tracks = try insert(2, "Track")
    let band = try insert(1, "Band")[0]
    let leader = try insert(1, "Artist")[0]
    try save { context in
      try Self.object(band, context).setObject(try Self.object(leader, context), for: "leader")
      try Self.object(tracks[0], context).setObject(try Self.object(band, context), for: "band")
    }
    let result = try isFree(tracks[1], whileSaveWaitsFor: tracks[0]) { context in
      try Self.object(leader, context).setValue("renamed", for: "name")
      try Self.object(tracks[1], context).setValue("edited", for: "name")
    }
    #expect(result)
  }

  @Test func `a save locks the end of a new path before the owner of the value`() throws {
    let track = try insert(1, "Track")[0]
    let band = try insert(1, "Band")[0]
    let leader = try insert(1, "Artist")[0]
    try save { try Self.object(band, $0).setObject(try Self.object(leader, $0), for: "leader") }
    let result = try isFree(track, whileSaveWaitsFor: leader) { context in
      try Self.object(track, context).setObject(try Self.object(band, context), for: "band")
    }
    #expect(result)
  }

  @Test func `a lock of a record locks the owner of a sum of its values before the record`() throws {
    let album = try insert(1, "Album")[0]
    let track = try insert(1, "Track")[0]
    try save { try Self.object(track, $0).setObject(try Self.object(album, $0), for: "album") }
    let result = try isFree(track, whileSaveWaitsFor: album) { context in
      let object = try Self.object(track, context)
      try context.withLock(on: [object]) {
        try object.setValue(Int64(7), for: "length")
        try context.save()
      }
    }
    #expect(result)
  }

  @Test func `a save that locks rows first passes a transaction that has inserted a reference to one of them`() throws {
    let albums = try insert(2, "Album")
    let result = try isFree(albums[0], whileSaveWaitsFor: albums[1], referring: albums[0]) { context in
      for album in albums { try Self.object(album, context).setValue("edited", for: "name") }
    }
    #expect(!result)
  }
}
