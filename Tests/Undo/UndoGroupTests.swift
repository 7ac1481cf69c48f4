import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct UndoGroupTests {
  private let stack: UndoLibrary.Stack

  init() throws { stack = try UndoLibrary.Stack(.inMemory) }

  private func insert(_ key: Int) throws {
    try stack.change { context in try UndoLibrary.insert("Tag", key, in: context) }
  }
  private var count: Int { get throws { try stack.graph().lines.count } }
  private func inHistory<T>(_ body: (UndoHistory) throws -> T) throws -> T {
    try stack.change { context in try body(try #require(context.undoHistory)) }
  }

  @Test func `blocks in one group are undone together`() throws {
    try insert(1)
    try inHistory { $0.beginGroup(named: "Add Tags") }
    try insert(2)
    try inHistory { $0.beginGroup(named: "Inner") }
    try insert(3)
    try inHistory { $0.endGroup() }
    expectIllegalState { try stack.undo() }
    try inHistory { $0.endGroup() }
    try inHistory { history in
      #expect(history.undoName == "Add Tags")
      #expect(history.redoName == nil)
    }
    try stack.undo()
    #expect(try count == 1)
    try inHistory { history in
      #expect(history.undoName == nil && history.canUndo)
      #expect(history.redoName == "Add Tags" && history.canRedo)
    }
  }

  @Test func `a group named in its block keeps its name after undo and redo`() throws {
    try stack.change { context in
      try UndoLibrary.insert("Tag", 1, in: context)
      context.undoHistory?.nameGroup("Add Tag")
    }
    try stack.undo()
    try stack.redo()
    #expect(try inHistory(\.undoName) == "Add Tag")
  }

  @Test func `an empty group is no group, and an end without a beginning does nothing`() throws {
    try insert(1)
    try inHistory { history in
      history.beginGroup(named: "Nothing")
      history.endGroup()
      history.endGroup()
      #expect(history.undoName == nil)
    }
    try stack.undo()
    #expect(try count == 0)
  }

  @Test func `a new change removes the changes to redo`() throws {
    try insert(1)
    try stack.undo()
    try insert(2)
    #expect(try !inHistory(\.canRedo))
    try stack.redo()
    #expect(try count == 1)
  }

  @Test func `the earliest groups beyond the limit are removed`() throws {
    try inHistory { $0.groupLimit = 2 }
    for key in 1...4 { try insert(key) }
    for _ in 1...4 { try stack.undo() }
    #expect(try count == 2)
    for _ in 1...4 { try stack.redo() }
    #expect(try count == 4)
    try inHistory { history in
      history.removeAll()
      #expect(!history.canUndo && !history.canRedo)
    }
  }

  @Test func `changes without recording are not undone`() throws {
    try inHistory { history in
      _ = try history.withoutRecording {
        try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
      }
    }
    try insert(2)
    try stack.undo()
    #expect(try stack.graph().lines == ["Tag 1 '' related: [] tracks: []"])
  }

  @Test func `changes by hooks of a save are not undone`() throws {
    try insert(1)
    try stack.save()
    try stack.change { context in
      try UndoLibrary.object("Tag", 1, in: context)?.setValue("shout", for: "title")
    }
    try stack.save()
    #expect(try stack.graph().lines == ["Tag 1 'shout!' related: [] tracks: []"])
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Tag 1 '' related: [] tracks: []"])
  }

  @Test func `the save of a child context is one group of the parent`() throws {
    try stack.change { context in
      let album = try UndoLibrary.insert("Album", 1, in: context)
      try album.setObjects((2...4).map { try UndoLibrary.insert("Track", $0, in: context) }, for: "tracks")
      try album.setObject(try UndoLibrary.insert("Artist", 5, in: context), for: "artist")
    }
    try stack.save()
    let before = try stack.graph()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait {
      let album = try #require(try UndoLibrary.object("Album", 1, in: child))
      try album.setValue("child", for: "title")
      child.delete(try #require(try UndoLibrary.object("Track", 3, in: child)))
      try album.setObjects(
        try [4, 2].map { try #require(try UndoLibrary.object("Track", $0, in: child)) }
          + [try UndoLibrary.insert("Track", 6, in: child)], for: "tracks")
      child.delete(try #require(try UndoLibrary.object("Artist", 5, in: child)))
      try child.save()
    }
    let after = try stack.graph()
    #expect(after != before)
    try stack.undo()
    #expect(try stack.graph().lines == before.lines)
    try stack.redo()
    let again = try stack.graph()
    #expect(again == after)
    try stack.save()
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph() == before)
  }

  @Test(arguments: [false, true])
  func `an undo of a delete by a child context gives the object its members again`(isSaved: Bool) throws {
    try stack.change { context in
      let album = try UndoLibrary.insert("Album", 1, in: context)
      let tracks = try (2...3).map { try UndoLibrary.insert("Track", $0, in: context) }
      try album.setObjects(tracks, for: "tracks")
      let tags = try (4...5).map { try UndoLibrary.insert("Tag", $0, in: context) }
      try tracks[0].setObjects(tags, for: "tags")
      try tags[0].setObjects([tags[1]], for: "related")
      try album.setObject(try UndoLibrary.insert("Artist", 6, in: context), for: "artist")
    }
    try stack.save()
    let before = try stack.graph()
    for (entity, number) in [("Track", 2), ("Tag", 4), ("Artist", 6), ("Album", 1)] {
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
      try child.performAndWait {
        child.delete(try #require(try UndoLibrary.object(entity, number, in: child)))
        try child.save()
      }
      if isSaved { try stack.save() }
      #expect(try stack.graph().lines != before.lines)
      try stack.undo()
      #expect(try stack.graph().lines == before.lines, "\(entity)")
    }
    try stack.save()
    #expect(try stack.storedGraph() == before)
  }

  @Test @MainActor func `the changes of a turn of the main queue are one group`() async throws {
    let view = stack.container.viewContext
    let history = UndoHistory()
    view.undoHistory = history
    try UndoLibrary.insert("Tag", 1, in: view)
    try UndoLibrary.insert("Tag", 2, in: view)
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
    try UndoLibrary.insert("Tag", 3, in: view)
    try history.undo()
    #expect(try Graph(of: view).lines.count == 2)
    try history.undo()
    #expect(try Graph(of: view).lines.isEmpty)
  }

  @Test func `observers are notified of the objects that an undo changes`() async throws {
    let tag = try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
    try stack.save()
    let id = stack.change { _ in tag.objectID }
    try stack.change { _ in try tag.setValue("changed", for: "title") }
    var changes = stack.context.objectsDidChange.makeAsyncIterator()
    try stack.undo()
    #expect(await changes.next()?.updated == [id])
    stack.change { $0.delete(tag) }
    #expect(await changes.next()?.deleted == [id])
    try stack.undo()
    #expect(await changes.next()?.deleted == [])
  }
}
