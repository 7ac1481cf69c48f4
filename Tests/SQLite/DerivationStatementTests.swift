import CoherenceCore
import TestSupport
import Testing

/// The statements of saves in a model with values derived from other records.
@Suite struct DerivationStatementTests {
  private let stack: LoggedStore
  private let context: ManagedObjectContext

  private var log: MessageLog { stack.log }

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string, optional: true)
        Attribute("trackCount", .int64, derived: .count("tracks"))
        Attribute("length", .int64, derived: .sum("tracks.length"))
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("title", .string, optional: true)
        Attribute("length", .int64, default: 1)
        Attribute("albumTitle", .string, derived: .path("album.title"))
        Relationship("album", toOne: "Album", inverse: "tracks")
      }
      Entity("Note") { Attribute("title", .string, optional: true) }
    }
    stack = try LoggedStore(.sqlite, model)
    context = stack.context()
  }

  /// The statements of a save that compute derived values.
  private func computations(_ change: (ManagedObjectContext) throws -> Void) throws -> [String] {
    try context.performAndWait {
      try change(context)
      log.removeAll()
      try context.save()
    }
    return log.messages.filter { $0.contains("RETURNING") && $0.hasPrefix("UPDATE") }
  }

  private func addTracks(_ count: Int, to album: ManagedObject, _ context: ManagedObjectContext) throws {
    for number in 0..<count {
      let track = try context.insertNewObject(forEntityName: "Track")
      try track.setValue("track \(number)", for: "title")
      try track.setObject(album, for: "album")
    }
  }

  @Test func `a save of many members of one owner computes its values by one statement`() throws {
    let albums = try computations { _ = try $0.insertNewObject(forEntityName: "Album") }
    #expect(albums.isEmpty, "\(albums)")
    for count in [1, 100] {
      let statements = try computations { context in
        let album = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")).first)
        try addTracks(count, to: album, context)
      }
      // One for the entity of the albums, one for that of the tracks with their path.
      #expect(statements.count == 2, "\(statements)")
      #expect(statements.count { $0.hasPrefix("UPDATE \"Album\"") } == 1)
    }
    let album = try context.performAndWait {
      try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Album")).first)
        .value(for: "trackCount")
    }
    #expect(album == .int(101))
  }

  @Test func `a save that changes nothing that a value is derived from computes nothing`() throws {
    _ = try computations { try addTracks(1, to: try $0.insertNewObject(forEntityName: "Album"), $0) }
    let notes = try computations { _ = try $0.insertNewObject(forEntityName: "Note") }
    #expect(notes.isEmpty, "\(notes)")
    let others = log.messages.filter { $0.contains("\"Album\"") || $0.contains("\"Track\"") }
    #expect(others.isEmpty, "\(others)")
    let titles = try computations { context in
      try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Track")).first).setValue(
        "x", for: "title")
    }
    #expect(titles.isEmpty, "\(titles)")
  }

  @Test func `a save of a value that only one derived attribute reads computes that attribute alone`() throws {
    _ = try computations { try addTracks(2, to: try $0.insertNewObject(forEntityName: "Album"), $0) }
    let lengths = try computations { context in
      for track in try context.fetch(FetchRequest<ManagedObject>(entityName: "Track")) {
        try track.setValue(7, for: "length")
      }
    }
    #expect(lengths.count == 1)
    #expect(lengths.first?.contains("exact_sum(") == true, "\(lengths)")
    #expect(lengths.first?.contains("COUNT(*)") == false, "\(lengths)")
  }
}
