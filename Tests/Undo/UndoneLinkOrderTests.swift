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
    let (container, context) = try Self.playlist(backend, in: directory)
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

  @Test(arguments: Backend.available, [false, true])
  func `an order that a child has read as its parent's unsaved order, and that returns, is an order to save`(
    _ backend: Backend, byUndo: Bool
  ) throws {
    let directory = TemporaryDirectory()
    let (container, context) = try Self.playlist(backend, in: directory)
    func move(from first: Int, to second: Int, in context: ManagedObjectContext) throws {
      try Self.only("Playlist", in: context)[OrderedToManyKey<ManagedObject>("tracks")].move(from: first, to: second)
    }
    try context.performAndWait {
      try move(from: 0, to: 2, in: context)
      context.refreshAll()
    }
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: context)
    try child.performAndWait {
      try move(from: 2, to: 0, in: child)
      try child.save()
    }
    try context.performAndWait {
      #expect(try Self.links(in: context) == [[1, 2, 3], [1, 1, 1]])
      if byUndo { try context.undoHistory?.undo() } else { try move(from: 0, to: 2, in: context) }
      #expect(try Self.links(in: context) == [[2, 3, 1], [1, 1, 1]])
      try context.save()
    }
    try container.newBackgroundContext().performAndWait { (other) throws in
      #expect(try Self.links(in: other) == [[2, 3, 1], [1, 1, 1]])
    }
  }

  @Test(arguments: Backend.available, [false, true])
  func `the undo of a link that returns after its unsaved removal removes both sides, and its redo restores both`(
    _ backend: Backend, inList: Bool
  ) throws {
    let directory = TemporaryDirectory()
    let (container, context) = try Self.playlist(backend, in: directory)
    let (all, others): ([[Int64]], [[Int64]]) = ([[2, 3, 1], [1, 1, 1]], [[2, 3], [0, 1, 1]])
    try context.performAndWait {
      let playlist = try Self.only("Playlist", in: context)
      let track = try #require(try playlist.objects(for: "tracks").first)
      let list = playlist[OrderedToManyKey<ManagedObject>("tracks")]
      let history = try #require(context.undoHistory)
      for isRemoval in [true, false] {
        history.beginGroup()
        if isRemoval {
          list.remove(track)
        } else if inList {
          list.append(track)
        } else {
          track[ToManyKey<ManagedObject>("playlists")].insert(playlist)
        }
        history.endGroup()
      }
      #expect(try Self.sides(in: context) == all)
      try history.undo()
      #expect(try Self.sides(in: context) == others)
      try history.redo()
      #expect(try Self.sides(in: context) == all)
      try history.undo()
      try history.undo()
      #expect(try Self.sides(in: context) == [[1, 2, 3], [1, 1, 1]])
      #expect(!context.hasChanges)
    }
    withExtendedLifetime(container) {}
  }

  @Test(arguments: Backend.available)
  func `an undo gives no member to an edited list whose owner another writer has deleted`(_ backend: Backend) throws {
    let directory = TemporaryDirectory()
    let (container, context) = try Self.playlist(backend, in: directory)
    let (playlist, track) = try context.performAndWait { () throws -> (ManagedObject, ManagedObject) in
      let track = try context.insertNewObject(forEntityName: "Track")
      try track.setValue(Int64(4), for: "key")
      try context.save()
      let playlist = try Self.only("Playlist", in: context)
      let list = playlist[OrderedToManyKey<ManagedObject>("tracks")]
      list.append(track)
      list.move(from: 0, to: 2)
      return (playlist, track)
    }
    context.performAndWait { playlist[OrderedToManyKey<ManagedObject>("tracks")].remove(track) }
    let deleter = container.newBackgroundContext()
    context.follow(deleter)
    try deleter.performAndWait {
      deleter.delete(try Self.only("Playlist", in: deleter))
      try deleter.save()
    }
    try context.performAndWait {
      try context.undoHistory?.undo()
      #expect(try !playlist.objects(for: "tracks").contains(track))
      #expect(try track.objects(for: "playlists").isEmpty)
    }
  }

  @Test(arguments: Backend.available)
  func `the delete of an ordered list's owner reaches a member that the list has lost and has again`(
    _ backend: Backend
  ) throws {
    let directory = TemporaryDirectory()
    let (container, context) = try Self.playlist(backend, in: directory)
    try context.performAndWait {
      let playlist = try Self.only("Playlist", in: context)
      let track = try #require(try playlist.objects(for: "tracks").first)
      playlist[OrderedToManyKey<ManagedObject>("tracks")].remove(track)
      playlist[OrderedToManyKey<ManagedObject>("tracks")].append(track)
      context.delete(playlist)
      try context.processPendingChanges()
      #expect(try track.objects(for: "playlists").isEmpty)
    }
    withExtendedLifetime(container) {}
  }

  /// As ``links(in:)``, with the tracks in the order of their keys.
  private static func sides(in context: ManagedObjectContext) throws -> [[Int64]] {
    let request = FetchRequest<ManagedObject>(entityName: "Track").sort("key")
    let counts = try context.fetch(request).map { Int64(try $0.objects(for: "playlists").count) }
    return [try links(in: context)[0], counts]
  }

  @Test(arguments: Backend.available)
  func `an unsaved link to a record that another writer deletes has both sides until a save or a rollback`(
    _ backend: Backend
  ) throws {
    let directory = TemporaryDirectory()
    let (container, context) = try Self.playlist(backend, in: directory)
    try context.performAndWait {
      let playlist = try Self.only("Playlist", in: context)
      let track = try context.insertNewObject(forEntityName: "Track")
      try track.setValue(Int64(4), for: "key")
      try context.save()
      playlist[OrderedToManyKey<ManagedObject>("tracks")].append(track)
    }
    let deleter = container.newBackgroundContext()
    context.follow(deleter)
    try deleter.performAndWait {
      let tracks = try deleter.fetch(FetchRequest<ManagedObject>(entityName: "Track"))
      deleter.delete(try #require(tracks.first { try $0.value(for: "key", as: Int64.self) == 4 }))
      try deleter.save()
    }
    try context.performAndWait { () throws in
      #expect(try Self.links(in: context) == [[1, 2, 3, 4], [1, 1, 1, 1]])
      context.rollback()
      #expect(try Self.links(in: context) == [[1, 2, 3], [1, 1, 1]])
    }
  }

  /// A playlist with three saved tracks, in a context with an undo history.
  private static func playlist(
    _ backend: Backend, in directory: TemporaryDirectory
  ) throws -> (GenericPersistentContainer<ContextStrategy.Direct>, ManagedObjectContext) {
    let container = GenericPersistentContainer<ContextStrategy.Direct>(
      name: "Links", managedObjectModel: try model(), storeLocation: directory.url)
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
    return (container, context)
  }
}
