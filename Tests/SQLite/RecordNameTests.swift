import CoherenceCore
import CoherenceSQLite
import GRDB
import TestSupport
import Testing

/// Stores whose records have another name for an entity than the model has.
@Suite struct RecordNameTests {
  private let place: TemporaryStore
  init() throws { place = try TemporaryStore() }

  /// A model with a subentity of a name of choice.
  private func model(
    _ film: String, formerNames: [String] = [], size: Attribute = Attribute("size", .int32)
  ) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Item") { Attribute("name", .string) }
      Entity(film, parent: "Item", formerNames: formerNames) { size }
    }
  }

  private func opened<T>(_ model: ManagedObjectModel, _ body: (any PersistentStore) throws -> T) throws -> T {
    let store = try place.open(model)
    defer { store.close() }
    return try body(store)
  }

  private func names(_ entity: String, in store: any PersistentStore) throws -> Set<AttributeValue> {
    Set(try store.fetch(entity).map { $0["name"] })
  }

  /// The version of the recorded state. Earlier versions of the framework refuse a greater number than 3.
  private func format() throws -> String? {
    let queue = try DatabaseQueue(path: place.path)
    defer { try? queue.close() }
    return try queue.read { database in
      try String.fetchOne(database, sql: #"SELECT "value" FROM "$coherence" WHERE "key" = 'format'"#)
    }
  }

  @Test func `earlier framework versions refuse a store only while an entity has another name than its records`()
    throws
  {
    let (first, second) = (try model("Film"), try model("Movie", formerNames: ["Film"]))
    try opened(first) { store in _ = try store.insert("Film", ["name": .string("a"), "size": .int(1)]) }
    #expect(try format() == "3")
    #expect(try opened(second) { store in try names("Movie", in: store) } == [.string("a")])
    #expect(try format() == "4")
    #expect(try opened(first) { store in try names("Film", in: store) } == [.string("a")])
    #expect(try format() == "3")
  }

  /// Makes a store in which an earlier version of the framework has renamed films to movies, with a record from before
  /// the rename, and one from after the rename that has the former name.
  private func fillAsEarlierVersion() throws {
    try opened(model("Movie", formerNames: ["Film"])) { store in
      for (size, name) in ["renamed", "late"].enumerated() {
        try store.insert("Movie", ["name": .string(name), "size": .int(Int64(size))])
      }
    }
    let queue = try DatabaseQueue(path: place.path)
    try queue.write { database in
      // The earlier version has replaced the names in the records.
      try database.execute(
        sql: """
          UPDATE "$coherence" SET "value" = json_set("value", '$.tables[0].entities[1].formerNames', json('["Film"]')) \
          WHERE "key" = 'schema'
          """)
      // A program with the first model had the store open, and inserted a record afterwards.
      try database.execute(sql: #"UPDATE "Item" SET "$entity" = 'Film' WHERE "name" = 'late'"#)
    }
    try queue.close()
  }

  @Test func `both models read a store in which an earlier framework version has renamed an entity`() throws {
    try fillAsEarlierVersion()
    let (first, second) = (try model("Film"), try model("Movie", formerNames: ["Film"]))
    let expected: Set<AttributeValue> = [.string("renamed"), .string("late")]
    for (model, entity) in [(first, "Film"), (second, "Movie"), (first, "Film")] {
      try opened(model) { store in
        let (own, all) = (try names(entity, in: store), try names("Item", in: store))
        #expect(own == expected && all == expected)
      }
    }
  }

  @Test func `a migration converts the values of a record with a name that an earlier framework version left`() throws {
    try fillAsEarlierVersion()
    let size = Attribute("size", .string, converting: { _ in .string("converted") })
    try opened(model("Movie", formerNames: ["Film"], size: size)) { store in
      let sizes = try store.fetch("Movie").map { $0["size"] }
      #expect(sizes == [.string("converted"), .string("converted")])
    }
  }
}
