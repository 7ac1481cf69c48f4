import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct UndoGroupTests {
  @Test(arguments: Backend.available)
  func `blocks in one group are undone together`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.insert(1)
    try stack.inHistory { $0.beginGroup(named: "Add Tags") }
    try stack.insert(2)
    try stack.inHistory { $0.beginGroup(named: "Inner") }
    try stack.insert(3)
    try stack.inHistory { $0.endGroup() }
    expectIllegalState { try stack.undo() }
    try stack.inHistory { $0.endGroup() }
    try stack.inHistory { history in
      #expect(history.undoName == "Add Tags")
      #expect(history.redoName == nil)
    }
    try stack.undo()
    #expect(try stack.count == 1)
    try stack.inHistory { history in
      #expect(history.undoName == nil && history.canUndo)
      #expect(history.redoName == "Add Tags" && history.canRedo)
    }
  }

  @Test(arguments: Backend.available)
  func `a group named in its block keeps its name after undo and redo`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      try UndoLibrary.insert("Tag", 1, in: context)
      context.undoHistory?.nameGroup("Add Tag")
    }
    try stack.undo()
    try stack.redo()
    #expect(try stack.inHistory(\.undoName) == "Add Tag")
  }

  @Test(arguments: Backend.available)
  func `an empty group is no group, and an end without a beginning does nothing`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.insert(1)
    try stack.inHistory { history in
      history.beginGroup(named: "Nothing")
      history.endGroup()
      history.endGroup()
      #expect(history.undoName == nil)
    }
    try stack.undo()
    #expect(try stack.count == 0)
  }

  @Test(arguments: Backend.available)
  func `a new change removes the changes to redo`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.insert(1)
    try stack.undo()
    try stack.insert(2)
    #expect(try !stack.inHistory(\.canRedo))
    try stack.redo()
    #expect(try stack.count == 1)
  }

  @Test(arguments: Backend.available)
  func `the earliest groups beyond the limit are removed`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.inHistory { $0.groupLimit = 2 }
    for key in 1...4 { try stack.insert(key) }
    for _ in 1...4 { try stack.undo() }
    #expect(try stack.count == 2)
    for _ in 1...4 { try stack.redo() }
    #expect(try stack.count == 4)
    try stack.inHistory { history in
      history.removeAll()
      #expect(!history.canUndo && !history.canRedo)
    }
  }

  @Test(arguments: Backend.available)
  func `a history begins with the limit of its initializer, and a lower limit removes the earliest groups at once`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    stack.change { context in context.undoHistory = UndoHistory(groupLimit: 3) }
    for key in 1...5 { try stack.insert(key) }
    for _ in 1...5 { try stack.undo() }
    #expect(try stack.count == 2)
    for _ in 1...5 { try stack.redo() }
    #expect(try stack.count == 5)
    try stack.inHistory { $0.groupLimit = 1 }
    for _ in 1...5 { try stack.undo() }
    #expect(try stack.count == 4)
  }

  /// An object that the test does not retain.
  private struct WeakObject {
    weak var object: ManagedObject?
  }

  @Test(arguments: Backend.available)
  func `a history with a limit releases the objects that undos have inserted again, after their groups`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.inHistory { $0.groupLimit = 1 }
    var objects: [WeakObject] = []
    for key in 1...200 as ClosedRange<Int64> {
      try stack.change { context in
        let artist = try context.insertNewObject(forEntityName: "Artist")
        try artist.setValue(key, for: "key")
        try artist.setValue("", for: "title")
        try context.save()
        context.delete(artist)
        objects.append(WeakObject(object: artist))
      }
      try stack.save()
      try stack.undo()
      try stack.save()
    }
    #expect(objects.count { $0.object != nil } < 100)
    let count = try stack.change { try $0.count(for: FetchRequest<ManagedObject>(entityName: "Artist")) }
    #expect(count == 200)
  }

  @Test(arguments: Backend.available)
  func `a group without a name takes the name of a group in it`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.inHistory { $0.beginGroup() }
    try stack.insert(1)
    try stack.inHistory { $0.beginGroup(named: "Inner") }
    try stack.insert(2)
    for _ in 1...2 { try stack.inHistory { $0.endGroup() } }
    #expect(try stack.inHistory(\.undoName) == "Inner")
    try stack.undo()
    #expect(try stack.count == 0)
  }

  @Test(arguments: Backend.available)
  func `changes without recording are not undone`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.inHistory { history in
      _ = try history.withoutRecording {
        try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
      }
    }
    try stack.insert(2)
    try stack.undo()
    #expect(try stack.graph().lines == ["Tag 1 '' related: [] tracks: []"])
  }

  @Test(arguments: Backend.available)
  func `changes by hooks of a save are not undone`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.insert(1)
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

  @Test(arguments: Backend.available)
  func `the save of a child context is one group of the parent`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
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

  @Test(arguments: Backend.available)
  func `the undo of a child's insert into a list leaves nothing to save`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      let album = try UndoLibrary.insert("Album", 1, in: context)
      try album.setObjects((2...3).map { try UndoLibrary.insert("Track", $0, in: context) }, for: "tracks")
    }
    try stack.save()
    let before = try stack.graph()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait {
      let album = try #require(try UndoLibrary.object("Album", 1, in: child))
      try album.setValue("child", for: "title")
      let tracks = try album.objects(for: "tracks")
      try album.setObjects([try UndoLibrary.insert("Track", 4, in: child)] + tracks, for: "tracks")
      try child.save()
    }
    try stack.undo()
    #expect(try stack.graph() == before)
    #expect(!stack.hasChanges)
    try stack.redo()
    try stack.undo()
    #expect(!stack.hasChanges)
  }

  @Test(arguments: Backend.available)
  func `the undo of a group that takes a member away and back restores its index`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      let albums = try [0, 1].map { try UndoLibrary.insert("Album", $0, in: context) }
      try albums[0].setObjects((2...4).map { try UndoLibrary.insert("Track", $0, in: context) }, for: "tracks")
    }
    try stack.save()
    let before = try stack.graph()
    try stack.change { context in
      let track = try #require(try UndoLibrary.object("Track", 3, in: context))
      for number in [1, 0] { try track.setObject(try UndoLibrary.object("Album", number, in: context), for: "album") }
    }
    let after = try stack.graph()
    #expect(after != before)
    try stack.undo()
    #expect(try stack.graph() == before)
    try stack.redo()
    #expect(try stack.graph() == after)
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph() == before)
  }

  @Test(arguments: Backend.available, [false, true])
  func `an undo of a delete by a child context gives the object its members again`(
    _ backend: Backend, isSaved: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
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

  @Test(arguments: Backend.available) @MainActor
  func `the changes of a turn of the main queue are one group`(_ backend: Backend) async throws {
    let stack = try UndoLibrary.Stack(backend)
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

  /// Returns after the end of the present turn of the main queue.
  @MainActor private func endTurn() async {
    await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
  }

  @Test(arguments: Backend.available) @MainActor
  func `each turn is a group after the history was moved to another context in the middle of a turn`(
    _ backend: Backend
  ) async throws {
    let stack = try UndoLibrary.Stack(backend)
    let view = stack.container.viewContext
    let other = ManagedObjectContext(
      concurrencyType: .mainQueue, coordinator: stack.container.persistentStoreCoordinator)
    let history = UndoHistory()
    view.undoHistory = history
    try UndoLibrary.insert("Tag", 1, in: view)
    other.undoHistory = history
    await endTurn()
    for key in [2, 3] {
      try UndoLibrary.insert("Tag", key, in: other)
      await endTurn()
    }
    try history.undo()
    #expect(try Graph(of: other).lines.count == 1)
    try history.undo()
    #expect(try Graph(of: other).lines.isEmpty)
    #expect(!history.canUndo)
  }

  @Test(arguments: Backend.availableSQL) @MainActor
  func `each turn is a group again after the store of a deleted object was attached again`(
    _ backend: Backend
  ) async throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Artist", 1, in: context) }
    try stack.save()
    let view = stack.container.viewContext
    let history = UndoHistory()
    view.undoHistory = history
    let artist = try #require(try UndoLibrary.object("Artist", 1, in: view))
    view.delete(artist)
    let coordinator = stack.container.persistentStoreCoordinator
    let store = try #require(coordinator.persistentStores.first)
    try coordinator.remove(store)
    // The rules of the delete cannot be applied, so that the group stays open.
    await endTurn()
    try coordinator.addPersistentStore(type: store.type, at: store.url, options: store.environment.options)
    for key in [2, 3] {
      try UndoLibrary.insert("Tag", key, in: view)
      await endTurn()
    }
    try history.undo()
    #expect(try view.count(for: FetchRequest<ManagedObject>(entityName: "Tag")) == 1)
    try history.undo()
    #expect(try view.count(for: FetchRequest<ManagedObject>(entityName: "Tag")) == 0)
    #expect(!artist.isDeleted)
  }

  @Test(arguments: Backend.available)
  func `observers are notified of the objects that an undo changes`(_ backend: Backend) async throws {
    let stack = try UndoLibrary.Stack(backend)
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

extension UndoLibrary.Stack {
  /// Inserts a tag in a block of the context.
  fileprivate func insert(_ key: Int) throws {
    try change { context in try UndoLibrary.insert("Tag", key, in: context) }
  }

  /// The number of records that the context shows.
  fileprivate var count: Int { get throws { try graph().lines.count } }

  /// Runs a block with the history of the context.
  fileprivate func inHistory<T>(_ body: (UndoHistory) throws -> T) throws -> T {
    try change { context in try body(try #require(context.undoHistory)) }
  }
}
