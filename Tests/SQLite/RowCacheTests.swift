import CoherenceInMemory
import CoherenceSQLite
import Foundation
import TestSupport
import Testing

@testable import CoherenceCore
import TestRandom

/// The reads that a coordinator's row cache saves a SQLite store, and the reads that must not use the cache.
@Suite struct RowCacheTests {
  let place: TemporaryStore
  let log = MessageLog()
  private let model: ManagedObjectModel
  let coordinator: PersistentStoreCoordinator

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel {
      Entity("Thing") {
        Attribute("name", .string)
        Attribute("number", .int64, default: 0)
        Relationship("owner", toOne: "Person", inverse: "things")
      }
      Entity("Person") {
        Attribute("name", .string)
        Relationship("things", toMany: "Thing", inverse: "owner")
      }
    }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
  }

  func context(_ coordinator: PersistentStoreCoordinator? = nil) -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator ?? self.coordinator)
  }

  func anotherCoordinator() throws -> PersistentStoreCoordinator {
    let other = PersistentStoreCoordinator(managedObjectModel: model)
    try other.addPersistentStore(type: .sqlite, at: place.url)
    return other
  }

  /// Saves things named "0", "1" and so on.
  func fill(_ count: Int) throws -> [ManagedObjectID] {
    let writer = context()
    return try writer.performAndWait {
      let things = try (0..<count).map { number in
        let thing = try writer.insertNewObject(forEntityName: "Thing")
        try thing.setValue("\(number)", for: "name")
        return thing
      }
      try writer.save()
      return things.map(\.objectID)
    }
  }

  /// The name of a record, read by a fresh context; `nil` for a missing record.
  func name(_ id: ManagedObjectID, in coordinator: PersistentStoreCoordinator? = nil) throws -> String? {
    let reader = context(coordinator)
    return try reader.performAndWait {
      do {
        return try reader.existingObject(with: id).value(for: "name", as: String.self)
      } catch let error as CoherenceError where error.code == .objectNotFound {
        return nil
      }
    }
  }

  /// Reads records as often as is needed for the cache to keep them.
  func warm(_ ids: [ManagedObjectID], in coordinator: PersistentStoreCoordinator? = nil) throws {
    for _ in 0..<2 {
      for id in ids { _ = try name(id, in: coordinator) }
    }
  }

  func rename(_ id: ManagedObjectID, _ name: String, in coordinator: PersistentStoreCoordinator? = nil) throws {
    let writer = context(coordinator)
    try writer.performAndWait {
      try writer.existingObject(with: id).setValue(name, for: "name")
      try writer.save()
    }
  }

  func delete(_ id: ManagedObjectID, in coordinator: PersistentStoreCoordinator? = nil) throws {
    let writer = context(coordinator)
    try writer.performAndWait {
      writer.delete(try writer.existingObject(with: id))
      try writer.save()
    }
  }

  var statistics: RowCacheStatistics { coordinator.rowCacheStatistics }

  // MARK: Hits

  @Test func `a record read for the third time is loaded without a statement that reads records`() throws {
    let ids = try fill(3)
    for id in ids { _ = try name(id) }
    #expect(statistics.rows == 0)
    for id in ids { _ = try name(id) }
    #expect(statistics.rows == 3)
    log.removeAll()
    for (number, id) in ids.enumerated() { #expect(try name(id) == "\(number)") }
    #expect(log.reads == [])
    #expect(statistics.hits == 3)
  }

  @Test func `faults loaded together send statements for the records outside of the cache alone`() throws {
    let ids = try fill(1_300)
    try warm(Array(ids.prefix(10)))
    let before = statistics
    log.removeAll()
    let reader = context()
    try reader.performAndWait {
      var request = FetchRequest<ManagedObject>(entityName: "Thing")
      request.returnsObjectsAsFaults = true
      let things = try reader.fetch(request)
      for (number, thing) in things.enumerated() {
        #expect(try thing.value(for: "name", as: String.self) == "\(number)")
      }
    }
    #expect(statistics.hits - before.hits == 10)
    #expect(statistics.misses - before.misses == 1_290)
    #expect(statistics.rows == 1_300)
  }

  @Test func `targets of a relationship are loaded from the cache`() throws {
    let writer = context()
    try writer.performAndWait {
      for number in 0..<100 {
        let person = try writer.insertNewObject(forEntityName: "Person")
        try person.setValue("person \(number)", for: "name")
        let thing = try writer.insertNewObject(forEntityName: "Thing")
        try thing.setValue("\(number)", for: "name")
        try thing.setObject(person, for: "owner")
      }
      try writer.save()
    }
    func walk() throws -> Int {
      let reader = context()
      return try reader.performAndWait {
        try reader.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).count { thing in
          try thing.object(for: "owner")?.value(for: "name", as: String.self).hasPrefix("person") == true
        }
      }
    }
    #expect(try walk() == 100)
    log.removeAll()
    #expect(try walk() == 100)
    #expect(log.reads.count == 1, "\(log.reads)")
  }

  @Test func `a fetch neither reads nor fills the cache`() throws {
    _ = try fill(10)
    let before = statistics
    let reader = context()
    _ = try reader.performAndWait { try reader.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).count }
    #expect(statistics == before)
  }

  @Test func `allocating keys leaves the kept rows unchanged`() throws {
    let id = try fill(1)[0]
    try warm([id])
    let writer = context()
    try writer.performAndWait {
      // More than any block of keys set aside before.
      let things = try (0..<5_000).map { _ in try writer.insertNewObject(forEntityName: "Thing") }
      try writer.obtainPermanentIDs(for: things)
    }
    log.removeAll()
    #expect(try name(id) == "0")
    #expect(log.reads == [])
    #expect(statistics.invalidations == 0)
  }

  // MARK: Limit, expiry

  @Test func `the cache keeps at most the number of rows of its limit`() throws {
    let ids = try fill(40)
    for limit in [1, 2, 5, 16] {
      coordinator.rowCachePolicy.limit = limit
      for id in ids {
        try warm([id])
        #expect(statistics.rows <= limit)
      }
      #expect(statistics.rows > 0)
      // The rows of the last reads are kept.
      log.removeAll()
      #expect(try name(ids[39]) == "39")
      #expect(log.reads == [])
    }
    #expect(statistics.evictions > 0)
    coordinator.rowCachePolicy.limit = 3
    #expect(statistics.rows <= 3)
  }

  @Test func `by default 20,000 rows are kept for a minute`() {
    #expect(coordinator.rowCachePolicy.limit == 20_000 && coordinator.rowCachePolicy.expiry == 60)
  }

  @Test func `with a limit of zero no row is kept and no row is counted`() throws {
    let id = try fill(1)[0]
    try warm([id])
    coordinator.rowCachePolicy = .off
    #expect(statistics.rows == 0)
    let before = statistics
    log.removeAll()
    for _ in 0..<3 { #expect(try name(id) == "0") }
    #expect(log.reads.count == 3)
    #expect(statistics == before)
  }

  @Test func `an expired row is not returned`() throws {
    let clock = Locked(ContinuousClock.now)
    coordinator.rowCache.setClock { clock.withLock { $0 } }
    coordinator.rowCachePolicy.expiry = 60
    let id = try fill(1)[0]
    try warm([id])
    clock.withLock { $0 = $0.advanced(by: .seconds(29)) }
    log.removeAll()
    #expect(try name(id) == "0")
    #expect(log.reads == [])
    clock.withLock { $0 = $0.advanced(by: .seconds(31)) }
    #expect(try name(id) == "0")
    #expect(log.reads.count == 1)
    #expect(statistics.evictions == 1)
  }

  @Test func `rows of a store in memory and of a read-only store are not kept`() throws {
    let id = try fill(1)[0]
    let reading = PersistentStoreCoordinator(managedObjectModel: model)
    try reading.addPersistentStore(type: .sqlite, at: place.url, options: [StoreOption.readOnly: true])
    for _ in 0..<2 { #expect(try name(id, in: reading) == "0") }
    #expect(reading.rowCacheStatistics.rows == 0)
    #expect(reading.rowCacheStatistics.hits == 0)
    let memory = PersistentStoreCoordinator(managedObjectModel: model)
    try memory.addPersistentStore(type: .inMemory)
    let writer = context(memory)
    let other = try writer.performAndWait {
      let thing = try writer.insertNewObject(forEntityName: "Thing")
      try thing.setValue("memory", for: "name")
      try writer.save()
      return thing.objectID
    }
    for _ in 0..<2 { #expect(try name(other, in: memory) == "memory") }
    #expect(memory.rowCacheStatistics == RowCacheStatistics())
  }

  // MARK: Mixture

  /// A coordinator with a cache and one without must return equal values at each step, after writes of all kinds.
  @Test(arguments: SeededRandom.seeds)
  func `coordinators with and without a cache return the same values`(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    let twin = try anotherCoordinator()
    twin.rowCachePolicy = .off
    let third = try anotherCoordinator()
    var ids = try fill(12)
    coordinator.rowCachePolicy.limit = random.next(below: 2) == 0 ? 8 : 20_000
    // A snapshot over some steps, with the values that it has shown.
    let keeper = context()
    for step in 0..<250 {
      let id = ids[random.next(below: ids.count)]
      let writer = [coordinator, twin, third][random.next(below: 3)]
      let isThere = try name(id, in: twin) != nil
      switch random.next(below: 10) {
      case 0, 1: if isThere { try rename(id, "\(seed)-\(step)", in: writer) }
      case 2: if isThere { try delete(id, in: writer) }
      case 3: ids += try fill(2)
      case 4:
        let batch = context(writer)
        try batch.performAndWait {
          _ = try batch.execute(BatchUpdateRequest(entityName: "Thing", values: ["number": Int64(step)]))
        }
      case 5:
        let expected = try ids.map { try name($0, in: twin) }
        try keeper.performAndWait {
          try keeper.withSnapshot {
            _ = try keeper.count(for: FetchRequest<ManagedObject>(entityName: "Thing"))
            if isThere { try rename(id, "while \(step)", in: writer) }
            try warm(ids)
            let seen = ids.map { try? keeper.existingObject(with: $0).value(for: "name", as: String.self) }
            #expect(seen == expected, "step \(step), seed \(seed)")
          }
        }
      default: break
      }
      let some = (0..<4).map { _ in ids[random.next(below: ids.count)] }
      for id in some {
        let (seen, expected) = (try name(id), try name(id, in: twin))
        #expect(seen == expected, "step \(step), seed \(seed)")
      }
    }
    #expect(statistics.hits > 0)
  }
}
