import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// A refresh without merging drops changes, and its undo brings them back as a whole.
@Suite struct UndoneRefreshTests {
  /// A stack with a saved album of an artist, and an empty history.
  private static func filled(_ backend: Backend) throws -> (stack: UndoLibrary.Stack, album: ManagedObject) {
    let stack = try UndoLibrary.Stack(backend)
    let album = try stack.change { context in
      let album = try UndoLibrary.insert("Album", 1, title: "A", in: context)
      try album.setObject(try UndoLibrary.insert("Artist", 2, in: context), for: "artist")
      try context.save()
      context.undoHistory = UndoHistory()
      return album
    }
    return (stack, album)
  }

  @Test(arguments: Backend.available, [false, true])
  func `an undo brings back the edits and the delete that a refresh has dropped`(
    _ backend: Backend, isDeleted: Bool
  ) throws {
    let (stack, album) = try Self.filled(backend)
    let saved = try stack.graph()
    try stack.change { context in
      try album.setValue("B", for: "title")
      try album.setObject(nil, for: "artist")
      if isDeleted { context.delete(album) }
    }
    let changed = try stack.graph()
    #expect(changed != saved)
    stack.change { context in context.refresh(album, mergeChanges: false) }
    #expect(try stack.graph() == saved)
    try stack.undo()
    #expect(try stack.graph() == changed)
    try stack.redo()
    #expect(try stack.graph() == saved)
    try stack.undo()
    try stack.undo()
    #expect(try stack.graph() == saved)
    try stack.save()
    #expect(try stack.storedGraph() == saved)
  }

  @Test(arguments: Backend.available)
  func `the undo of a block that deletes an object and reverts the delete leaves the object`(_ backend: Backend) throws
  {
    let (stack, album) = try Self.filled(backend)
    let saved = try stack.graph()
    try stack.change { context in
      context.delete(album)
      try context.processPendingChanges()
      context.refresh(album, mergeChanges: false)
    }
    try stack.undo()
    #expect(try stack.graph() == saved)
    try stack.save()
    #expect(try stack.storedGraph() == saved)
  }

  @Test(arguments: Backend.available, [false, true])
  func `an undo leads to no edited record whose delete by another writer a refresh has found`(
    _ backend: Backend, refreshesAll: Bool
  ) throws {
    let (stack, album) = try Self.filled(backend)
    let artist = try stack.change { context in
      let artist = try #require(try album.object(for: "artist"))
      try artist.setValue("mine", for: "title")
      return artist
    }
    try stack.change { _ in try album.setObject(nil, for: "artist") }
    // The context does not follow the writer.
    try stack.deleteElsewhere("Artist", 2)
    try stack.change { context in
      if refreshesAll { context.refreshAll() } else { context.refresh(artist, mergeChanges: true) }
      try context.undoHistory?.undo()
      #expect(try album.object(for: "artist") == nil)
      #expect(try artist.objects(for: "albums").isEmpty)
    }
  }
}
