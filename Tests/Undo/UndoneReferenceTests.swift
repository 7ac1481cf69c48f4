import CoherenceCore
import CoherenceStrategies
import TestSupport
import Testing

/// The undo of references after other writers have changed the records at their ends.
@Suite struct UndoneReferenceTests {
  @Test(arguments: Backend.available)
  func `the undo of a never saved record's delete clears a reference to a record that another writer has deleted`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let artist = try stack.change { context in try UndoLibrary.insert("Artist", 1, in: context) }
    try stack.save()
    let album = try stack.change { context in
      let album = try UndoLibrary.insert("Album", 2, in: context)
      try album.setObject(artist, for: "artist")
      return album
    }
    stack.change { context in context.delete(album) }
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try other.performAndWait {
      other.delete(try #require(try UndoLibrary.object("Artist", 1, in: other)))
      try other.save()
    }
    try stack.undo()
    #expect(try stack.graph().lines == ["Album 2 '' tracks: []"])
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Album 2 '' tracks: []"])
  }

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
    try stack.deleteElsewhere("Album", 1)
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
    try stack.deleteElsewhere("Album", 1)
    stack.change { $0.refreshAll() }
    try stack.undo()
    try stack.save()
    #expect(try stack.storedGraph().lines == ["Track 3 '' tags: []"])
  }

  @Test(arguments: Backend.available)
  func `the undo of the deletes of an owner and its new member with a permanent identifier restores the list`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    // The rules of the two deletes have no order.
    for key in 0..<16 {
      let (artist, album) = try Self.artistWithNewAlbum(key, in: stack)
      let graph = try stack.graph()
      stack.change { context in
        context.delete(album)
        context.delete(artist)
      }
      try stack.undo()
      #expect(try stack.graph() == graph)
    }
    try stack.save()
    #expect(try stack.storedGraph() == stack.graph())
  }

  @Test(arguments: Backend.available, [false, true])
  func `the undo of the deletes of saved owners and of their new member restores both sides of the links`(
    _ backend: Backend, areTogether: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let (owners, tags) = try stack.change { context in
      let track = try UndoLibrary.insert("Track", 1, in: context)
      return (
        [track, try UndoLibrary.insert("Tag", 2, in: context)],
        try [3, 4].map { try UndoLibrary.insert("Tag", $0, in: context) }
      )
    }
    try stack.save()
    let new = try stack.change { context in
      let new = try UndoLibrary.insert("Tag", 5, in: context)
      try owners[0].setObjects([new], for: "tags")
      try owners[1].setObjects([tags[1], new, tags[0]], for: "related")
      return new
    }
    let graph = try stack.graph()
    if areTogether {
      stack.change { context in for deleted in owners + [new] { context.delete(deleted) } }
    } else {
      stack.change { context in for owner in owners { context.delete(owner) } }
      stack.change { context in context.delete(new) }
      try stack.undo()
    }
    try stack.undo()
    #expect(try stack.graph() == graph)
    try stack.save()
    #expect(try stack.storedGraph() == graph)
  }

  @Test(arguments: Backend.available)
  func `the undo of a delete restores the relations to new records that have got permanent identifiers since`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let (album, tag) = try stack.change { context in
      (try UndoLibrary.insert("Album", 1, in: context), try UndoLibrary.insert("Tag", 2, in: context))
    }
    try stack.save()
    let new = try stack.change { context in
      let artist = try UndoLibrary.insert("Artist", 3, in: context)
      try album.setObject(artist, for: "artist")
      let track = try UndoLibrary.insert("Track", 4, in: context)
      try track.setObjects([tag], for: "tags")
      return [artist, track]
    }
    let graph = try stack.graph()
    stack.change { context in for deleted in [album, tag] { context.delete(deleted) } }
    try stack.change { context in try context.obtainPermanentIDs(for: new) }
    try stack.undo()
    #expect(try stack.graph() == graph)
    try stack.save()
    #expect(try stack.storedGraph() == graph)
  }

  @Test(arguments: Backend.available)
  func `a record that an undo brings back after a failed look-up of its identifier stays in the list of its owner`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let (_, album) = try Self.artistWithNewAlbum(1, in: stack)
    let graph = try stack.graph()
    try stack.change { context in
      let id = album.objectID
      context.delete(album)
      #expect(throws: CoherenceError.self) { try context.existingObject(with: id) }
      try context.undoHistory?.undo()
    }
    #expect(try stack.graph() == graph)
    try stack.save()
    #expect(try stack.storedGraph() == graph)
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

  @Test(arguments: Backend.available, [false, true])
  func `an undo takes a record from the list of the owner that another writer has given it`(
    _ backend: Backend, isOrdered: Bool
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let (owner, member, name) = isOrdered ? ("Album", "Track", "album") : ("Artist", "Album", "artist")
    try stack.change { context in
      for key in [1, 2, 3] { try UndoLibrary.insert(owner, key, in: context) }
      try UndoLibrary.insert(member, 4, in: context)
    }
    func give(to key: Int, in context: ManagedObjectContext) throws {
      try context.performAndWait {
        let target = try UndoLibrary.object(owner, key, in: context)
        try #require(try UndoLibrary.object(member, 4, in: context)).setObject(target, for: name)
        try context.save()
      }
    }
    try give(to: 1, in: stack.context)
    let former = try stack.graph()
    try give(to: 2, in: stack.context)
    try give(to: 3, in: stack.container.newBackgroundContext())
    stack.change { $0.refreshAll() }
    let present = try stack.graph()
    try stack.undo()
    #expect(try stack.graph() == former)
    try stack.save()
    #expect(try stack.graph() == former)
    #expect(try stack.storedGraph() == former)
    #expect(present != former)
  }

  @Test(arguments: Backend.available, [false, true])
  func `an undo gives no record a member that another writer has deleted`(_ backend: Backend, isSaved: Bool) throws {
    let stack = try UndoLibrary.Stack(backend)
    let track = try stack.change { context in
      let tags = try [2, 3].map { try UndoLibrary.insert("Tag", $0, in: context) }
      let track = try UndoLibrary.insert("Track", 1, in: context)
      try track.setObjects(tags, for: "tags")
      try tags[1].setObjects([tags[0]], for: "related")
      return track
    }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { context in
      try track.setObjects([], for: "tags")
      try UndoLibrary.object("Tag", 3, in: context)?.setObjects([], for: "related")
      if isSaved { try context.save() }
    }
    try Self.delete("Tag", 2, in: other)
    // The undo and the save are one unit of work, in which no later read finds that the record is missing.
    try stack.change { context in
      try context.undoHistory?.undo()
      try context.save()
    }
    #expect(try stack.storedGraph().lines == ["Tag 3 '' related: [] tracks: [1]", "Track 1 '' tags: [3]"])
    #expect(try stack.graph() == stack.storedGraph())
  }

  @Test(
    arguments: Backend.available,
    [["Album", "Track", "tracks"], ["Artist", "Album", "albums"], ["Track", "Tag", "tags"]])
  func `the undo of the removal of a member that another writer has deleted leaves no change`(
    _ backend: Backend, names: [String]
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let owner = try stack.change { context in
      let owner = try UndoLibrary.insert(names[0], 9, in: context)
      try owner.setObjects(try (1...2).map { try UndoLibrary.insert(names[1], $0, in: context) }, for: names[2])
      return owner
    }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { context in
      try owner.setObjects([try #require(try UndoLibrary.object(names[1], 2, in: context))], for: names[2])
    }
    try Self.delete(names[1], 1, in: other)
    try stack.expectUndoToStoredGraph()
  }

  @Test(arguments: Backend.available)
  func `an undo clears a reference to an edited record that another writer has deleted`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    let album = try stack.change { context in
      let album = try UndoLibrary.insert("Album", 2, in: context)
      try album.setObject(try UndoLibrary.insert("Artist", 1, in: context), for: "artist")
      return album
    }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try stack.change { _ in try album.setObject(nil, for: "artist") }
    try Self.delete("Artist", 1, in: other)
    try stack.change { context in
      try context.undoHistory?.undo()
      try context.save()
    }
    #expect(try stack.storedGraph().lines == ["Album 2 '' tracks: []"])
  }

  @Test(arguments: Backend.available)
  func `the undo of a delete does not bring back a record that another writer has deleted too`(
    _ backend: Backend
  ) throws {
    let stack = try UndoLibrary.Stack(backend)
    let track = try stack.change { context in
      let track = try UndoLibrary.insert("Track", 1, in: context)
      try track.setObjects([try UndoLibrary.insert("Tag", 2, in: context)], for: "tags")
      return track
    }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    stack.change { $0.delete(track) }
    try Self.delete("Track", 1, in: other)
    try stack.undo()
    try stack.save()
    #expect(try stack.graph().lines == ["Tag 2 '' related: [] tracks: []"])
    #expect(try stack.storedGraph() == stack.graph())
  }

  @Test(arguments: Backend.available)
  func `an undo that skips every record leaves no change to redo`(_ backend: Backend) throws {
    let stack = try UndoLibrary.Stack(backend)
    let tag = try stack.change { context in try UndoLibrary.insert("Tag", 1, in: context) }
    try stack.save()
    try stack.change { _ in try tag.setValue("renamed", for: "title") }
    try stack.save()
    let other = stack.container.newBackgroundContext()
    stack.context.follow(other)
    try Self.delete("Tag", 1, in: other)
    try stack.undo()
    stack.change { context in #expect(context.undoHistory?.canRedo == false) }
  }

  /// Deletes a record and saves.
  private static func delete(_ entity: String, _ key: Int, in context: ManagedObjectContext) throws {
    try context.performAndWait {
      context.delete(try #require(try UndoLibrary.object(entity, key, in: context)))
      try context.save()
    }
  }

  /// Inserts and saves an artist, and inserts an album of the artist that has a permanent identifier.
  private static func artistWithNewAlbum(
    _ key: Int, in stack: UndoLibrary.Stack
  ) throws -> (artist: ManagedObject, album: ManagedObject) {
    let artist = try stack.change { context in try UndoLibrary.insert("Artist", key, in: context) }
    try stack.save()
    let album = try stack.change { context in
      let album = try UndoLibrary.insert("Album", key, in: context)
      try album.setObject(artist, for: "artist")
      try context.obtainPermanentIDs(for: [album])
      return album
    }
    return (artist, album)
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
