import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(15))) struct UndoTests {
  @Test(arguments: Backend.available)
  func `an undo reverts the changes of the last block, and a redo makes them again`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Artist", 1, title: "Ella", in: context) }
    try stack.save()
    try stack.change { context in
      let artist = try #require(try UndoLibrary.object("Artist", 1, in: context))
      try artist.setValue("Nina", for: "title")
      try artist.setValue("Billie", for: "title")
    }
    let changed = try stack.graph()
    try stack.undo()
    #expect(try stack.graph().lines == ["Artist 1 'Ella' albums: []"])
    #expect(!stack.hasChanges)
    try stack.redo()
    #expect(try stack.graph() == changed)
    #expect(stack.hasChanges)
    try stack.undo()
    try stack.undo()
    #expect(try stack.graph().lines == [])
    try stack.save()
    #expect(try stack.storedGraph().lines == [])
  }

  @Test(arguments: Backend.available)
  func `the undo of a group whose changes cancel each other leaves nothing to redo`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    let artist = try stack.change { context in try UndoLibrary.insert("Artist", 1, title: "Ella", in: context) }
    try stack.change { _ in for title in ["Nina", "Ella"] { try artist.setValue(title, for: "title") } }
    let graph = try stack.graph()
    try stack.undo()
    #expect(try stack.graph() == graph)
    stack.change { context in
      #expect(context.undoHistory?.canRedo == false)
      #expect(context.undoHistory?.canUndo == true)
    }
    try stack.undo()
    #expect(try stack.graph().lines == [])
    try stack.redo()
    #expect(try stack.graph() == graph)
  }

  @Test func `without a history nothing is recorded, and an undo without changes does nothing`() throws {
    let stack = try UndoLibrary.Stack(.inMemory)
    try stack.undo()
    try stack.redo()
    try stack.change { context in
      context.undoHistory = nil
      try UndoLibrary.insert("Artist", 1, in: context)
      context.undoHistory = UndoHistory()
      #expect(context.undoHistory?.canUndo == false)
    }
  }

  @Test func `a history without a context refuses an undo, and belongs to the last context that got it`() throws {
    let history = UndoHistory()
    expectIllegalState { try history.undo() }
    let stack = try UndoLibrary.Stack(.inMemory)
    let other = stack.container.newBackgroundContext()
    stack.change { $0.undoHistory = nil }
    other.performAndWait { other.undoHistory = UndoHistory() }
    let former = other.performAndWait { other in other.undoHistory }
    other.performAndWait { other.undoHistory = nil }
    expectIllegalState { try former?.undo() }
  }

  @Test(arguments: Backend.available)
  func `an undone insert leaves the context, and its redo is the same object`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    let object = try stack.change { context in try UndoLibrary.insert("Artist", 1, title: "Ella", in: context) }
    try stack.undo()
    #expect(!stack.hasChanges)
    try stack.redo()
    try stack.change { context in
      #expect(context.insertedObjects == [object])
      let found = try UndoLibrary.object("Artist", 1, in: context)
      #expect(found === object)
    }
    try stack.save()
    #expect(try stack.storedGraph() == stack.graph())
  }

  @Test(arguments: Backend.available)
  func `a delete whose rules cannot be applied, because its store is detached, is undone without a read`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Artist", 1, title: "Ella", in: context) }
    try stack.save()
    let artist = try stack.change { context in
      let artist = try #require(try UndoLibrary.object("Artist", 1, in: context))
      // The end of the group applies the rules.
      context.undoHistory?.beginGroup()
      context.delete(artist)
      return artist
    }
    let coordinator = stack.container.persistentStoreCoordinator
    try coordinator.remove(try #require(coordinator.persistentStores.first))
    try stack.change { context in
      context.undoHistory?.endGroup()
      try context.undoHistory?.undo()
      #expect(!artist.isDeleted)
      #expect(!context.hasChanges)
    }
  }

  @Test(arguments: Backend.available, [false, true])
  func `an undone delete brings the object back with its relationships, saved or not`(
    _ backend: Backend, isSaved: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let album = try stack.change { context in
      let artist = try UndoLibrary.insert("Artist", 1, in: context)
      try artist.setObject(try UndoLibrary.insert("Picture", 2, in: context), for: "portrait")
      let album = try UndoLibrary.insert("Album", 3, title: "First", in: context)
      try album.setObject(artist, for: "artist")
      let tracks = try (4...6).map { try UndoLibrary.insert("Track", $0, in: context) }
      try album.setObjects(tracks, for: "tracks")
      try tracks[1].setObjects([try UndoLibrary.insert("Tag", 7, in: context)], for: "tags")
      return album
    }
    try stack.save()
    let full = try stack.graph()
    let former = stack.change { _ in album.objectID }
    stack.change { $0.delete(album) }
    if isSaved { try stack.save() }
    #expect(try stack.graph().lines.count == 3)
    try stack.undo()
    #expect(try stack.graph() == full)
    stack.change { _ in
      #expect(!album.isDeleted)
      #expect((album.objectID == former) == !isSaved)
    }
    try stack.save()
    #expect(try stack.storedGraph() == full)
    try stack.redo()
    try stack.save()
    #expect(try stack.storedGraph().lines.count == 3)
    try stack.undo()
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == [])
    try stack.redo()
    try stack.save()
    #expect(try stack.storedGraph() == full)
  }

  @Test(arguments: Backend.available, [false, true])
  func `a repeated insert has the same changed values as before`(_ backend: Backend, isSaved: Bool) throws {
    let stack = try UndoLibrary.Stack(backend)
    let tag = try stack.change { context in try UndoLibrary.insert("Tag", 1, title: "blues", in: context) }
    let changedValues = stack.change { _ in tag.changedValues() }
    #expect(changedValues == ["key": .int(1), "title": .string("blues")])
    if isSaved {
      try stack.save()
      stack.change { $0.delete(tag) }
      try stack.save()
      try stack.undo()
    } else {
      try stack.undo()
      try stack.redo()
    }
    stack.change { _ in
      #expect(tag.isInserted && tag.hasPersistentChangedValues)
      #expect(tag.changedValues() == changedValues)
    }
  }

  @Test(arguments: Backend.available)
  func `an undo of a saved edit keeps the edits of others in other properties`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Artist", 1, title: "Ella", in: context) }
    try stack.save()
    try stack.change { context in
      try UndoLibrary.object("Artist", 1, in: context)?.setValue("Nina", for: "title")
    }
    try stack.save()
    try stack.container.newBackgroundContext().performAndWait { context in
      try UndoLibrary.object("Artist", 1, in: context)?.setValue(9, for: "key")
      try context.save()
    }
    try stack.change { context in
      context.refresh(try #require(try UndoLibrary.object("Artist", 9, in: context)), mergeChanges: true)
    }
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Artist 9 'Ella' albums: []"])
  }

  @Test(arguments: Backend.available)
  func `an undo leaves out records that another writer deleted`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      try UndoLibrary.insert("Artist", 1, title: "Ella", in: context)
      try UndoLibrary.insert("Artist", 2, title: "Nina", in: context)
    }
    try stack.save()
    try stack.change { context in
      for key in [1, 2] { try UndoLibrary.object("Artist", key, in: context)?.setValue("New", for: "title") }
    }
    try stack.save()
    try stack.deleteElsewhere("Artist", 1)
    stack.change { $0.refreshAll() }
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Artist 2 'Nina' albums: []"])
  }

  @Test func `a rollback and a reset remove all changes from the history`() throws {
    let stack = try UndoLibrary.Stack(.inMemory)
    for isReset in [false, true] {
      try stack.change { context in
        try UndoLibrary.insert("Artist", 1, in: context)
        #expect(context.undoHistory?.canUndo == true)
        isReset ? context.reset() : context.rollback()
        #expect(context.undoHistory?.canUndo == false)
      }
    }
  }

  @Test(arguments: Backend.available, [false, true])
  func `an undo and a redo after a reset do nothing, with saved groups and with objects in use`(
    _ backend: Backend, isSaved: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let artist = try stack.change { context in try UndoLibrary.insert("Artist", 1, title: "Ella", in: context) }
    try stack.save()
    for title in ["Nina", "Billie"] {
      try stack.change { _ in try artist.setValue(title, for: "title") }
      if isSaved { try stack.save() }
    }
    // One group to redo, and the others to undo.
    try stack.undo()
    let stored = try stack.storedGraph()
    try stack.change { context in
      context.reset()
      let history = try #require(context.undoHistory)
      #expect(!history.canUndo && !history.canRedo)
      #expect(history.undoName == nil && history.redoName == nil)
    }
    for _ in 0..<2 {
      try stack.undo()
      try stack.redo()
    }
    #expect(!stack.hasChanges)
    #expect(try stack.graph() == stored)
    try stack.save()
    #expect(try stack.storedGraph() == stored)
    stack.change { _ in #expect(artist.managedObjectContext == nil) }
    // The history records the changes after the reset.
    try stack.change { context in try UndoLibrary.insert("Artist", 2, in: context) }
    try stack.undo()
    #expect(try stack.graph() == stored)
  }

  @Test func `the objects of a context with a history are released with the context`() throws {
    weak var released: ManagedObject?
    weak var context: ManagedObjectContext?
    do {
      let stack = try UndoLibrary.Stack(.inMemory)
      released = try stack.change { context in try UndoLibrary.insert("Artist", 1, in: context) }
      context = stack.context
      #expect(released != nil)
    }
    #expect(context == nil)
    #expect(released == nil)
  }

  @Test(arguments: Backend.available, UndoneListEdit.allCases)
  func `an undo of a list's edit keeps the members that another writer has added and removed since`(
    _ backend: Backend, edit: UndoneListEdit
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let other = stack.container.newBackgroundContext()
    let album = try stack.change { context in
      let album = try UndoLibrary.insert("Album", 0, in: context)
      for key in 1...6 { try UndoLibrary.insert("Track", key, in: context) }
      try album.setObjects(try UndoLibrary.tracks([1, 2, 3, 4], in: context), for: "tracks")
      return album
    }
    try stack.save()
    try stack.change { context in
      context.undoHistory = UndoHistory()
      try album.setObjects(try UndoLibrary.tracks(edit.keys, in: context), for: "tracks")
    }
    try other.performAndWait {
      let album = try #require(try UndoLibrary.object("Album", 0, in: other))
      try album.setObjects(try UndoLibrary.tracks([1, 2, 3, 6], in: other), for: "tracks")
      try other.save()
    }
    stack.change { $0.refreshAll() }
    try stack.undo()
    let keys = try stack.change { _ in try album.objects(for: "tracks").map { try $0.value(for: "key") } }
    #expect(keys.filter { $0 != .int(6) } == [1, 2, 3].map { .int($0) })
    #expect(keys.contains(.int(6)))
    try stack.redo()
    let redone = try stack.change { _ in try album.objects(for: "tracks").map { try $0.value(for: "key") } }
    #expect(Set(redone) == Set(edit.keys.filter { $0 != 4 }.map { .int(Int64($0)) } + [.int(6)]))
  }

  @Test(arguments: Backend.available, [["Album", "Track", "tracks"], ["Tag", "Tag", "related"]])
  func `the undo of a member's removal and addition leaves the record of an ordered list unchanged`(
    _ backend: Backend, names: [String]
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let owner = try stack.change { context in
      let owner = try UndoLibrary.insert(names[0], 9, in: context)
      try owner.setObjects(try (1...3).map { try UndoLibrary.insert(names[1], $0, in: context) }, for: names[2])
      return owner
    }
    try stack.save()
    let saved = try stack.graph()
    try stack.change { _ in
      let first = try #require(try owner.objects(for: names[2]).first)
      owner[OrderedToManyKey<ManagedObject>(names[2])].remove(first)
      owner[OrderedToManyKey<ManagedObject>(names[2])].append(first)
    }
    #expect(try stack.graph() != saved)
    try stack.undo()
    #expect(try stack.graph() == saved)
    #expect(!stack.hasChanges)
    try stack.redo()
    #expect(try stack.graph() != saved)
    try stack.save()
    #expect(try stack.storedGraph() == stack.graph())
  }

  @Test(arguments: Backend.available)
  func `the undo of a member's move to the list of another owner and back leaves no change`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    let (albums, tracks) = try stack.change { context in
      let albums = try (1...2).map { try UndoLibrary.insert("Album", $0, in: context) }
      let tracks = try (1...2).map { try UndoLibrary.insert("Track", $0, in: context) }
      for (album, track) in zip(albums, tracks) { try album.setObjects([track], for: "tracks") }
      return (albums, tracks)
    }
    try stack.save()
    try stack.change { _ in
      try albums[1].setObjects([tracks[1], tracks[0]], for: "tracks")
      try albums[0].setObjects(tracks, for: "tracks")
    }
    try stack.expectUndoToStoredGraph()
  }

  @Test(arguments: Backend.available)
  func `the undo of a block that adds a record to an ordered list and deletes the record leaves the list as it was`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let tags = try stack.change { context in try (1...2).map { try UndoLibrary.insert("Tag", $0, in: context) } }
    try stack.save()
    try stack.change { context in
      try tags[0].setObjects([tags[1]], for: "related")
      context.delete(tags[1])
    }
    try stack.expectUndoToStoredGraph()
  }
}

/// An edit of the list 1, 2, 3, 4.
enum UndoneListEdit: CaseIterable, Sendable {
  case addition, removal, order

  var keys: [Int] {
    switch self {
    case .addition: [1, 5, 2, 3, 4]
    case .removal: [1, 3, 4]
    case .order: [3, 1, 2, 4]
    }
  }
}
