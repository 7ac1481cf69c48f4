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

  private func wide(_ count: Int) throws -> ManagedObjectModel {
    var entity = Entity("Wide")
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
}
