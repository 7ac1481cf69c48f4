import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// Undos and deletes after other contexts have made the same changes, or have reverted them.
@Suite struct UndoBesideWritersTests {
  @Test(arguments: Backend.available, [false, true])
  func `a child's undo of a delete leaves a record that its parent has brought back`(
    _ backend: Backend, byUndo: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
    try stack.save()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait {
      child.undoHistory = UndoHistory()
      child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
      try child.save()
    }
    if byUndo { try stack.undo() } else { stack.change { $0.rollback() } }
    try child.performAndWait {
      try child.undoHistory?.undo()
      #expect(child.undoHistory?.canRedo == false && !child.hasChanges)
      try child.save()
    }
    try stack.save()
    #expect(try stack.graph().lines == ["Tag 1 '' related: [] tracks: []"])
    #expect(try stack.storedGraph() == stack.graph())
  }

  @Test(arguments: Backend.available, [false, true])
  func `a child's undo of a delete leaves an unsaved record that its parent has brought back`(
    _ backend: Backend, isSavedBefore: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait {
      child.undoHistory = UndoHistory()
      child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
      try child.save()
    }
    try stack.undo()
    // The save gives the record its permanent identifier.
    if isSavedBefore { try stack.save() }
    try child.performAndWait {
      try child.undoHistory?.undo()
      try child.save()
    }
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Tag 1 '' related: [] tracks: []"])
  }

  @Test(arguments: Backend.available, [false, true])
  func
    `a child's undo of a saved delete leaves a record, and references to it, that its parent's undo has inserted again`(
      _ backend: Backend, isSavedAgain: Bool
    ) throws
  {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      let artist = try UndoLibrary.insert("Artist", 1, in: context)
      try artist.setObjects([try UndoLibrary.insert("Album", 2, in: context)], for: "albums")
    }
    try stack.save()
    let graph = try stack.storedGraph()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait {
      child.undoHistory = UndoHistory()
      child.delete(try #require(try UndoLibrary.object("Artist", 1, in: child)))
      try child.save()
    }
    try stack.save()
    // The undo inserts the artist as another record.
    try stack.undo()
    if isSavedAgain { try stack.save() }
    try child.performAndWait {
      // Loaded objects do not follow the unsaved changes of a parent.
      child.refreshAll()
      try child.undoHistory?.undo()
      #expect(child.undoHistory?.canRedo == false && !child.hasChanges)
      let seen = try Graph(of: child)
      #expect(seen == graph)
      try child.save()
    }
    try stack.save()
    #expect(try stack.storedGraph() == graph)
  }

  @Test(arguments: Backend.available, [false, true])
  func `a child's undo of many saved deletes leaves the records that its parent's undo has inserted again`(
    _ backend: Backend, isHistoryRemoved: Bool
  ) throws {
    // So many that the parent's history forgets the identifiers of deleted records that its steps do not name.
    let count = 100
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in for key in 0..<count { try UndoLibrary.insert("Tag", key, in: context) } }
    try stack.save()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait {
      child.undoHistory = UndoHistory()
      for tag in try child.fetch(FetchRequest<ManagedObject>(entityName: "Tag")) { child.delete(tag) }
      try child.save()
    }
    try stack.save()
    try stack.undo()
    if isHistoryRemoved { stack.change { context in context.undoHistory = nil } }
    try child.performAndWait {
      try child.undoHistory?.undo()
      #expect(child.undoHistory?.canRedo == false && !child.hasChanges)
      try child.save()
    }
    try stack.save()
    #expect(try stack.storedGraph().lines.count == count)
  }

  @Test(arguments: Backend.available)
  func `the undo of a delete leaves a record that another writer's save has restored`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    other.mergePolicy = .objectTrumps
    try other.performAndWait {
      try #require(try UndoLibrary.object("Tag", 1, in: other)).setValue("theirs", for: "title")
    }
    try stack.change { context in context.delete(try #require(try UndoLibrary.object("Tag", 1, in: context))) }
    try stack.save()
    try other.performAndWait { try other.save() }
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Tag 1 'theirs' related: [] tracks: []"])
  }

  @Test(arguments: Backend.available, [false, true])
  func `the undo of relations that another writer has reverted leaves nothing to redo`(
    _ backend: Backend, areAdded: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      for (key, entity) in ["Track", "Tag", "Album", "Artist"].enumerated() {
        try UndoLibrary.insert(entity, key, in: context)
      }
      try Self.relate(!areAdded, in: context)
    }
    try stack.save()
    try stack.change { context in try Self.relate(areAdded, in: context) }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try other.performAndWait {
      try Self.relate(!areAdded, in: other)
      try other.save()
    }
    let graph = try stack.storedGraph()
    try stack.undo()
    stack.change { context in #expect(context.undoHistory?.canRedo == false && !context.hasChanges) }
    try stack.redo()
    #expect(try stack.graph() == graph)
  }

  @Test(arguments: Backend.available, [false, true])
  func `an undo leaves values and relations that its group has set back, and that another writer has changed since`(
    _ backend: Backend, areRelated: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    func turn(_ areRelated: Bool, in context: ManagedObjectContext) throws {
      try Self.relate(areRelated, in: context)
      let picture = try areRelated ? UndoLibrary.object("Picture", 4, in: context) : nil
      try #require(try UndoLibrary.object("Artist", 3, in: context)).setObject(picture, for: "portrait")
    }
    try stack.change { context in
      for (key, entity) in ["Track", "Tag", "Album", "Artist", "Picture"].enumerated() {
        try UndoLibrary.insert(entity, key, in: context)
      }
      try turn(areRelated, in: context)
    }
    try stack.save()
    try stack.change { context in
      for title in ["mine", ""] { try Self.name(title, in: context) }
      for isTurned in [true, false] { try turn(areRelated != isTurned, in: context) }
      try #require(try UndoLibrary.object("Track", 0, in: context)).setValue("mine", for: "title")
    }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try other.performAndWait {
      try Self.name("theirs", in: other)
      try turn(!areRelated, in: other)
      try other.save()
    }
    let graph = try stack.storedGraph()
    try stack.undo()
    #expect(try stack.graph().lines == graph.lines.map { $0.replacing("'mine'", with: "''") })
    try stack.redo()
    #expect(try stack.graph() == graph)
    #expect(!stack.hasChanges)
  }

  @Test(arguments: Backend.availableSQL)
  func `the undo of saved members looks no member up that a loaded list has`(_ backend: Backend) throws {
    let stack = try LoggedStore(backend, UndoLibrary.model)
    defer { stack.close() }
    let context = stack.context()
    try context.performAndWait {
      let tag = try UndoLibrary.insert("Tag", 1, in: context)
      let tracks = try (0..<50).map { try UndoLibrary.insert("Track", $0, in: context) }
      try context.save()
      context.undoHistory = UndoHistory()
      try tag.setObjects(tracks, for: "tracks")
      try context.save()
      stack.log.removeAll()
      try context.undoHistory?.undo()
      let readCount = stack.log.reads.count
      #expect(readCount < 10)
      #expect(try tag.objects(for: "tracks").isEmpty)
      for track in tracks { #expect(try track.objects(for: "tags").isEmpty) }
    }
  }

  @Test(arguments: Backend.available)
  func `a redo after an undo, a merge and a save keeps the value that another writer has saved`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let track = try stack.change { context in try UndoLibrary.insert("Track", 1, title: "first", in: context) }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { _ in try track.setValue(2, for: "key") }
    try stack.undo()
    try other.performAndWait {
      try #require(try UndoLibrary.object("Track", 1, in: other)).setValue("theirs", for: "title")
      try other.save()
    }
    // The save has nothing to write.
    try stack.save()
    let title = try stack.change { _ in try track.value(for: "title", as: String.self) }
    #expect(title == "theirs")
    try stack.redo()
    #expect(try stack.graph().lines == ["Track 2 'theirs' tags: []"])
    try stack.save()
    #expect(try stack.storedGraph() == stack.graph())
  }

  @Test(arguments: Backend.available)
  func `a delete whose rules wait ends with the delete of the record by another writer`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Album", 1, in: context) }
    try stack.save()
    // A history applies the rules at the end of a block.
    stack.change { context in context.undoHistory = nil }
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { context in context.delete(try #require(try UndoLibrary.object("Album", 1, in: context))) }
    try other.performAndWait {
      other.delete(try #require(try UndoLibrary.object("Album", 1, in: other)))
      try other.save()
    }
    #expect(try stack.graph().lines.isEmpty)
    #expect(!stack.hasChanges)
    try stack.save()
  }

  @Test(arguments: Backend.available)
  func `the undo of an unsaved edit shows the value that another writer has saved since`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Tag", 1, title: "former", in: context) }
    try stack.save()
    try stack.change { try Self.name("saved", in: $0) }
    try stack.save()
    for title in ["mine", "mine too"] { try stack.change { try Self.name(title, in: $0) } }
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try other.performAndWait {
      try Self.name("theirs", in: other)
      try other.save()
    }
    try stack.undo()
    #expect(try stack.graph().lines == ["Tag 1 'mine' related: [] tracks: []"])
    try stack.undo()
    #expect(try stack.graph().lines == ["Tag 1 'theirs' related: [] tracks: []"])
    #expect(!stack.hasChanges)
    try stack.save()
    try stack.redo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Tag 1 'mine' related: [] tracks: []"])
    // The undo of a saved edit is an edit back to the former value.
    try stack.undo()
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Tag 1 'former' related: [] tracks: []"])
  }

  @Test(arguments: Backend.available, [[2, 1], [2]])
  func `the undo of an unsaved change of a list shows the list that another writer has saved since`(
    _ backend: Backend, changed: [Int]
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      try UndoLibrary.insert("Album", 9, in: context)
      for key in 1...3 { try UndoLibrary.insert("Track", key, in: context) }
      try Self.list([1, 2], in: context)
    }
    try stack.save()
    try stack.change { context in try Self.list(changed, in: context) }
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try other.performAndWait {
      try Self.list([1, 2, 3], in: other)
      try other.save()
    }
    try stack.expectUndoToStoredGraph()
  }

  @Test(
    arguments: Backend.available,
    [["Track", "Tag", "tags"], ["Album", "Artist", "artist"], ["Track", "Album", "album"]])
  func `a redone delete of a record with an unsaved relation leaves the related record unedited`(
    _ backend: Backend, names: [String]
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in for entity in names[0...1] { try UndoLibrary.insert(entity, 1, in: context) } }
    try stack.save()
    try stack.change { context in
      let object = try #require(try UndoLibrary.object(names[0], 1, in: context))
      let related = try #require(try UndoLibrary.object(names[1], 1, in: context))
      if names[2] == "tags" {
        try object.setObjects([related], for: "tags")
      } else {
        try object.setObject(related, for: names[2])
      }
    }
    try stack.change { context in context.delete(try #require(try UndoLibrary.object(names[0], 1, in: context))) }
    try stack.undo()
    try stack.redo()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try other.performAndWait {
      other.delete(try #require(try UndoLibrary.object(names[1], 1, in: other)))
      try other.save()
    }
    #expect(try stack.graph().lines.isEmpty)
    try stack.save()
    #expect(try stack.storedGraph().lines.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `the undo of a saved edit leaves out a record that another writer has deleted beside an unsaved edit`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let tag = try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    for isSaved in [true, false] {
      try stack.change { context in
        try tag.setValue(isSaved ? "saved" : "unsaved", for: "title")
        if isSaved { try context.save() }
      }
    }
    try other.saving { context in context.delete(try #require(try UndoLibrary.object("Tag", 1, in: context))) }
    for _ in 0..<2 {
      try stack.undo()
      #expect(try stack.graph().lines == [])
      #expect(!stack.hasChanges)
    }
    try stack.save()
    #expect(try stack.storedGraph().lines == [])
  }

  /// Names the tag.
  private static func name(_ title: String, in context: ManagedObjectContext) throws {
    try #require(try UndoLibrary.object("Tag", 1, in: context)).setValue(title, for: "title")
  }

  /// Sets the tracks of the album.
  private static func list(_ keys: [Int], in context: ManagedObjectContext) throws {
    let album = try #require(try UndoLibrary.object("Album", 9, in: context))
    try album.setObjects(try keys.compactMap { try UndoLibrary.object("Track", $0, in: context) }, for: "tracks")
  }

  /// Gives a track a tag and an album an artist, or takes them away.
  private static func relate(_ areRelated: Bool, in context: ManagedObjectContext) throws {
    let objects = try ["Track", "Tag", "Album", "Artist"].enumerated().map { key, entity in
      try #require(try UndoLibrary.object(entity, key, in: context))
    }
    try objects[0].setObjects(areRelated ? [objects[1]] : [], for: "tags")
    try objects[2].setObject(areRelated ? objects[3] : nil, for: "artist")
  }
}
