import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// The undo of references after other writers have changed the records at their ends.
@Suite struct UndoneReferenceTests {
  @Test(arguments: Backend.available)
  func `an undo clears a reference to a record that another writer has deleted`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    let track = try stack.change { context in
      let albums = try [1, 2].map { try UndoLibrary.insert("Album", $0, in: context) }
      let track = try UndoLibrary.insert("Track", 3, in: context)
      try track.setObject(albums[0], for: "album")
      return track
    }
    try stack.save()
    try stack.change { context in
      try track.setObject(UndoLibrary.object("Album", 2, in: context), for: "album")
    }
    try stack.save()
    try stack.container.newBackgroundContext().performAndWait { context in
      context.delete(try #require(try UndoLibrary.object("Album", 1, in: context)))
      try context.save()
    }
    stack.change { $0.refreshAll() }
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Album 2 '' tracks: []", "Track 3 '' tags: []"])
    try stack.redo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Album 2 '' tracks: [3]", "Track 3 '' album: 2 tags: []"])
  }

  @Test(arguments: Backend.available)
  func `an undone delete leaves out the target that another writer has deleted`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    let track = try stack.change { context in
      let track = try UndoLibrary.insert("Track", 3, in: context)
      try track.setObject(try UndoLibrary.insert("Album", 1, in: context), for: "album")
      return track
    }
    try stack.save()
    stack.change { $0.delete(track) }
    try stack.save()
    try stack.container.newBackgroundContext().performAndWait { context in
      context.delete(try #require(try UndoLibrary.object("Album", 1, in: context)))
      try context.save()
    }
    stack.change { $0.refreshAll() }
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Track 3 '' tags: []"])
  }

  @Test(arguments: Backend.available)
  func `an undo takes a record from the partner that another writer has given it`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      for key in [1, 2] { try UndoLibrary.insert("Artist", key, in: context) }
      try UndoLibrary.insert("Picture", 3, in: context)
    }
    try stack.save()
    try Self.setPortrait(ofArtist: 1, in: stack.context)
    try stack.save()
    let other = stack.container.newBackgroundContext()
    try Self.setPortrait(ofArtist: 2, in: other)
    try other.performAndWait { try other.save() }
    stack.change { $0.refreshAll() }
    try stack.undo()
    try stack.save()
    #expect(
      try stack.storedGraph().lines == ["Artist 1 '' albums: []", "Artist 2 '' albums: []", "Picture 3 ''"])
    try stack.redo()
    try stack.save()
    let redone = try stack.storedGraph().lines
    #expect(redone == ["Artist 1 '' albums: []", "Artist 2 '' albums: [] portrait: 3", "Picture 3 '' artist: 2"])
  }

  @Test(arguments: Backend.available)
  func `a refresh that takes a record from another writer's partner is nothing to undo`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      try UndoLibrary.insert("Artist", 1, in: context)
      for key in [3, 4] { try UndoLibrary.insert("Picture", key, in: context) }
    }
    try stack.save()
    stack.change { $0.undoHistory?.removeAll() }
    try Self.setPortrait(3, ofArtist: 1, in: stack.context)
    let other = stack.container.newBackgroundContext()
    try Self.setPortrait(4, ofArtist: 1, in: other)
    try other.performAndWait { try other.save() }
    stack.change { $0.refreshAll() }
    try stack.undo()
    let canUndo = stack.change { $0.undoHistory?.canUndo }
    #expect(canUndo == false)
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Artist 1 '' albums: []", "Picture 3 ''", "Picture 4 ''"])
  }

  /// Makes a picture the portrait of an artist.
  private static func setPortrait(
    _ pictureKey: Int = 3, ofArtist key: Int, in context: ManagedObjectContext
  ) throws {
    try context.performAndWait {
      let picture = try UndoLibrary.object("Picture", pictureKey, in: context)
      try #require(try UndoLibrary.object("Artist", key, in: context)).setObject(picture, for: "portrait")
    }
  }
}
