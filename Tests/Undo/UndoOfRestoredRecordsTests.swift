import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// Undos of a child's deletes whose records its parent has restored.
@Suite struct UndoOfRestoredRecordsTests {
  @Test(arguments: Backend.available, [false, true])
  func `a child's undo of an edit changes a record whose later delete its parent has reverted`(
    _ backend: Backend, inOneGroup: Bool
  ) throws {
    let (stack, child) = try Self.related(backend)
    let former = try stack.graph().lines
    try child.performAndWait { () throws in
      if inOneGroup { child.undoHistory?.beginGroup() }
      try Self.name("child", in: child)
      try Self.relate(false, in: child)
    }
    try child.performAndWait { () throws in
      child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
      child.undoHistory?.endGroup()
      try child.save()
    }
    try stack.undo()
    try stack.change { context in
      try Self.name("parent", in: context)
      try Self.relate(false, in: context)
    }
    // A record that exists again keeps the values that it had at its delete, or has got since.
    let graph = inOneGroup ? former.map { $0.replacing("Tag 1 ''", with: "Tag 1 'parent'") } : former
    try Self.undo(inOneGroup ? 1 : 2, in: child)
    try child.performAndWait { () throws in
      let seen = try Graph(of: child).lines
      #expect(seen == graph)
      try child.save()
    }
    try stack.save()
    #expect(try stack.storedGraph().lines == graph)
  }

  @Test(arguments: Backend.available)
  func `a child's undo of deletes that its parent has reverted restores relations on both sides`(
    _ backend: Backend
  ) throws {
    let (stack, child) = try Self.related(backend)
    let graph = try stack.graph()
    try child.performAndWait { () throws in
      for (entity, key) in [("Tag", 1), ("Artist", 3)] {
        child.delete(try #require(try UndoLibrary.object(entity, key, in: child)))
      }
      try child.save()
    }
    try stack.undo()
    try stack.change { context in try Self.relate(false, in: context) }
    try Self.undo(1, in: child)
    try Self.expect(graph, in: child, stack)
  }

  @Test(arguments: Backend.available)
  func `a child's undo of a delete leaves a record with the owner that its parent has given it since`(
    _ backend: Backend
  ) throws {
    let (stack, child) = try Self.related(backend)
    func move(to album: Int) throws {
      try stack.change { context in
        let album = try UndoLibrary.object("Album", album, in: context)
        try #require(try UndoLibrary.object("Track", 0, in: context)).setObject(album, for: "album")
      }
    }
    try move(to: 2)
    try stack.save()
    try child.performAndWait { () throws in
      child.delete(try #require(try UndoLibrary.object("Track", 0, in: child)))
      try child.save()
    }
    try stack.undo()
    try move(to: 4)
    let graph = try stack.graph()
    try Self.undo(1, in: child)
    try Self.expect(graph, in: child, stack)
  }

  @Test(arguments: Backend.available)
  func `a child's undo inserts no record that its parent has restored after an undo and a redo of the child's delete`(
    _ backend: Backend
  ) throws {
    let (stack, child) = try Self.related(backend)
    let graph = try stack.graph()
    try child.performAndWait { () throws in
      child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
      try child.save()
    }
    try child.performAndWait { () throws in
      try child.undoHistory?.undo()
      try child.undoHistory?.redo()
    }
    try stack.undo()
    try Self.undo(1, in: child)
    try Self.expect(graph, in: child, stack)
  }

  @Test(arguments: Backend.available, [false, true])
  func `the undos of two deletes of a record, between which the parent has restored the record, insert it once`(
    _ backend: Backend, inOneGroup: Bool
  ) throws {
    let (stack, child) = try Self.related(backend)
    let graph = try stack.graph()
    if inOneGroup { child.performAndWait { child.undoHistory?.beginGroup() } }
    for isLast in [false, true] {
      try child.performAndWait { () throws in
        child.refreshAll()
        child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
        try child.save()
      }
      if !isLast { try stack.undo() }
    }
    child.performAndWait { child.undoHistory?.endGroup() }
    try Self.undo(inOneGroup ? 1 : 2, in: child)
    try Self.expect(graph, in: child, stack)
  }

  @Test(arguments: Backend.available)
  func `the undo of a saved and an unsaved delete of a record, between which the parent has restored it, inserts none`(
    _ backend: Backend
  ) throws {
    let (stack, child) = try Self.related(backend)
    let graph = try stack.graph()
    try child.performAndWait { () throws in
      child.undoHistory?.beginGroup()
      child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
      try child.save()
    }
    try stack.undo()
    try child.performAndWait { () throws in
      child.refreshAll()
      child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
      child.undoHistory?.endGroup()
      try child.undoHistory?.undo()
    }
    try Self.expect(graph, in: child, stack)
  }

  @Test(arguments: Backend.available)
  func `a child's undo inserts none of many records that its parent has restored after an undo and a redo`(
    _ backend: Backend
  ) throws {
    // So many that the child's history forgets the identifiers of deleted records that it does not need any more.
    let count = 100
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in for key in 0..<count { try UndoLibrary.insert("Tag", key, in: context) } }
    try stack.save()
    let graph = try stack.storedGraph()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait {
      child.undoHistory = UndoHistory()
      for tag in try child.fetch(FetchRequest<ManagedObject>(entityName: "Tag")) { child.delete(tag) }
      try child.save()
      try child.undoHistory?.undo()
      try child.undoHistory?.redo()
    }
    try stack.undo()
    try Self.undo(1, in: child)
    try Self.expect(graph, in: child, stack)
  }

  @Test(arguments: Backend.available)
  func `the undo of a child's group reverts the edit of a record that its parent has restored during the group`(
    _ backend: Backend
  ) throws {
    let (stack, child) = try Self.related(backend)
    let graph = try stack.graph()
    try child.performAndWait { () throws in
      child.undoHistory?.beginGroup()
      child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
      try child.save()
    }
    try stack.undo()
    try child.performAndWait { () throws in
      child.refreshAll()
      try Self.name("child", in: child)
      child.undoHistory?.endGroup()
    }
    try Self.undo(1, in: child)
    try Self.expect(graph, in: child, stack)
  }

  @Test(arguments: Backend.available)
  func `a parent's undo of a child's deletes restores both sides of relations, in any order of the child's records`(
    _ backend: Backend
  ) throws {
    let (stack, child) = try Self.related(backend)
    try stack.change { context in
      let track = try #require(try UndoLibrary.object("Track", 0, in: context))
      try track.setObject(try UndoLibrary.object("Album", 2, in: context), for: "album")
    }
    try stack.save()
    let graph = try stack.graph()
    try child.performAndWait { () throws in
      let objects = try [("Track", 0), ("Tag", 1), ("Album", 2)].map { entity, key in
        try #require(try UndoLibrary.object(entity, key, in: child))
      }
      // The child saves its records in the order of their first edits: the members before their owner.
      for object in objects { try object.setValue("child", for: "title") }
      for object in objects.reversed() { child.delete(object) }
      try child.save()
    }
    try stack.save()
    try stack.undo()
    #expect(try stack.graph() == graph)
    try stack.save()
    #expect(try stack.storedGraph() == graph)
  }

  @Test(arguments: Backend.available)
  func `a child's undo of an edit finds a record whose delete it has redone and its parent has reverted`(
    _ backend: Backend
  ) throws {
    let (stack, child) = try Self.related(backend)
    let graph = try stack.graph()
    try child.performAndWait { () throws in
      child.delete(try #require(try UndoLibrary.object("Tag", 1, in: child)))
      try child.save()
    }
    try child.performAndWait { () throws in
      try child.undoHistory?.undo()
      try child.undoHistory?.redo()
    }
    try stack.undo()
    try child.performAndWait { () throws in
      child.refreshAll()
      try Self.relate(false, in: child)
    }
    try Self.undo(1, in: child)
    try Self.expect(graph, in: child, stack)
  }

  @Test(arguments: Backend.available)
  func `a child's undo of a delete finds the owner that its parent has saved for the first time since`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      let track = try UndoLibrary.insert("Track", 1, in: context)
      try UndoLibrary.insert("Album", 2, in: context).setObjects([track], for: "tracks")
    }
    let graph = try stack.graph()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait {
      child.undoHistory = UndoHistory()
      // The child has no object of the album yet.
      child.delete(try #require(try UndoLibrary.object("Track", 1, in: child)))
      try child.save()
    }
    try stack.save()
    try Self.undo(1, in: child)
    try Self.expect(graph, in: child, stack)
  }

  /// A stack with saved, related records, and a child of its context with an undo history.
  private static func related(_ backend: Backend) throws -> (UndoLibrary.Stack, ManagedObjectContext) {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      for (key, entity) in ["Track", "Tag", "Album", "Artist", "Album"].enumerated() {
        try UndoLibrary.insert(entity, key, in: context)
      }
      try relate(true, in: context)
    }
    try stack.save()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    child.performAndWait { child.undoHistory = UndoHistory() }
    return (stack, child)
  }

  /// Undoes changes of a context that has read the present state of its parent.
  private static func undo(_ count: Int, in context: ManagedObjectContext) throws {
    try context.performAndWait {
      context.refreshAll()
      for _ in 0..<count { try context.undoHistory?.undo() }
    }
  }

  /// Expects that a child shows a graph, and that the store has the graph after the saves of the child and its parent.
  private static func expect(
    _ graph: Graph, in child: ManagedObjectContext, _ stack: UndoLibrary.Stack,
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try child.performAndWait { () throws in
      let seen = try Graph(of: child)
      #expect(seen == graph, sourceLocation: sourceLocation)
      try child.save()
    }
    try stack.save()
    let stored = try stack.storedGraph()
    #expect(stored == graph, sourceLocation: sourceLocation)
  }

  /// Names the tag.
  private static func name(_ title: String, in context: ManagedObjectContext) throws {
    try #require(try UndoLibrary.object("Tag", 1, in: context)).setValue(title, for: "title")
  }

  /// Gives the track the tag and the album the artist, or takes them away.
  private static func relate(_ areRelated: Bool, in context: ManagedObjectContext) throws {
    let objects = try ["Track", "Tag", "Album", "Artist"].enumerated().map { key, entity in
      try #require(try UndoLibrary.object(entity, key, in: context))
    }
    try objects[0].setObjects(areRelated ? [objects[1]] : [], for: "tags")
    try objects[2].setObject(areRelated ? objects[3] : nil, for: "artist")
  }
}
