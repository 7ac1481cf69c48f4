import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// Changes reverted after their save has failed.
@Suite struct UndoAfterFailedSaveTests {
  @Test(arguments: Backend.available, [false, true])
  func `an order reverted after a failed save is not saved`(_ backend: Backend, byUndo: Bool) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      try UndoLibrary.insert("Album", 1, in: context)
      for key in 2...4 { try UndoLibrary.insert("Track", key, in: context) }
      try Self.list([2, 3, 4], in: context)
    }
    try stack.save()
    let saved = try stack.storedGraph()
    try stack.change { context in try Self.list([4, 3, 2], in: context) }
    // A record without a title refuses the save.
    try stack.change { context in
      try #require(try UndoLibrary.object("Album", 1, in: context)).setValue(nil, for: "title")
    }
    let error = #expect(throws: CoherenceError.self) { try stack.save() }
    #expect(error?.code == .validationFailed)
    if byUndo {
      for _ in 0..<2 { try stack.undo() }
    } else {
      try stack.change { context in
        try Self.list([2, 3, 4], in: context)
        try #require(try UndoLibrary.object("Album", 1, in: context)).setValue("", for: "title")
      }
    }
    #expect(!stack.hasChanges)
    try stack.change { context in
      try #require(try UndoLibrary.object("Track", 3, in: context)).setValue("B", for: "title")
    }
    try stack.save()
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph() == saved)
  }

  @Test(arguments: Backend.available)
  func `an order whose first save has failed is saved`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      for key in [1, 5] { try UndoLibrary.insert("Album", key, in: context) }
      for key in 2...4 { try UndoLibrary.insert("Track", key, in: context) }
      try Self.list([2, 3], in: context)
    }
    try stack.save()
    try stack.change { context in
      try Self.list([4, 3, 2], in: context)
      try #require(try UndoLibrary.object("Album", 5, in: context)).setValue(nil, for: "title")
    }
    #expect(throws: CoherenceError.self) { try stack.save() }
    try stack.change { context in
      try #require(try UndoLibrary.object("Album", 5, in: context)).setValue("", for: "title")
    }
    let shown = try stack.graph()
    try stack.save()
    #expect(try stack.storedGraph() == shown)
    #expect(shown.lines.contains("Album 1 '' tracks: [4, 3, 2]"))
  }

  @Test(arguments: Backend.available)
  func `a refused save by a hook leaves the positions of the running save`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      try UndoLibrary.insert("Album", 1, in: context)
      for key in 2...4 { try UndoLibrary.insert("Track", key, in: context) }
      try Self.list([2, 3, 4], in: context)
    }
    try stack.save()
    try stack.change { context in
      try Self.list([4, 3, 2], in: context)
      try #require(try UndoLibrary.object("Album", 1, in: context)).setValue("save", for: "title")
    }
    try stack.save()
    let stored = try stack.storedGraph()
    #expect(stored.lines.contains("Album 1 'save' tracks: [4, 3, 2]"))
    #expect(try stack.graph() == stored)
  }

  /// Sets the tracks of the first album.
  private static func list(_ keys: [Int], in context: ManagedObjectContext) throws {
    let album = try #require(try UndoLibrary.object("Album", 1, in: context))
    try album.setObjects(try keys.compactMap { try UndoLibrary.object("Track", $0, in: context) }, for: "tracks")
  }
}
