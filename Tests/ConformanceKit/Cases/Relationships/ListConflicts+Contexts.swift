import CoherenceCore

/// Conflicts over ordered lists with two ordered sides, in contexts that follow others, and with deletes.
extension ConformanceSubject {
  @CasesBuilder static var listConflictsOnTwoSides: [Case] {
    Case("moves on the two sides of an ordered relationship do not overwrite each other", model: Shelves.model) {
      stack in
      try stack.write { context in
        let books = try ["x", "y"].map { try context.make("Book", ["name": $0]) }
        let shelves = try ["A", "B"].map { try context.make("Shelf", ["name": $0]) }
        for shelf in shelves { try shelf.setObjects(books, for: "books") }
        for book in books { try book.setObjects(shelves, for: "shelves") }
      }
      let interposition = try stack.interpose()
      interposition.beforeSave { _ in
        interposition.beforeSave(nil)
        // Another writer turns the shelves of a book round between the gathering and the writing of the first.
        try stack.write { context in
          let book = try context.one("Book", where: equal("name", "x"))
          try book.setObjects(try book.objects(for: "shelves").reversed(), for: "shelves")
        }
      }
      try stack.write { context in
        let shelf = try context.one("Shelf", where: equal("name", "A"))
        try shelf.setObjects(try shelf.objects(for: "books").reversed(), for: "books")
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Shelf", where: equal("name", "A")).labels(of: "books"), ["y", "x"])
        try expectEqual(try context.one("Shelf", where: equal("name", "B")).labels(of: "books"), ["x", "y"])
        try expectEqual(try context.one("Book", where: equal("name", "x")).labels(of: "shelves"), ["B", "A"])
        try expectEqual(try context.one("Book", where: equal("name", "y")).labels(of: "shelves"), ["A", "B"])
      }
    }
    Case("a member that is added on one side conflicts with a move on the other", model: Shelves.model) { stack in
      try stack.write { context in
        let shelves = try ["A", "B"].map { try context.make("Shelf", ["name": $0]) }
        try context.make("Book", ["name": "x"]).setObjects(shelves, for: "shelves")
        try context.make("Shelf", ["name": "C"])
      }
      try stack.read { context in
        let book = try context.one("Book")
        let shelves = try book.objects(for: "shelves")
        try stack.write { other in
          try other.one("Shelf", where: equal("name", "C")).setObjects([try other.one("Book")], for: "books")
        }
        try book.setObjects(shelves.reversed(), for: "shelves")
        try expectThrows(.versionConflict) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.one("Book").labels(of: "shelves"), ["A", "B", "C"]) }
    }
  }

  @CasesBuilder static var listConflictsOfFollowers: [Case] {
    Case("a child's order keeps the members that its parent has added meanwhile") { stack in
      try OrderedList.tracks.fill(stack, ["a", "b"])
      try stack.write { try $0.make("Track", ["title": "c"]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait {
        let album = try child.one("Album")
        try album.setObjects(try album.objects(for: "tracks").reversed(), for: "tracks")
      }
      try parent.performAndWait {
        let album = try parent.one("Album")
        let track = try parent.one("Track", where: equal("title", "c"))
        try album.setObjects(try album.objects(for: "tracks") + [track], for: "tracks")
      }
      try child.performAndWait { try child.save() }
      try parent.performAndWait {
        try expectEqual(try parent.one("Album").labels(of: "tracks"), ["b", "a", "c"])
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.one("Album").labels(of: "tracks"), ["b", "a", "c"]) }
    }
    Case("a move is a conflict also where the other writer's save came in meanwhile") { stack in
      let list = OrderedList.tracks
      try list.fill(stack, ["a", "b", "c", "d"])
      let writer = stack.context()
      let follower = stack.context()
      follower.follow(writer)
      let album = try follower.performAndWait { () -> ManagedObjectID in
        let album = try follower.one("Album")
        album[OrderedToManyKey<ManagedObject>("tracks")].move(from: 0, to: 3)
        return album.objectID
      }
      try writer.performAndWait {
        moveLastToFront(try list.list(writer), writer)
        try writer.save()
      }
      try follower.performAndWait {
        _ = try expectThrows(.versionConflict) { try follower.save() }
        follower.refresh(try follower.existingObject(with: album), mergeChanges: true)
        try follower.save()
      }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a"])
    }
    Case("a move and a change of the owner's name that came in meanwhile are merged") { stack in
      let list = OrderedList.tracks
      try list.fill(stack, ["a", "b", "c", "d"])
      let writer = stack.context()
      let follower = stack.context()
      follower.follow(writer)
      try follower.performAndWait { moveFirstToEnd(try list.list(follower), follower) }
      try writer.performAndWait {
        try writer.one("Album").setValue("renamed", for: "title")
        try writer.save()
      }
      try follower.performAndWait { try follower.save() }
      try expectEqual(try list.stored(stack), ["b", "c", "d", "a"])
      try stack.read { try expectEqual(try $0.one("Album").label, "renamed") }
    }
    Case("a list that is older than the owner's row is read again before it is moved") { stack in
      try OrderedList.tracks.fill(stack, ["a", "b", "c", "d"])
      let context = stack.context()
      let album = try context.performAndWait {
        let album = try context.one("Album")
        try expectEqual(try album.labels(of: "tracks"), ["a", "b", "c", "d"])
        return album
      }
      let other = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: try stack.anotherCoordinator())
      try other.performAndWait {
        moveLastToFront(try OrderedList.tracks.list(other), other)
        try other.save()
      }
      try context.performAndWait {
        // The fetch brings a newer row of the album, and with it the list is out of date.
        _ = try context.all("Album")
        try expectEqual(try album.labels(of: "tracks"), ["d", "a", "b", "c"])
        album[OrderedToManyKey<ManagedObject>("tracks")].move(from: 0, to: 3)
        try context.save()
      }
      try expectEqual(try OrderedList.tracks.stored(stack), ["a", "b", "c", "d"])
    }
  }

  @CasesBuilder static var listConflictsWithDeletes: [Case] {
    Case("a record whose delete is given up keeps its links") { stack in
      try stack.write { context in
        let genres = try ["Jazz", "Rock"].map { try context.make("Genre", ["name": $0]) }
        try context.make("Album", ["title": "A"]).setObjects(genres, for: "genres")
      }
      let late = stack.context(.storeTrumps)
      try late.performAndWait {
        let album = try late.one("Album")
        try album.load()
        try stack.write { try $0.one("Album").setValue(2, for: "year") }
        late.delete(album)
        try late.save()
      }
      try stack.read { try expectEqual(try $0.one("Album").labels(of: "genres"), ["Jazz", "Rock"]) }
    }
    Case("links of a record that another writer deleted are given up with its changes") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"])
        try context.make("Genre", ["name": "Jazz"])
      }
      let late = stack.context(.storeTrumps)
      try late.performAndWait {
        let album = try late.one("Album")
        try album.load()
        try stack.write { $0.delete(try $0.one("Album")) }
        try album.setValue(2, for: "year")
        try album.setObjects([try late.one("Genre")], for: "genres")
        try late.save()
      }
      try stack.read { context in
        try expectEqual(try context.number(of: "Album"), 0)
        try expectEqual(try context.one("Genre").labels(of: "albums"), [])
      }
    }
  }
}
