import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDB
import TestSupport
import Testing

/// The index by which the members of an ordered relationship are found in their order.
@Suite struct OrderedIndexTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel
  private static let list = #"SELECT "$id" FROM "Track" WHERE "album" = 1 ORDER BY "album.position", "$id""#

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel {
      Entity("Album") { Relationship("tracks", toMany: "Track", inverse: "album", ordered: true) }
      Entity("Track") { Relationship("album", toOne: "Album", inverse: "tracks") }
    }
  }

  private func plan(of statement: String = list) throws -> [String] {
    try DatabaseQueue(path: place.path).read { database in
      try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(statement)").map { $0["detail"] as String }
    }
  }

  private var indexes: [[String]] {
    get throws {
      try DatabaseQueue(path: place.path).read {
        try $0.indexes(on: "Track").map(\.columns).sorted { $0.count < $1.count }
      }
    }
  }

  @Test func `the members of an ordered relationship are read in their order without a sort`() throws {
    try place.open(model).close()
    let plan = try plan()
    #expect(plan.count == 1 && plan[0].hasPrefix("SEARCH Track USING COVERING INDEX"), "\(plan)")
    // The owner of a reference is found by the same index.
    #expect(try self.plan(of: #"SELECT "$id" FROM "Track" WHERE "album" = 1"#)[0].contains("INDEX"))
    #expect(try indexes == [["album", "album.position", "$id"]])
  }

  @Test func `a store with the index of references alone gets the index of the order when it is opened`() throws {
    try place.open(model).close()
    try DatabaseQueue(path: place.path).write { database in
      let name = try #require(try database.indexes(on: "Track").first).name
      try database.execute(sql: #"DROP INDEX "\#(name)"; CREATE INDEX "\#(name)" ON "Track" ("album")"#)
      try database.execute(
        sql: #"UPDATE "$coherence" SET value = REPLACE(value, ?, ?) WHERE key = 'schema'"#,
        arguments: [#"["album","album.position","$id"]"#, #"["album"]"#])
      #expect(database.changesCount == 1)
    }
    #expect(try plan().contains { $0.contains("TEMP B-TREE") })
    try place.open(model).close()
    #expect(try indexes == [["album", "album.position", "$id"]])
    #expect(try !plan().contains { $0.contains("TEMP B-TREE") })
  }
}
