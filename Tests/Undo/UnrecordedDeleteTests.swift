import CoherenceCore
import CoherenceStrategies
import Dispatch
import TestSupport
import Testing

/// The effects of delete rules belong to the delete: the history has both or none.
@Suite struct UnrecordedDeleteTests {
  /// A stack with a saved album of two tracks, an empty history, and the stored graph.
  private static func filled(_ backend: Backend) throws -> (stack: UndoLibrary.Stack, graph: Graph) {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      let album = try UndoLibrary.insert("Album", 1, in: context)
      try album.setObjects(try [2, 3].map { try UndoLibrary.insert("Track", $0, in: context) }, for: "tracks")
      try context.save()
      context.undoHistory = UndoHistory()
    }
    return (stack, try stack.storedGraph())
  }

  /// Deletes the album, whose delete rules wait for the next fetch.
  private static func deleteAlbum(in context: ManagedObjectContext) throws {
    context.delete(try #require(try UndoLibrary.object("Album", 1, in: context)))
  }

  @Test(arguments: Backend.available)
  func `a fetch without recording applies the rules of a recorded delete, and the undo reverts both`(
    _ backend: Backend
  ) throws {
    let (stack, graph) = try Self.filled(backend)
    try stack.change { context in
      try Self.deleteAlbum(in: context)
      let count = try context.undoHistory?.withoutRecording { try Graph(of: context).lines.count }
      #expect(count == 0)
    }
    try stack.undo()
    #expect(try stack.graph() == graph)
    #expect(!stack.hasChanges)
  }

  @Test(arguments: Backend.available)
  func `the effects of a delete without recording are not undone`(_ backend: Backend) throws {
    let (stack, _) = try Self.filled(backend)
    try stack.change { context in
      try context.undoHistory?.withoutRecording { try Self.deleteAlbum(in: context) }
      #expect(try Graph(of: context).lines.isEmpty)
      #expect(context.undoHistory?.canUndo == false)
    }
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines.isEmpty)
  }

  @Test(arguments: Backend.available, [false, true])
  func `the effects of a delete before a history, and before the removal of all changes, are not undone`(
    _ backend: Backend, isRemoved: Bool
  ) throws {
    let (stack, _) = try Self.filled(backend)
    try stack.change { context in
      try Self.deleteAlbum(in: context)
      if isRemoved { context.undoHistory?.removeAll() } else { context.undoHistory = UndoHistory() }
      #expect(try Graph(of: context).lines.isEmpty)
      #expect(context.undoHistory?.canUndo == false)
    }
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines.isEmpty)
  }

  @Test(arguments: Backend.available) @MainActor
  func `the name of a turn without changes is not the name of a later turn's group`(_ backend: Backend) async throws {
    let stack = try UndoLibrary.Stack(backend)
    let view = stack.container.viewContext
    let history = UndoHistory()
    view.undoHistory = history
    history.nameGroup("Nothing")
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
    try UndoLibrary.insert("Tag", 1, in: view)
    #expect(history.canUndo && history.undoName == nil)
  }
}
