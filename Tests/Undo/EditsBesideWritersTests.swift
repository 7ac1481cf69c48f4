import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// Unsaved edits of records that other contexts edit in the same way, or delete and restore.
@Suite struct EditsBesideWritersTests {
  @Test(arguments: Backend.available)
  func `an edited record that one writer deletes and another one restores has the links of the store`(
    _ backend: Backend
  ) throws {
    let stack = try Self.linked(backend)
    let (deleter, restorer) = (stack.container.newBackgroundContext(), stack.container.newBackgroundContext())
    stack.context.follow(deleter)
    stack.context.follow(restorer)
    restorer.mergePolicy = .objectTrumps
    let track = try stack.change { context in try Self.edit("mine", in: context) }
    let restored = try restorer.performAndWait { try Self.edit("theirs", in: restorer) }
    try Self.deleteTrack(in: deleter)
    try stack.change { (_) throws in #expect(try track.objects(for: "tags").isEmpty) }
    try restorer.performAndWait {
      try restorer.save()
      #expect(try restored.objects(for: "tags").isEmpty)
      let tag = try #require(try UndoLibrary.object("Tag", 2, in: restorer))
      #expect(try tag.objects(for: "tracks").isEmpty)
    }
    #expect(try stack.storedGraph().lines == ["Tag 2 '' related: [] tracks: []", "Track 1 'theirs' tags: []"])
    #expect(try stack.graph().lines == ["Tag 2 '' related: [] tracks: []", "Track 1 'mine' tags: []"])
  }

  @Test(arguments: Backend.available)
  func `a child has the links of the store for a record that its parent edits and another writer deletes`(
    _ backend: Backend
  ) throws {
    let stack = try Self.linked(backend)
    let deleter = stack.container.newBackgroundContext()
    stack.context.follow(deleter)
    _ = try stack.change { context in try Self.edit("mine", in: context) }
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    let track = try child.performAndWait { try Self.read(in: child) }
    try Self.deleteTrack(in: deleter)
    try child.performAndWait { () throws in
      #expect(try track.objects(for: "tags").isEmpty)
      #expect(try track.value(for: "title", as: String.self) == "mine")
    }
  }

  @Test(arguments: Backend.available)
  func `an undo changes a record that one writer has deleted and another one has restored`(_ backend: Backend) throws {
    let stack = try Self.linked(backend)
    let (deleter, restorer) = (stack.container.newBackgroundContext(), stack.container.newBackgroundContext())
    stack.context.follow(deleter)
    stack.context.follow(restorer)
    restorer.mergePolicy = .objectTrumps
    let track = try stack.change { context in
      let track = try #require(try UndoLibrary.object("Track", 1, in: context))
      try track.setObjects([], for: "tags")
      return track
    }
    _ = try restorer.performAndWait { try Self.edit("theirs", in: restorer) }
    try Self.deleteTrack(in: deleter)
    stack.change { _ in }
    try restorer.performAndWait { try restorer.save() }
    try stack.undo()
    try stack.change { (_) throws in #expect(try track.objects(for: "tags").count == 1) }
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Tag 2 '' related: [] tracks: [1]", "Track 1 'theirs' tags: [2]"])
  }

  @Test(arguments: Backend.available, [false, true])
  func `a move that another writer has saved too is no change any more`(_ backend: Backend, hadOwner: Bool) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      let album = try UndoLibrary.insert("Album", 1, in: context)
      let artist = try UndoLibrary.insert("Artist", 2, in: context)
      try UndoLibrary.insert("Artist", 3, in: context)
      if hadOwner { try album.setObject(artist, for: "artist") }
    }
    try stack.save()
    let former = try stack.storedGraph()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { context in try Self.move(in: context) }
    try other.performAndWait {
      try Self.move(in: other)
      try other.save()
    }
    #expect(!stack.hasChanges)
    stack.change { context in #expect(context.updatedObjects.isEmpty) }
    #expect(try stack.graph() == stack.storedGraph())
    try stack.undo()
    #expect(try stack.graph() == former)
    try stack.save()
    #expect(try stack.storedGraph() == former)
  }

  @Test(arguments: Backend.available)
  func `a refresh of a move that another writer has saved too leaves no change`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      try UndoLibrary.insert("Album", 1, in: context)
      try UndoLibrary.insert("Artist", 3, in: context)
    }
    try stack.save()
    // The context does not merge the saves of the other one.
    let context = ManagedObjectContext(coordinator: stack.container.persistentStoreCoordinator)
    try context.performAndWait {
      let (album, artist) = try Self.move(in: context)
      #expect(try artist.objects(for: "albums").count == 1)
      let other = stack.container.newBackgroundContext()
      try other.performAndWait {
        try Self.move(in: other)
        try other.save()
      }
      context.refresh(album, mergeChanges: true)
      #expect(!context.hasChanges)
      #expect(try artist.objects(for: "albums").count == 1)
    }
  }

  /// A stack with a saved track of a tag.
  private static func linked(_ backend: Backend) throws -> UndoLibrary.Stack {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      let track = try UndoLibrary.insert("Track", 1, in: context)
      try track.setObjects([try UndoLibrary.insert("Tag", 2, in: context)], for: "tags")
    }
    try stack.save()
    return stack
  }

  /// Reads the tags of the track and their tracks.
  private static func read(in context: ManagedObjectContext) throws -> ManagedObject {
    let track = try #require(try UndoLibrary.object("Track", 1, in: context))
    let tags = try track.objects(for: "tags")
    #expect(tags.count == 1)
    for tag in tags { #expect(try tag.objects(for: "tracks").count == 1) }
    return track
  }

  /// Reads the tags of the track and their tracks, and changes the title.
  private static func edit(_ title: String, in context: ManagedObjectContext) throws -> ManagedObject {
    let track = try read(in: context)
    try track.setValue(title, for: "title")
    return track
  }

  private static func deleteTrack(in context: ManagedObjectContext) throws {
    try context.performAndWait {
      context.delete(try #require(try UndoLibrary.object("Track", 1, in: context)))
      try context.save()
    }
  }

  /// Makes the album an album of the third artist.
  @discardableResult
  private static func move(in context: ManagedObjectContext) throws -> (album: ManagedObject, artist: ManagedObject) {
    let album = try #require(try UndoLibrary.object("Album", 1, in: context))
    let artist = try #require(try UndoLibrary.object("Artist", 3, in: context))
    try album.setObject(artist, for: "artist")
    return (album, artist)
  }
}
