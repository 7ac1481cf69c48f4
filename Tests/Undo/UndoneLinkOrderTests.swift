import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// Undos of links between an ordered and an unordered list, whose both sides agree.
@Suite struct UndoneLinkOrderTests {
  private static func model() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Playlist") { Relationship("tracks", toMany: "Track", inverse: "playlists", ordered: true) }
      Entity("Track") {
        Attribute("key", .int64)
        Relationship("playlists", toMany: "Playlist", inverse: "tracks")
      }
    }
  }

  private static func only(_ entity: String, in context: ManagedObjectContext) throws -> ManagedObject {
    try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: entity)).first)
  }

  /// The keys of the playlist's tracks, and the number of playlists of each track.
  private static func links(in context: ManagedObjectContext) throws -> [[Int64]] {
    let keys = try only("Playlist", in: context).objects(for: "tracks").map { try $0.value(for: "key", as: Int64.self) }
    let tracks = try context.fetch(FetchRequest<ManagedObject>(entityName: "Track"))
    return [keys, try tracks.map { Int64(try $0.objects(for: "playlists").count) }]
  }

  @Test(arguments: Backend.available, [false, true])
  func `the undo of a link that a child context, or the context itself, removes and adds again keeps both sides`(
    _ backend: Backend, inChild: Bool
  ) throws {
    let directory = TemporaryDirectory()
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Links", managedObjectModel: try Self.model(), storeLocation: directory.url)
    try container.attachPersistentStore(for: backend.newConfiguration())
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let tracks = try (1...3).map { key in
        let track = try context.insertNewObject(forEntityName: "Track")
        try track.setValue(Int64(key), for: "key")
        return track
      }
      try context.insertNewObject(forEntityName: "Playlist").setObjects(tracks, for: "tracks")
      try context.save()
      context.undoHistory = UndoHistory()
    }
    let editor = inChild ? ManagedObjectContext(concurrencyType: .privateQueue, parent: context) : context
    try editor.performAndWait {
      let playlist = try Self.only("Playlist", in: editor)
      let first = try #require(try playlist.objects(for: "tracks").first)
      playlist[OrderedToManyKey<ManagedObject>("tracks")].remove(first)
      playlist[OrderedToManyKey<ManagedObject>("tracks")].append(first)
      if inChild { try editor.save() }
    }
    try context.performAndWait {
      #expect(try Self.links(in: context) == [[2, 3, 1], [1, 1, 1]])
      try context.undoHistory?.undo()
      #expect(try Self.links(in: context) == [[1, 2, 3], [1, 1, 1]])
      #expect(!context.hasChanges)
      try context.save()
    }
    try container.newBackgroundContext().performAndWait { (other) throws in
      #expect(try Self.links(in: other) == [[1, 2, 3], [1, 1, 1]])
    }
  }
}
