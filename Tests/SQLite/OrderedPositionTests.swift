import CoherenceCore
import CoherenceSQLite
import Foundation
import GRDB
import TestSupport
import Testing

/// The positions of members of stores that earlier versions or other programs wrote.
@Suite struct OrderedPositionTests {
  private let place: TemporaryStore
  private let model: ManagedObjectModel
  private static let count = 200

  init() throws {
    place = try TemporaryStore()
    model = try ManagedObjectModel {
      Entity("Album") { Relationship("tracks", toMany: "Track", inverse: "album", ordered: true) }
      Entity("Track") {
        Attribute("title", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
  }

  private func inContext<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(type: .sqlite, at: place.url)
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    let result = try context.performAndWait { try body(context) }
    try coordinator.remove(store)
    return result
  }

  private func tracks(_ context: ManagedObjectContext) throws -> OrderedToMany<ManagedObject> {
    let album = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")).first)
    return album[OrderedToManyKey<ManagedObject>("tracks")]
  }

  private var titles: [String] {
    get throws { try inContext { try tracks($0).map { $0[AttributeKey<String>("title")] } } }
  }

  private var versions: [Int64] {
    get throws {
      try DatabaseQueue(path: place.path).read {
        try Int64.fetchAll($0, sql: #"SELECT "$version" FROM "Track" ORDER BY "$id""#)
      }
    }
  }

  /// Saves a list, and gives its members the positions that a SQL expression has for their numbers from zero.
  private func fill(positions: String) throws {
    try inContext { context in
      let album = try context.insertNewObject(forEntityName: "Album")
      for number in 0..<Self.count {
        let track = try context.insertNewObject(forEntityName: "Track")
        try track.setValue("\(number)", for: "title")
        try track.setObject(album, for: "album")
      }
      try context.save()
    }
    try DatabaseQueue(path: place.path).write {
      try $0.execute(sql: #"UPDATE "Track" SET "album.position" = \#(positions)"#)
    }
  }

  /// Moves members one after another, each with a save in a new context, and returns the number of written members.
  private func move(_ moves: [(from: Int, to: Int)]) throws -> Int {
    var expected = try titles
    let before = try versions
    for (from, to) in moves {
      try inContext { context in
        try tracks(context).move(from: from, to: to)
        try context.save()
      }
      expected.insert(expected.remove(at: from), at: to)
    }
    #expect(try titles == expected)
    return zip(before, try versions).reduce(0) { $0 + Int($1.1 - $1.0) }
  }

  @Test func `a list with consecutive positions is reordered at its ends with one write for each move`() throws {
    try fill(positions: #"CAST("title" AS INTEGER)"#)
    #expect(try titles == (0..<Self.count).map { "\($0)" })
    #expect(try move([(199, 0), (199, 0), (0, 199), (100, 0), (50, 199)]) == 5)
  }

  @Test func `a list with consecutive positions gets gaps by the first move into its middle`() throws {
    try fill(positions: #"CAST("title" AS INTEGER)"#)
    #expect(try move([(199, 100)]) <= Self.count)
    #expect(try move([(199, 50), (0, 150), (10, 20)]) == 3)
  }

  @Test func `a list without positions has the order of keys, and gets positions behind a moved member`() throws {
    try fill(positions: "NULL")
    #expect(try titles == (0..<Self.count).map { "\($0)" })
    #expect(try move([(0, 199), (0, 199)]) == 2)
    #expect(try move([(197, 190)]) <= 8)
    #expect(try move([(199, 0)]) <= Self.count)
    #expect(try move([(199, 0)]) == 1)
  }

  @Test func `members of equal positions are in the order of keys, and keep it when another member moves`() throws {
    try fill(positions: #"CAST("title" AS INTEGER) / 10"#)
    #expect(try titles == (0..<Self.count).map { "\($0)" })
    #expect(try move([(199, 0)]) <= Self.count)
    #expect(try move([(199, 0), (120, 60)]) <= 20)
  }
}
