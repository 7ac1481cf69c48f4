import CoherenceCore
import CoherenceSQLite
import TestSupport
import Testing

/// Changes of records with rows in the cache, and readers that stay in one state.
extension RowCacheTests {
  @Test func `a save takes the kept rows along and shows its own values`() throws {
    let ids = try fill(3)
    try warm(ids)
    try rename(ids[1], "new")
    log.removeAll()
    #expect(try ids.map { try name($0) } == ["0", "new", "2"])
    #expect(log.reads == [])
    #expect(statistics.invalidations == 0)
  }

  @Test func `a record that a save has deleted is no longer loaded`() throws {
    let ids = try fill(2)
    try warm(ids)
    try delete(ids[0])
    #expect(try name(ids[0]) == nil)
    #expect(try name(ids[1]) == "1")
  }

  @Test func `a reference that a delete has cleared is no longer read`() throws {
    let writer = context()
    let (thing, person) = try writer.performAndWait {
      let person = try writer.insertNewObject(forEntityName: "Person")
      try person.setValue("owner", for: "name")
      let thing = try writer.insertNewObject(forEntityName: "Thing")
      try thing.setValue("thing", for: "name")
      try thing.setObject(person, for: "owner")
      try writer.save()
      return (thing.objectID, person.objectID)
    }
    try warm([thing, person])
    try delete(person)
    let reader = context()
    try reader.performAndWait {
      let owner = try reader.existingObject(with: thing).object(for: "owner")
      #expect(owner == nil)
    }
  }

  @Test func `a batch request is seen`() throws {
    let ids = try fill(3)
    try warm(ids)
    let writer = context()
    try writer.performAndWait {
      _ = try writer.execute(BatchUpdateRequest(entityName: "Thing", values: ["name": "all"]))
    }
    #expect(try ids.map { try name($0) } == ["all", "all", "all"])
    try writer.performAndWait { _ = try writer.execute(BatchDeleteRequest(entityName: "Thing")) }
    #expect(try ids.map { try name($0) } == [nil, nil, nil])
  }

  @Test func `a save and a delete by another coordinator are seen`() throws {
    let ids = try fill(3)
    try warm(ids)
    let other = try anotherCoordinator()
    try rename(ids[0], "new", in: other)
    try delete(ids[1], in: other)
    #expect(try ids.map { try name($0) } == ["new", nil, "2"])
    #expect(statistics.invalidations > 0)
    // And the other way round, though the other coordinator has kept its rows.
    try warm(ids, in: other)
    try rename(ids[2], "newest")
    #expect(try name(ids[2], in: other) == "newest")
  }

  @Test func `a change by another program is seen, even if it raises no version`() throws {
    let ids = try fill(2)
    try warm(ids)
    let other = try OtherProgram(place.path)
    try other.run(#"UPDATE "Thing" SET "name" = 'new' WHERE "name" = '0'"#)
    #expect(try ids.map { try name($0) } == ["new", "1"])
    try other.run(#"UPDATE "Thing" SET "name" = 'newer' WHERE "name" = 'new'"#)
    let reader = context()
    let names = try reader.performAndWait {
      try reader.fetch(FetchRequest<ManagedObject>(entityName: "Thing").sort("name"))
        .map { try $0.value(for: "name", as: String.self) }
    }
    #expect(names == ["1", "newer"])
    try other.close()
  }

  @Test func `a change by another program directly after an exclusion without a save is seen`() throws {
    let place = try TemporaryStore()
    let path = place.path
    let isChangeDue = Locked(false)
    // Logged between the commit of the exclusion and the next step of this process.
    let log = MessageLog { statement in
      guard statement == "COMMIT", isChangeDue.withLock({ $0 }) else { return }
      isChangeDue.withLock { $0 = false }
      #expect(throws: Never.self) {
        let other = try OtherProgram(path)
        try other.run(#"UPDATE "Thing" SET "name" = 'new'"#)
        try other.close()
      }
    }
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model, logger: log.logger)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    let writer = context(coordinator)
    let id = try writer.performAndWait {
      let thing = try writer.insertNewObject(forEntityName: "Thing")
      try thing.setValue("old", for: "name")
      try writer.save()
      return thing.objectID
    }
    try warm([id], in: coordinator)
    #expect(coordinator.rowCacheStatistics.rows == 1)
    isChangeDue.withLock { $0 = true }
    let excludingStore = try #require(store as? any WriterExcluding)
    try excludingStore.excludingWriters {}
    #expect(!isChangeDue.withLock { $0 })
    #expect(try name(id, in: coordinator) == "new")
  }

  @Test func `a checkpoint by another program does no harm`() throws {
    let ids = try fill(2)
    try warm(ids)
    let other = try OtherProgram(place.path)
    for mode in ["PASSIVE", "RESTART", "TRUNCATE"] {
      try other.run("PRAGMA wal_checkpoint(\(mode))")
      #expect(try ids.map { try name($0) } == ["0", "1"])
      try other.run(#"UPDATE "Thing" SET "name" = 'x' WHERE "name" = '1'"#)
      #expect(try name(ids[1]) == "x")
      try other.run(#"UPDATE "Thing" SET "name" = '1' WHERE "name" = 'x'"#)
      #expect(try name(ids[1]) == "1")
    }
    try other.close()
  }

  @Test func `a change while the store was detached is seen when it is attached again`() throws {
    let ids = try fill(2)
    try warm(ids)
    try coordinator.remove(try #require(coordinator.persistentStores.first))
    #expect(statistics.rows == 0)
    let other = try anotherCoordinator()
    try rename(ids[0], "new", in: other)
    try other.remove(try #require(other.persistentStores.first))
    try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    #expect(try ids.map { try name($0) } == ["new", "1"])
  }

  // MARK: One state

  @Test func `a unit of work with a kept row stays at the state of the row`() throws {
    let ids = try fill(2)
    try warm(ids)
    let other = try anotherCoordinator()
    let reader = context()
    try reader.performAndWait {
      #expect(try reader.existingObject(with: ids[0]).value(for: "name", as: String.self) == "0")
      for id in ids { try rename(id, "new", in: other) }
      #expect(try reader.existingObject(with: ids[1]).value(for: "name", as: String.self) == "1")
      var request = FetchRequest<ManagedObject>(entityName: "Thing")
      request.predicate = .comparison(.path(PropertyPath("name")), .equal, .value(.string("new")), [])
      #expect(try reader.count(for: request) == 0)
    }
    #expect(try ids.map { try name($0) } == ["new", "new"])
  }

  @Test func `a snapshot takes no newer row from the cache, and enters no older row`() throws {
    let ids = try fill(2)
    let reader = context()
    try reader.performAndWait {
      try reader.withSnapshot {
        _ = try reader.count(for: FetchRequest<ManagedObject>(entityName: "Thing"))
        for id in ids {
          try rename(id, "new")
          #expect(try name(id) == "new")
        }
        for (number, id) in ids.enumerated() {
          #expect(try reader.existingObject(with: id).value(for: "name", as: String.self) == "\(number)")
        }
        for id in ids { #expect(try name(id) == "new") }
      }
      for id in ids {
        let object = try reader.existingObject(with: id)
        reader.refresh(object, mergeChanges: false)
        #expect(try object.value(for: "name", as: String.self) == "new")
      }
    }
  }
}
