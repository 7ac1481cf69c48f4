import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDB
import TestSupport
import Testing

@Suite struct LimitTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel {
      Entity("Thing") {
        Attribute("name", .string)
        Attribute("number", .int64, default: 0)
      }
    }
  }

  private func wide(_ count: Int, uniqueness: [[String]] = []) throws -> ManagedObjectModel {
    var entity = Entity("Wide", uniqueness: uniqueness)
    entity.properties = (0..<count).map { Attribute("a\($0)", .int64, default: 0) }
    return try ManagedObjectModel(entities: [entity])
  }

  @Test func `an entity with more attributes than a table has columns is refused with the limit`() throws {
    let error = #expect(throws: CoherenceError.self) { try place.open(wide(2_000)) }
    #expect(error?.code == .limitExceeded)
    #expect(error?.message.contains("'Wide'") == true && error?.message.contains("1997") == true)
  }

  @Test func `an entity with as many attributes as a table has columns is kept`() throws {
    let store = try place.open(wide(1_997))
    let row = try store.insert("Wide", ["a1996": .int(7)])
    #expect(try store.current(row)?["a1996"] == .int(7))
  }

  @Test(arguments: [15, 16, 17, 33])
  func `rows with as many attributes as a table has columns are saved, each by its own values`(count: Int) throws {
    let store = try place.open(wide(1_997))
    let entity = store.entity("Wide")
    let rows = try (0..<Int64(count)).map { try store.row("Wide", ["a0": .int($0), "a1996": .int(-$0)]) }
    try store.save(.insert(entity, rows))
    let read = try store.fetch("Wide")
    #expect(read.map { $0["a0"] } == rows.map { $0["a0"] })
    #expect(read.map { $0["a1996"] } == rows.map { $0["a1996"] })
    let changed = rows.map { $0.changed(["a1": .int(7), "a1996": .int(9)]) }
    let updates = changed.map { RowUpdate(row: $0, baseVersion: 1) }
    try store.save(.update(entity, slots: SlotSet(entity.slots.indices), updates))
    let isSame = try store.fetch("Wide").map(\.values) == changed.map(\.values)
    #expect(isSame)
  }

  @Test(arguments: [998, 999, 2_600, 2_800, 31_000])
  func `long lists of conditions are left to the engine as long as their values can be prepared fast`(count: Int) throws
  {
    let store = try place.open(model)
    let row = try store.insert("Thing", ["name": .string("b"), "number": .int(5)])
    try store.insert("Thing", ["name": .string("a")])
    let parts = (1..<count).map { index -> FetchPredicate in
      index.isMultiple(of: 2)
        ? .path("name", .beginsWith, .string("x\(index)")) : .path("number", .greater, .int(Int64(index + 1_000)))
    }
    for predicate in [
      FetchPredicate.or(parts + [.path("number", .equal, .int(5))]),
      .and(parts.map { .not($0) } + [.path("number", .equal, .int(5))]),
    ] {
      let query = StoreQuery(entity: store.entity("Thing"), predicate: predicate, sortKeys: [SortKey("name")], limit: 3)
      // A comparison with the beginning of a text takes two bound values.
      let isTaken = count * 3 / 2 <= 4_000
      let fetch = try store.reading { try $0.fetch(query) }
      #expect(fetch.isPredicateExact == isTaken)
      if isTaken {
        #expect(try store.fetch(query).map(\.id) == [row.id])
        #expect(try store.reading { try $0.count(query) } == 1)
      }
    }
  }

  @Test func `SQL evaluates all of a condition but the parts nested too deep, which Core evaluates`() throws {
    let store = try place.open(model)
    let row = try store.insert("Thing", ["name": .string("b"), "number": .int(5)])
    try store.insert("Thing", ["name": .string("a"), "number": .int(6)])
    let deep = (0..<35).reduce(FetchPredicate.constant(true)) { predicate, level in
      level.isMultiple(of: 2)
        ? .or([.path("name", .equal, .string("\(level)")), predicate])
        : .and([.path("name", .notEqual, .string("\(level)")), predicate])
    }
    let query = StoreQuery(
      entity: store.entity("Thing"), predicate: .and([deep, .path("number", .equal, .int(5))]))
    #expect(try store.reading { try $0.fetch(query) }.isPredicateExact == false)
    #expect(try store.fetch(query).map(\.id) == [row.id])
  }

  @Test func `a table that another program dropped is not called damage`() throws {
    let store = try place.open(model)
    try store.insert("Thing", ["name": .string("a")])
    let other = try DatabaseQueue(path: place.path)
    try other.write { try $0.execute(sql: "DROP TABLE Thing") }
    let error = #expect(throws: CoherenceError.self) { try store.fetch("Thing") }
    #expect(error?.code == .schemaChanged)
    #expect(error?.isRetryable == false)
  }

  @Test func `the error of a dropped table advises a backup, which another attachment cannot replace`() throws {
    let store = try place.open(model)
    try store.insert("Thing", ["name": .string("a")])
    let other = try DatabaseQueue(path: place.path)
    try other.write { try $0.execute(sql: "DROP TABLE Thing") }
    store.close()
    let attachedAgain = try place.open(model)
    let error = #expect(throws: CoherenceError.self) { try attachedAgain.fetch("Thing") }
    #expect(error?.code == .schemaChanged)
    #expect(error?.message.contains("restore the file from a backup") == true)
  }

  @Test func `a list too long for one statement of a batch is processed in several`() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(StoreConfiguration(type: .sqlite), at: place.url)
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      for index in 0..<10 {
        let thing = try context.insertNewObject(forEntityName: "Thing")
        try thing.setValue("\(index)", for: "name")
      }
      try context.save()
      let names = (0..<40_000).map { AttributeValue.string("\($0 + 5)") }
      let predicate = FetchPredicate.membership(.path(PropertyPath("name")), in: names)
      let request = BatchUpdateRequest(entityName: "Thing", predicate: predicate, values: ["number": 1])
      #expect(try context.execute(request).count == 5)
      #expect(try context.execute(BatchDeleteRequest(entityName: "Thing", predicate: predicate)).count == 5)
    }
  }

  @Test(arguments: [(9, 30_000), (501, 1), (768, 31_999)])
  func `calculations of many attributes change the records of a long list alone`(
    attributeCount: Int, valueCount: Int
  ) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try wide(attributeCount))
    try coordinator.addPersistentStore(StoreConfiguration(type: .sqlite), at: place.url)
    let names = (0..<attributeCount).map { "a\($0)" }
    let last = names[attributeCount - 1]
    let listed = (1..<valueCount).map { AttributeValue.int(Int64(1_000 + $0)) } + [.int(5)]
    func inContext<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
      try ManagedObjectContext(coordinator: coordinator).saving(body)
    }
    func records(_ context: ManagedObjectContext) throws -> [ManagedObject] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Wide").sort("a0"))
    }
    func values() throws -> [[AttributeValue]] {
      try inContext { try records($0).map { record in try names.map { try record.value(for: $0) } } }
    }
    func increment() throws -> Int {
      let increments = names.map { ($0, UpdateExpression.sum(.attribute($0), .value(.int(1)))) }
      let request = BatchUpdateRequest(
        entityName: "Wide", predicate: .membership(.path(PropertyPath("a0")), in: listed),
        expressions: Dictionary(increments) { first, _ in first })
      return try inContext { try $0.execute(request).count }
    }
    try inContext { context in
      try context.insertNewObject(forEntityName: "Wide").setValue(Int64(-7), for: "a0")
      let record = try context.insertNewObject(forEntityName: "Wide")
      try record.setValue(Int64(5), for: "a0")
      try record.setValue(Int64.max, for: last)
    }
    let error = #expect(throws: CoherenceError.self) { try increment() }
    #expect(error?.code == .invalidValue && error?.message.contains("Wide.\(last)") == true)
    let zeros = Array(repeating: AttributeValue.int(0), count: attributeCount - 2)
    let other: [AttributeValue] = [.int(-7), .int(0)] + zeros
    let former: [AttributeValue] = [.int(5)] + zeros + [.int(.max)]
    #expect(try values() == [other, former])
    try inContext { try records($0)[1].setValue(Int64(0), for: last) }
    #expect(try increment() == 1)
    let incremented: [AttributeValue] = [.int(6), .int(1)] + Array(repeating: .int(1), count: attributeCount - 2)
    #expect(try values() == [other, incremented])
  }

  @Test(arguments: [998, 1_000, 1_002, 1_997])
  func `an upsert compares as many attributes as an entity has`(attributeCount: Int) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try wide(attributeCount, uniqueness: [["a0"]]))
    try coordinator.addPersistentStore(StoreConfiguration(type: .sqlite), at: place.url)
    let last = "a\(attributeCount - 1)"
    func upsert(_ number: Int64, _ value: Int64) throws -> BatchInsertResult {
      var row: [String: AttributeValue] = [:]
      for index in 0..<attributeCount { row["a\(index)"] = .int(3) }
      row["a0"] = .int(number)
      row[last] = .int(value)
      let request = BatchInsertRequest(entityName: "Wide", rows: [row], onDuplicate: .update(by: "a0"))
      return try ManagedObjectContext(coordinator: coordinator).performAndWait { try $0.execute(request) }
    }
    #expect(try upsert(1, 10).inserted.count == 1)
    #expect(try upsert(2, 20).inserted.count == 1)
    #expect(try upsert(1, 10).updated.isEmpty)
    let changed = try upsert(2, 21)
    #expect(changed.inserted.isEmpty && changed.updated.count == 1)
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      let records = try context.fetch(FetchRequest<ManagedObject>(entityName: "Wide").sort("a0"))
      let values: [AttributeValue] = try records.map { try $0.value(for: last) }
      #expect(values == [.int(10), .int(21)])
      let equal: [AttributeValue] = try records.map { try $0.value(for: "a1") }
      #expect(equal == [.int(3), .int(3)])
    }
  }
}
