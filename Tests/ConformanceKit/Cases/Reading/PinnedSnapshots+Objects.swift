import CoherenceCore

extension ConformanceSubject {
  @CasesBuilder static var pinnedObjects: [Case] {
    Case("objects in use show the pinned moment, and the present one after it moves forward") { stack in
      try fillPinned(stack)
      let context = stack.context()
      let held = try context.performAndWait { try context.all("Album", sort: [SortKey("title")]) }
      // The context follows no other context, and its objects have an older state than the stores.
      try stack.write { context in
        try context.one("Album", where: equal("title", "0")).setValue("a", for: "title")
        context.delete(try context.one("Album", where: equal("title", "1")))
      }
      try context.performAndWait {
        try context.pinSnapshot()
        try expectEqual(try held[0].label, "a", "the title of the pinned moment")
        try expect(held[1].managedObjectContext == nil, "no object of the deleted record")
      }
      try stack.write { context in
        try context.one("Album", where: equal("title", "a")).setValue("b", for: "title")
        context.delete(try context.one("Album", where: equal("title", "2")))
      }
      try context.performAndWait {
        try expectEqual(try held[0].label, "a")
        try expectEqual(try held[2].label, "2")
        try expectEqual(try context.names("Album"), ["2", "a"])
      }
      try context.performAndWait {
        try context.advanceSnapshot()
        try expectEqual(try held[0].label, "b")
        try expect(held[2].managedObjectContext == nil, "no object of the deleted record")
      }
    }
    Case("saves of others wait for the move of the snapshot, which notifies of them") { stack in
      try fillPinned(stack)
      let (context, saver) = follower(stack)
      let held = try context.performAndWait { try context.all("Album", sort: [SortKey("title")]) }
      var changes = context.objectsDidChange.makeAsyncIterator()
      try context.performAndWait { try context.pinSnapshot() }
      try saver.performAndWait {
        try saver.one("Album", where: equal("title", "0")).setValue("new", for: "title")
        saver.delete(try saver.one("Album", where: equal("title", "1")))
        try saver.make("Album", ["title": "inserted"])
        try saver.save()
      }
      let inserted = try stack.read { try $0.one("Album", where: equal("title", "inserted")).objectID }
      let (kept, gone) = try context.performAndWait {
        try expectEqual(try held.map { try $0.label }, ["0", "1", "2"])
        return (held[0].objectID, held[1].objectID)
      }
      // A notification names objects in use, and an optimized build releases an object after its last use.
      try withExtendedLifetime(held) { try context.performAndWait { try context.advanceSnapshot() } }
      let change = try unwrap(await changes.next(), "a notification")
      try expectEqual(change.refreshed, [kept], "the refreshed objects")
      try expectEqual(change.deleted, [gone], "the deleted objects")
      try expectEqual(change.inserted, [inserted], "the inserted objects")
    }
    Case("member lists in use show the pinned moment") { stack in
      try stack.write { try Music.fill($0) }
      let context = stack.context()
      func labels(_ album: ManagedObject) throws -> [[String]] {
        [try album.labels(of: "tracks"), try album.labels(of: "genres")]
      }
      let album = try context.performAndWait {
        let album = try context.one("Album", where: equal("title", "Debut"))
        _ = try labels(album)
        return album
      }
      func change(_ name: String) throws {
        try stack.write { other in
          let album = try other.one("Album", where: equal("title", "Debut"))
          try album.setObjects(
            [try other.make("Genre", ["name": name])] + (try album.objects(for: "genres")), for: "genres")
          for track in try album.objects(for: "tracks").dropFirst() { other.delete(track) }
        }
      }
      try change("A")
      try context.performAndWait {
        try context.pinSnapshot()
        try expectEqual(try labels(album), [["Human Behaviour"], ["A", "Pop"]])
      }
      try change("B")
      try context.performAndWait { try expectEqual(try labels(album), [["Human Behaviour"], ["A", "Pop"]]) }
      try context.performAndWait {
        try context.advanceSnapshot()
        try expectEqual(try labels(album), [["Human Behaviour"], ["A", "B", "Pop"]])
      }
    }
    Case("a refresh, a rollback and a reset return to the pinned state") { stack in
      try fillPinned(stack)
      let (context, saver) = follower(stack)
      try context.performAndWait { try context.pinSnapshot() }
      try rename("0", to: "new", in: saver)
      for refresh in [
        { $0.refreshAll() }, { $0.rollback() }, { $0.reset() },
        { context in
          if let album = try? context.one("Album", where: equal("title", "0")) {
            context.refresh(album, mergeChanges: false)
          }
        },
      ] as [(ManagedObjectContext) -> Void] {
        try context.performAndWait {
          let album = try context.one("Album", where: equal("title", "0"))
          try album.setValue("edited", for: "title")
          context.rollback()
          refresh(context)
          try expectEqual(try context.names("Album"), ["0", "1", "2"])
        }
      }
      try context.performAndWait {
        try context.advanceSnapshot()
        try expectEqual(try context.names("Album"), ["1", "2", "new"])
      }
    }
    Case("an unsaved edit stays on top of the pinned state") { stack in
      try fillPinned(stack)
      let context = stack.context()
      let album = try context.performAndWait {
        let album = try context.one("Album", where: equal("title", "0"))
        try album.setValue("edited", for: "title")
        return album
      }
      try stack.write { try $0.one("Album", where: equal("title", "0")).setValue(7, for: "year") }
      try context.performAndWait { try context.pinSnapshot() }
      try stack.write { try $0.one("Album", where: equal("title", "0")).setValue(8, for: "year") }
      try context.performAndWait {
        try expectEqual(try album.value(for: "year", as: Int.self), 7, "the year of the pinned moment")
        try expectEqual(try context.names("Album"), ["1", "2", "edited"])
        try context.advanceSnapshot()
        try expectEqual(try album.value(for: "year", as: Int.self), 8)
        try expectEqual(try album.label, "edited")
        try context.save()
      }
      try stack.read { context in
        try expectEqual(try context.one("Album", where: equal("year", 8)).label, "edited")
      }
    }
  }

  @CasesBuilder static var pinnedResults: [Case] {
    Case("live results stay still under a pinned snapshot, follow own edits, and move forward with it") { stack in
      try fillPinned(stack)
      let (context, saver) = follower(stack)
      let list = try FollowedList(FetchRequest(entityName: "Album").sort("title"), in: context)
      try context.performAndWait { try context.pinSnapshot() }
      try rename("0", to: "9", in: saver)
      try list.expectTitles(["0", "1", "2"])
      try context.performAndWait { try context.make("Album", ["title": "5"]) }
      try list.expectTitles(["0", "1", "2", "5"])
      try context.performAndWait { try context.advanceSnapshot() }
      try list.expectTitles(["1", "2", "5", "9"])
      try rename("1", to: "7", in: saver)
      try context.performAndWait { try context.save() }
      try list.expectTitles(["2", "5", "7", "9"])
      try rename("2", to: "8", in: saver)
      let later = try FollowedList(FetchRequest(entityName: "Album").sort("title").limit(2), in: context)
      try later.expectTitles(["2", "5"])
      try rename("7", to: "1", in: saver)
      try list.expectTitles(["2", "5", "7", "9"])
      context.performAndWait { context.unpinSnapshot() }
      try list.expectTitles(["1", "5", "8", "9"])
      try later.expectTitles(["1", "5"])
      try rename("1", to: "6", in: saver)
      try list.expectTitles(["5", "6", "8", "9"])
      try later.expectTitles(["5", "6"])
    }
    Case("live results show the state that a snapshot was pinned in, also without a received save") { stack in
      try fillPinned(stack)
      let coordinator = try stack.anotherCoordinator()
      let stranger = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
      let context = stack.context()
      let list = try FollowedList(FetchRequest(entityName: "Album").sort("title"), in: context)
      try rename("0", to: "9", in: stranger)
      try context.performAndWait { try context.pinSnapshot() }
      try list.expectTitles(["1", "2", "9"])
      try rename("1", to: "8", in: stranger)
      try list.expectTitles(["1", "2", "9"])
      try context.performAndWait { try context.advanceSnapshot() }
      try list.expectTitles(["2", "8", "9"])
    }
  }
}
