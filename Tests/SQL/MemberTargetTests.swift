import CoherenceCore
import TestSupport
import Testing

/// The statements of conditions that the context evaluates, and that read the targets of members.
@Suite struct MemberTargetTests {
  /// A store with albums of many tracks, each by an artist of its own.
  private static func makeStore(_ backend: Backend, albums: Int, tracks: Int) throws -> LoggedStore {
    let model = try ManagedObjectModel {
      Entity("Album") {
        Attribute("title", .string)
        Relationship("tracks", toMany: "Track", inverse: "album")
      }
      Entity("Track") {
        Attribute("number", .int64)
        Relationship("album", toOne: "Album", inverse: "tracks")
        Relationship("artist", toOne: "Artist", inverse: "tracks")
      }
      Entity("Artist") {
        Attribute("name", .string)
        Attribute("rating", .int64)
        Relationship("tracks", toMany: "Track", inverse: "artist")
      }
    }
    let stack = try LoggedStore(backend, model)
    try stack.write { context in
      for index in 0..<albums {
        let album = try context.insertNewObject(forEntityName: "Album")
        try album.setValue("album \(index)", for: "title")
        for number in 0..<tracks {
          let artist = try context.insertNewObject(forEntityName: "Artist")
          try artist.setValue("artist \(index) \(number)", for: "name")
          try artist.setValue(index, for: "rating")
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue(number, for: "number")
          try track.setObject(album, for: "album")
          try track.setObject(artist, for: "artist")
        }
      }
    }
    return stack
  }

  @Test(arguments: Backend.availableSQL, [1, 3])
  func `a condition of the context on the targets of members costs the same statements for any number of members`(
    backend: Backend, albums: Int
  ) throws {
    let stack = try Self.makeStore(backend, albums: albums, tracks: 40)
    defer { stack.close() }
    let formats = [
      ("ANY tracks.artist.name MATCHES 'artist 0 .*'", 1), ("ALL tracks.artist.name MATCHES 'artist .*'", albums),
      ("SUBQUERY(tracks, $t, $t.artist.name MATCHES '.* 7').@count == 1", albums),
      ("tracks.@sum.artist.rating == 0 OR title MATCHES 'none'", 1),
    ]
    for (format, count) in formats {
      let context = stack.context()
      try context.performAndWait {
        stack.log.removeAll()
        let request = FetchRequest<ManagedObject>(entityName: "Album").filter(try FetchPredicate(format: format))
        #expect(try context.fetch(request).count == count, "\(format)")
        #expect(stack.log.reads.count <= 6, "\(format): \(stack.log.reads.count) statements")
      }
    }
  }
}
