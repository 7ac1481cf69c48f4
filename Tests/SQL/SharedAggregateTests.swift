import CoherenceCore
import Foundation
import TestSupport
import Testing

/// The statements of conditions on the members of a target that many records have in common.
@Suite struct SharedAggregateTests {
  /// A store of forty tracks on two albums. The weight of a track is no integer, so that the context compares it with a
  /// number of members.
  private static func makeStore(_ backend: Backend) throws -> LoggedStore {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string)
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("number", .int64)
        Attribute("weight", .double)
        Attribute("price", .decimal)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let stack = try LoggedStore(backend, model)
    try stack.write { context in
      for (title, count) in [("long", 30), ("short", 10)] {
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setValue(title, for: "title")
        for number in 0..<count {
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue(number, for: "number")
          try track.setValue(20.5, for: "weight")
          try track.setValue(Decimal(number), for: "price")
          try track.setObject(album, for: "album")
        }
      }
    }
    return stack
  }

  /// The number of tracks that a condition finds in a new context.
  ///
  /// - Parameter change: Changes records of the context before the fetch.
  private static func count(
    _ format: String, in stack: LoggedStore, after change: (ManagedObjectContext) throws -> Void = { _ in }
  ) throws -> Int {
    let context = stack.context()
    return try context.performAndWait {
      try change(context)
      stack.log.removeAll()
      let request = FetchRequest<ManagedObject>(entityName: "Track").filter(try FetchPredicate(format: format))
      return try context.fetch(request).count
    }
  }

  @Test(arguments: Backend.availableSQL)
  func `a statement with an aggregate of the members of a target has the store compute it once for each target`(
    backend: Backend
  ) throws {
    let stack = try Self.makeStore(backend)
    defer { stack.close() }
    try stack.write { context in
      let track = try context.insertNewObject(forEntityName: "Track")
      try track.setValue(0, for: "number")
      try track.setValue(0.5, for: "weight")
      try track.setValue(Decimal(1), for: "price")
    }
    let expected = [
      ("album.tracks.@count > 20", 30), ("album.tracks.@count == 0", 1), ("NOT album.tracks.@count > 20", 11),
      ("album.tracks.@sum.price > 50", 30), ("album.tracks.@sum.price == 0", 1), ("album.tracks.@max.number == 9", 10),
      ("album.tracks.@max.number == NULL", 1), ("album.tracks.@avg.number < 5", 10),
      ("SUBQUERY(album.tracks, $t, $t.album.tracks.@count == 10).@count > 0", 10),
    ]
    let shares = backend == .sqlite ? "coherence_shared_value('SELECT " : " LEFT JOIN LATERAL (SELECT "
    for (format, count) in expected {
      #expect(try Self.count(format, in: stack) == count, "\(format)")
      #expect(stack.log.reads.contains { $0.contains(shares) }, "\(stack.log.reads)")
    }
    let sorted = FetchRequest<ManagedObject>(entityName: "Track").sort("album.tracks.@count", .reverse).sort("number")
    let context = stack.context()
    let numbers = try context.performAndWait {
      try context.fetch(sorted).map { try $0.value(for: "number", as: Int.self) }
    }
    #expect(numbers == Array(0..<30) + Array(0..<10) + [0])
  }

  @Test func `an aggregate with texts too large to be retained is right for each record`() throws {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string, default: "")
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("label", .string)
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
    }
    let stack = try LoggedStore(.sqlite, model)
    defer { stack.close() }
    let text = String(repeating: "x", count: 3 << 19)
    try stack.write { context in
      let albums = try (0..<12).map { _ in try context.insertNewObject(forEntityName: "Album") }
      for letter in ["b", "a"] {
        for (number, album) in albums.enumerated() {
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue("\(letter)\(number)\(text)", for: "label")
          try track.setObject(album, for: "album")
        }
      }
    }
    #expect(try Self.count("album.tracks.@max.label == label", in: stack) == 12)
    #expect(stack.log.reads.contains { $0.contains("coherence_shared_value('SELECT ") }, "\(stack.log.reads)")
  }

  @Test(arguments: Backend.availableSQL)
  func `the context reads the members of a common target once for their number`(backend: Backend) throws {
    let stack = try Self.makeStore(backend)
    defer { stack.close() }
    #expect(try Self.count("album.tracks.@count > weight", in: stack) == 30)
    #expect(stack.log.reads.count <= 8, "\(stack.log.reads)")
  }

  @Test(arguments: Backend.availableSQL)
  func `with an unsaved record, the context reads the members of a common target once for their number`(
    backend: Backend
  ) throws {
    let stack = try Self.makeStore(backend)
    defer { stack.close() }
    let found = try Self.count("album.tracks.@count > weight", in: stack) { context in
      let track = try context.insertNewObject(forEntityName: "Track")
      try track.setValue(100, for: "number")
      try track.setValue(0.5, for: "weight")
      try track.setValue(Decimal(1), for: "price")
      try track.setObject(
        try context.fetch(FetchRequest<ManagedObject>(entityName: "Album").sort("title")).last, for: "album")
    }
    #expect(found == 31)
    #expect(stack.log.reads.count <= 12, "\(stack.log.reads)")
  }
}
