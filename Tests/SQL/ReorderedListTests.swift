import CoherenceCore
import TestSupport
import Testing

/// The statements of saves that change the order of many lists, in the logs of SQL stores.
@Suite struct ReorderedListTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Album") { Relationship("tracks", toMany: "Track", inverse: "album", ordered: true) }
      Entity("Playlist") { Relationship("tracks", toMany: "Track", inverse: "playlists", ordered: true) }
      Entity("Track") {
        Attribute("number", .int64)
        Relationship("album", toOne: "Album", inverse: "tracks")
        Relationship("playlists", toMany: "Playlist", inverse: "tracks")
      }
    }
  }

  private static func numbers(of owner: ManagedObject) throws -> [Int64] {
    try owner.objects(for: "tracks").map { try $0.value(for: "number", as: Int64.self) }
  }

  /// Reverses the order of some lists and saves. Returns the number of reads of the save.
  private func readCount(forSaveOf listCount: Int, of entityName: String, in backend: Backend) throws -> Int {
    let stack = try LoggedStore(backend, Self.model())
    defer { stack.close() }
    try stack.write { context in
      for _ in 0..<listCount {
        let owner = try context.insertNewObject(forEntityName: entityName)
        var tracks: [ManagedObject] = []
        for number in 0..<5 {
          let track = try context.insertNewObject(forEntityName: "Track")
          try track.setValue(Int64(number), for: "number")
          tracks.append(track)
        }
        try owner.setObjects(tracks, for: "tracks")
      }
    }
    let request = FetchRequest<ManagedObject>(entityName: entityName)
    let context = stack.context()
    let readCount = try context.performAndWait {
      for owner in try context.fetch(request) {
        #expect(try Self.numbers(of: owner) == [0, 1, 2, 3, 4])
        try owner.setObjects(try owner.objects(for: "tracks").reversed(), for: "tracks")
      }
      stack.log.removeAll()
      try context.save()
      return stack.log.reads.count
    }
    let reader = stack.context()
    try reader.performAndWait {
      for owner in try reader.fetch(request) { #expect(try Self.numbers(of: owner) == [4, 3, 2, 1, 0]) }
    }
    return readCount
  }

  @Test(arguments: Backend.availableSQL, ["Album", "Playlist"])
  func `a save reads the positions of all lists with another order together`(
    backend: Backend, entityName: String
  ) throws {
    let few = try readCount(forSaveOf: 2, of: entityName, in: backend)
    let many = try readCount(forSaveOf: 60, of: entityName, in: backend)
    #expect(many <= few, "\(few) \(many)")
  }
}
