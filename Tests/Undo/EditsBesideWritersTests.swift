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
    try Self.changeInBoth(stack) { context in try Self.move(in: context) }
  }

  @Test(arguments: Backend.available, [false, true])
  func `the undo of a removal from an ordered list returns a member that another writer has removed too to its place`(
    _ backend: Backend, hasOtherOwner: Bool
  ) throws {
    let stack = try makeTwoAlbums(backend)
    let former = try stack.storedGraph()
    stack.context.mergePolicy = .objectTrumps
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { context in try list([1, 3], of: 9, in: context) }
    try other.performAndWait {
      try list([1, 3], of: 9, in: other)
      if hasOtherOwner { try list([2], of: 8, in: other) }
      try other.save()
    }
    try stack.undo()
    #expect(try stack.graph() == former)
    try stack.save()
    #expect(try stack.storedGraph() == former)
  }

  @Test(arguments: Backend.available, [false, true])
  func `the undo of a removal from an ordered list keeps the order that another writer has saved since`(
    _ backend: Backend, isMove: Bool
  ) throws {
    for order in [[2, 3, 1], [3, 2, 1]] {
      let stack = try makeTwoAlbums(backend)
      let other = stack.container.newBackgroundContext()
      stack.context.follow(other)
      try stack.change { context in try isMove ? list([1], of: 8, in: context) : list([2, 3], of: 9, in: context) }
      try other.performAndWait {
        try list(order, of: 9, in: other)
        try other.save()
      }
      try stack.expectUndoToStoredGraph()
    }
  }

  @Test(arguments: Backend.available, [["Album", "Track", "tracks"], ["Tag", "Tag", "related"]])
  func `the undo of an addition to an ordered list removes a member that another writer has added too`(
    _ backend: Backend, names: [String]
  ) throws {
    func list(_ keys: [Int], in context: ManagedObjectContext) throws {
      let members = try keys.map { try #require(try UndoLibrary.object(names[1], $0, in: context)) }
      try #require(try UndoLibrary.object(names[0], 9, in: context)).setObjects(members, for: names[2])
    }
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      try UndoLibrary.insert(names[0], 9, in: context)
      for key in 1...2 { try UndoLibrary.insert(names[1], key, in: context) }
      try list([1], in: context)
    }
    try stack.save()
    let former = try stack.storedGraph()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { context in try list([1, 2], in: context) }
    try other.performAndWait {
      try list([1, 2], in: other)
      try other.save()
    }
    try stack.undo()
    #expect(try stack.graph() == former)
    try stack.redo()
    #expect(try stack.graph() == stack.storedGraph())
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph() == former)
  }

  @Test(
    arguments: Backend.available,
    [["Album", "Artist", "artist"], ["Track", "Album", "album"], ["Track", "Tag", "tags"]])
  func `a delete that another writer has saved too leaves no change of related records`(
    _ backend: Backend, names: [String]
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      let object = try UndoLibrary.insert(names[0], 1, in: context)
      let related = try UndoLibrary.insert(names[1], 2, in: context)
      if names[2] == "tags" {
        try object.setObjects([related], for: "tags")
      } else {
        try object.setObject(related, for: names[2])
      }
    }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    // The history applies the delete rules at the end of the block.
    try stack.change { context in context.delete(try #require(try UndoLibrary.object(names[0], 1, in: context))) }
    try other.performAndWait {
      other.delete(try #require(try UndoLibrary.object(names[0], 1, in: other)))
      try other.save()
    }
    #expect(!stack.hasChanges)
    stack.change { context in #expect(context.updatedObjects.isEmpty) }
    try stack.save()
    #expect(try stack.graph() == stack.storedGraph())
  }

  @Test(arguments: Backend.available, [false, true])
  func `a refresh leaves no change of a value that another writer has saved too, also under a rule that adds both`(
    _ backend: Backend, isOfAll: Bool
  ) throws {
    func setKey(of tag: ManagedObject) throws -> ManagedObject {
      try tag.setValue(2, for: "key")
      return tag
    }
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
    try stack.save()
    stack.context.mergePolicy = .byProperty([.rule("key", of: "Tag", .sum)], otherwise: .error)
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    let tag = try stack.change { context in
      try setKey(of: try #require(try UndoLibrary.object("Tag", 1, in: context)))
    }
    try other.performAndWait {
      _ = try setKey(of: try #require(try UndoLibrary.object("Tag", 1, in: other)))
      try other.save()
    }
    // Without a refresh, a save writes the sum of both edits.
    #expect(stack.hasChanges)
    try stack.change { context in
      if isOfAll { context.refreshAll() } else { context.refresh(tag, mergeChanges: true) }
      #expect(tag.changedValues().isEmpty && !tag.hasChanges && !context.hasChanges)
      try context.save()
    }
    #expect(try stack.storedGraph().lines == ["Tag 2 '' related: [] tracks: []"])
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

  @Test(arguments: Backend.available, [false, true])
  func `a link that another writer has added or removed too is no change any more`(
    _ backend: Backend, isLinked: Bool
  ) throws {
    let stack = try Self.linked(backend)
    try stack.change { context in try Self.setLink(!isLinked, in: context) }
    try stack.save()
    try Self.changeInBoth(stack) { context in try Self.setLink(isLinked, in: context) }
  }

  @Test(arguments: Backend.available)
  func `a link made after another writer has added and removed it is a change`(_ backend: Backend) throws {
    let stack = try Self.linked(backend)
    try stack.change { context in try Self.setLink(false, in: context) }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { context in
      // The context processes both saves after the block.
      try other.performAndWait {
        for isLinked in [true, false] {
          try Self.setLink(isLinked, in: other)
          try other.save()
        }
      }
      try Self.setLink(true, in: context)
    }
    #expect(stack.hasChanges)
    try stack.save()
    #expect(try stack.storedGraph().lines == Self.linkedLines)
  }

  @Test(arguments: Backend.available)
  func `a child's link that its parent has removed is a change after another writer has added it`(
    _ backend: Backend
  ) throws {
    let stack = try Self.linked(backend)
    let (remover, adder) = (stack.container.newBackgroundContext(), stack.container.newBackgroundContext())
    stack.context.follow(adder)
    try stack.change { context in try Self.setLink(false, in: context) }
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context)
    try child.performAndWait { try Self.setLink(true, in: child) }
    for (writer, isLinked) in [(remover, false), (adder, true)] {
      try writer.performAndWait {
        try Self.setLink(isLinked, in: writer)
        try writer.save()
      }
    }
    let hasChanges = child.performAndWait { child.hasChanges }
    #expect(hasChanges)
    try child.performAndWait { try child.save() }
    try stack.save()
    #expect(try stack.storedGraph().lines == Self.linkedLines)
  }

  /// The stored graph of ``linked(_:)``.
  private static let linkedLines = ["Tag 2 '' related: [] tracks: [1]", "Track 1 '' tags: [2]"]

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

  /// Adds the tag to the track, or removes it.
  private static func setLink(_ isLinked: Bool, in context: ManagedObjectContext) throws {
    let track = try #require(try UndoLibrary.object("Track", 1, in: context))
    let tag = try #require(try UndoLibrary.object("Tag", 2, in: context))
    try track.setObjects(isLinked ? [tag] : [], for: "tags")
  }

  private static func deleteTrack(in context: ManagedObjectContext) throws {
    try context.performAndWait {
      context.delete(try #require(try UndoLibrary.object("Track", 1, in: context)))
      try context.save()
    }
  }

  /// Makes a change in the stack and in another context, which saves the change. Expects that the stack has no change
  /// any more, and that the undo of the stack's change can be saved.
  private static func changeInBoth(
    _ stack: UndoLibrary.Stack, _ change: (ManagedObjectContext) throws -> Void
  ) throws {
    let former = try stack.storedGraph()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { context in try change(context) }
    try other.performAndWait {
      try change(other)
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

  /// Makes the album an album of the third artist.
  @discardableResult
  private static func move(in context: ManagedObjectContext) throws -> (album: ManagedObject, artist: ManagedObject) {
    let album = try #require(try UndoLibrary.object("Album", 1, in: context))
    let artist = try #require(try UndoLibrary.object("Artist", 3, in: context))
    try album.setObject(artist, for: "artist")
    return (album, artist)
  }

  /// A stack with the saved albums 8, without tracks, and 9, with the tracks 1, 2 and 3.
  private func makeTwoAlbums(_ backend: Backend) throws -> UndoLibrary.Stack {
    let stack = try UndoLibrary.Stack(backend)
    try stack.change { context in
      for key in [8, 9] { try UndoLibrary.insert("Album", key, in: context) }
      for key in 1...3 { try UndoLibrary.insert("Track", key, in: context) }
      try list([1, 2, 3], of: 9, in: context)
    }
    try stack.save()
    return stack
  }

  /// Sets the tracks of an album.
  private func list(_ keys: [Int], of album: Int, in context: ManagedObjectContext) throws {
    let album = try #require(try UndoLibrary.object("Album", album, in: context))
    try album.setObjects(try UndoLibrary.tracks(keys, in: context), for: "tracks")
  }
}
