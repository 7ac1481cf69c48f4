import CoherenceCore

extension ConformanceSubject {
  static let pinnedSnapshots = ConformanceSubject("Pinned snapshots") {
    pinnedReads
    pinnedObjects
    pinnedWrites
    pinnedChildren
    pinnedResults
    pinnedEnds
    pinnedStores
  }

  /// Saves albums with the titles "0", "1" and so on, whose years are their numbers.
  private static func fillPinned(_ stack: ConformanceStack, count: Int = 3) throws {
    try stack.write { context in
      for number in 0..<count { try context.make("Album", ["title": "\(number)", "year": number]) }
    }
  }

  /// A context that follows the saves of another one, and the other one.
  private static func follower(_ stack: ConformanceStack) -> (context: ManagedObjectContext, saver: ManagedObjectContext) {
    let (context, saver) = (stack.context(), stack.context())
    context.follow(saver)
    return (context, saver)
  }

  private static func rename(_ title: String, to other: String, in context: ManagedObjectContext) throws {
    try context.performAndWait {
      try context.one("Album", where: equal("title", title)).setValue(other, for: "title")
      try context.save()
    }
  }

  @CasesBuilder private static var pinnedReads: [Case] {
    Case("reads of later blocks see the pinned state, and the present one after it moves forward or ends") { stack in
      try fillPinned(stack)
      let (context, saver) = follower(stack)
      try context.performAndWait { try context.pinSnapshot() }
      try context.performAndWait { try expect(context.hasPinnedSnapshot, "a pinned snapshot") }
      for round in 0..<3 {
        try saver.performAndWait {
          try saver.make("Album", ["title": "new \(round)"])
          try saver.save()
        }
        try context.performAndWait {
          try expectEqual(try context.names("Album"), ["0", "1", "2"], "the pinned titles")
          try expectEqual(try context.number(of: "Album"), 3)
        }
      }
      try context.performAndWait { try context.advanceSnapshot() }
      try stack.write { context in for album in try context.all("Album") { context.delete(album) } }
      try context.performAndWait { try expectEqual(try context.number(of: "Album"), 6) }
      try context.performAndWait {
        try context.advanceSnapshot()
        try context.advanceSnapshot()
        try expectEqual(try context.number(of: "Album"), 0)
        context.unpinSnapshot()
        context.unpinSnapshot()
        try expect(!context.hasPinnedSnapshot, "no pinned snapshot")
      }
      try fillPinned(stack)
      try context.performAndWait { try expectEqual(try context.number(of: "Album"), 3) }
    }
    Case("faults, relationships and aggregates of later blocks see the pinned state") { stack in
      try stack.write { try Music.fill($0) }
      let context = stack.context()
      let ids = try context.performAndWait {
        try context.pinSnapshot()
        return try context.fetchIDs(FetchRequest<ManagedObject>(entityName: "Album"))
      }
      try stack.write { other in
        let album = try other.one("Album", where: equal("title", "Debut"))
        try album.setValue(2000, for: "year")
        try album.setObject(nil, for: "artist")
        try album.setObjects([], for: "genres")
        for track in try album.objects(for: "tracks") { other.delete(track) }
        other.delete(try other.one("Album", where: equal("title", "Arrival")))
      }
      try context.performAndWait {
        let albums = try ids.map { try context.existingObject(with: $0) }
        let album = try unwrap(try albums.first { try $0.label == "Debut" }, "the album")
        try expectEqual(try album.value(for: "year", as: Int.self), 1993)
      }
      try context.performAndWait {
        let album = try context.one("Album", where: and(equal("year", 1993), equal("title", "Debut")))
        try expectEqual(try album.object(for: "artist")?.label, "Bj\u{F6}rk")
        try expectEqual(try album.labels(of: "genres"), ["Pop"])
      }
      try context.performAndWait {
        let album = try context.one("Album", where: equal("title", "Debut"))
        try expectEqual(try album.labels(of: "tracks"), ["Human Behaviour", "Crying"])
        try expectEqual(try context.number(of: "Album"), 8)
      }
    }
    Case("a block with a snapshot reads the pinned state, and the state stays after the block") { stack in
      try fillPinned(stack)
      let context = stack.context()
      try context.performAndWait { try context.pinSnapshot() }
      try fillPinned(stack)
      try context.performAndWait {
        try context.withSnapshot {
          try expectEqual(try context.number(of: "Album"), 3)
          try context.advanceSnapshot()
          try expectEqual(try context.number(of: "Album"), 6)
          try fillPinned(stack)
          try expectEqual(try context.number(of: "Album"), 6)
        }
        try expectEqual(try context.number(of: "Album"), 6)
      }
      try context.performAndWait {
        try context.withSnapshot {
          context.unpinSnapshot()
          try expectEqual(try context.number(of: "Album"), 9)
          try fillPinned(stack)
          try expectEqual(try context.number(of: "Album"), 9)
          try context.pinSnapshot()
          try expectEqual(try context.number(of: "Album"), 12)
        }
        try fillPinned(stack)
        try expectEqual(try context.number(of: "Album"), 12)
      }
    }
    Case("thirty-two pinned contexts see their states while others read and save") { stack in
      let contexts = try (0..<32).map { number in
        let context = stack.context()
        try context.performAndWait { try context.pinSnapshot() }
        try stack.write { try $0.make("Genre", ["name": "\(number)"]) }
        try stack.read { try expectEqual(try $0.number(of: "Genre"), number + 1) }
        return context
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, context) in contexts.enumerated() {
          group.addTask {
            for _ in 0..<3 {
              try await context.perform { context in
                try expectEqual(try context.number(of: "Genre"), number)
                try expectEqual(try context.names("Genre").count, number)
              }
            }
            let count = try await context.perform { context in
              try context.make("Genre", ["name": "of \(number)"])
              try context.save()
              return try context.number(of: "Genre")
            }
            try expect(count > 32, "the present records after the save, found \(count)")
          }
        }
        try await group.waitForAll()
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 64) }
    }
    Case("a context of a thread keeps its snapshot between operations") { stack in
      try fillPinned(stack)
      let saver = stack.context()
      let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: stack.coordinator)
      context.follow(saver)
      let held = try context.one("Album", where: equal("title", "0"))
      try context.pinSnapshot()
      try rename("0", to: "new", in: saver)
      try expectEqual(try context.names("Album"), ["0", "1", "2"])
      try expectEqual(try held.label, "0")
      try context.advanceSnapshot()
      try expectEqual(try held.label, "new")
      try expectEqual(try context.names("Album"), ["1", "2", "new"])
    }
  }

  @CasesBuilder private static var pinnedObjects: [Case] {
    Case("objects in use show the pinned moment, and the present one after it moves forward") { stack in
      try fillPinned(stack)
      let context = stack.context()
      let held = try context.performAndWait { try context.all("Album", sort: [SortKey("title")]) }
      // The context follows nobody, and its objects have an older state than the stores.
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
      try context.performAndWait { try context.advanceSnapshot() }
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

  @CasesBuilder private static var pinnedWrites: [Case] {
    Case("a save of the context moves its snapshot forward, and keeps it pinned") { stack in
      try fillPinned(stack)
      let (context, saver) = follower(stack)
      let held = try context.performAndWait {
        try context.pinSnapshot()
        return try context.all("Album", sort: [SortKey("title")])
      }
      try rename("1", to: "theirs", in: saver)
      try context.performAndWait {
        try context.save()
        try expectEqual(try held[1].label, "1", "the title after a save without changes")
        try held[0].setValue("own", for: "title")
        try context.save()
        try expectEqual(try held[1].label, "theirs")
        try expectEqual(try context.names("Album"), ["2", "own", "theirs"])
      }
      try rename("2", to: "later", in: saver)
      try context.performAndWait { try expectEqual(try context.names("Album"), ["2", "own", "theirs"]) }
    }
    Case("a failed save moves the snapshot forward, and a conflict is seen") { stack in
      try fillPinned(stack)
      let (context, saver) = follower(stack)
      let album = try context.performAndWait {
        try context.pinSnapshot()
        return try context.one("Album", where: equal("title", "0"))
      }
      try rename("0", to: "theirs", in: saver)
      try rename("1", to: "other", in: saver)
      try context.performAndWait {
        try album.setValue("own", for: "title")
        try expectThrows(.versionConflict) { try context.save() }
        try expectEqual(try album.label, "own", "the edit after the failure")
        try expectEqual(try context.names("Album"), ["2", "other", "own"])
        try expect(context.hasPinnedSnapshot, "a pinned snapshot")
      }
      try rename("2", to: "later", in: saver)
      try context.performAndWait {
        try expectEqual(try context.names("Album"), ["2", "other", "own"])
        context.mergePolicy = .objectTrumps
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["later", "other", "own"]) }
    }
    Case("batch requests and locks of the context move its snapshot forward") { stack in
      try fillPinned(stack)
      let context = stack.context()
      let album = try context.performAndWait {
        try context.pinSnapshot()
        return try context.one("Album", where: equal("title", "0"))
      }
      var count = 3
      func grow() throws {
        try stack.write { try $0.make("Album", ["title": "more"]) }
        count += 1
      }
      try grow()
      try context.performAndWait {
        try context.execute(
          BatchUpdateRequest(entityName: "Album", predicate: equal("title", "0"), values: ["year": 9]))
        try expectEqual(try album.value(for: "year", as: Int.self), 9)
        try expectEqual(try context.number(of: "Album"), count)
      }
      try grow()
      try context.performAndWait {
        try expectEqual(try context.number(of: "Album"), count - 1)
        try context.execute(BatchDeleteRequest(entityName: "Album", predicate: equal("title", "1")))
        count -= 1
        try expectEqual(try context.number(of: "Album"), count)
      }
      try grow()
      try context.performAndWait {
        let row: [String: AttributeValue] = ["title": .string("inserted")]
        try context.execute(BatchInsertRequest(entityName: "Album", rows: [row]))
        count += 1
        try expectEqual(try context.number(of: "Album"), count)
      }
      try grow()
      try context.performAndWait {
        do {
          try context.withLock(on: [album]) {
            try expectEqual(try context.number(of: "Album"), count)
            try album.setValue("locked", for: "title")
            try context.save()
          }
        } catch let error as CoherenceError where error.code == .unsupported {
          try context.advanceSnapshot()
        }
        try expectEqual(try context.number(of: "Album"), count)
      }
      try grow()
      try context.performAndWait { try expectEqual(try context.number(of: "Album"), count - 1) }
    }
    Case("streams of a context with a pinned snapshot are refused") { stack in
      try fillStreamed(stack, count: 10)
      let context = stack.context()
      try await context.perform { try $0.pinSnapshot() }
      let stream = context.stream(streamed(), unreadLimit: .seconds(3600))
      try await expectFailure(.illegalState) { _ = try await collect(stream) }
      try await expectFailure(.illegalState) {
        try await context.forEachBatch(of: streamed(), unreadLimit: .seconds(3600)) { _ in }
      }
      try await context.perform { $0.unpinSnapshot() }
      try expectEqual(try await collect(context.stream(streamed(), unreadLimit: .seconds(3600))).count, 10)
    }
  }

  @CasesBuilder private static var pinnedChildren: [Case] {
    Case("a child's snapshot shows the stores alone, and needs parents without unsaved changes") { stack in
      try fillPinned(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      let album = try parent.performAndWait { try parent.make("Album", ["title": "unsaved"]) }
      try child.performAndWait { try expectThrows(.illegalState) { try child.pinSnapshot() } }
      try parent.performAndWait {
        parent.delete(album)
        try parent.processPendingChanges()
      }
      try child.performAndWait { try child.pinSnapshot() }
      try parent.performAndWait {
        try parent.make("Album", ["title": "unsaved"])
        try parent.one("Album", where: equal("title", "0")).setValue("edited", for: "title")
      }
      try child.performAndWait {
        try expectEqual(try child.names("Album"), ["0", "1", "2"])
        // The snapshot stays as it is.
        try expectThrows(.illegalState) { try child.advanceSnapshot() }
        try expectEqual(try child.names("Album"), ["0", "1", "2"])
      }
      try parent.performAndWait { try parent.save() }
      try child.performAndWait {
        try expectEqual(try child.names("Album"), ["0", "1", "2"])
        try child.advanceSnapshot()
        try expectEqual(try child.names("Album"), ["1", "2", "edited", "unsaved"])
      }
    }
    Case("a child with a pinned snapshot saves through its parent, and not into it") { stack in
      try fillPinned(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait {
        try child.pinSnapshot()
        try child.one("Album", where: equal("title", "0")).setValue("own", for: "title")
        try expectThrows(.illegalState) { try child.save() }
        try expectEqual(try child.names("Album"), ["1", "2", "own"])
      }
      try stack.write { try $0.one("Album", where: equal("title", "1")).setValue("theirs", for: "title") }
      child.savesThroughParent = true
      try child.performAndWait {
        try child.save()
        try expectEqual(try child.names("Album"), ["2", "own", "theirs"])
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["2", "own", "theirs"]) }
    }
    Case("a child of a context with a pinned snapshot reads the present state, and saves into the context") { stack in
      try fillPinned(stack)
      let (parent, saver) = follower(stack)
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait { try parent.pinSnapshot() }
      try rename("1", to: "theirs", in: saver)
      try child.performAndWait {
        try expectEqual(try child.names("Album"), ["0", "2", "theirs"])
        try child.one("Album", where: equal("title", "0")).setValue("of the child", for: "title")
        try child.one("Album", where: equal("title", "theirs")).setValue(9, for: "year")
        try child.save()
      }
      try parent.performAndWait {
        try expectEqual(try parent.names("Album"), ["1", "2", "of the child"])
        try parent.save()
        try expectEqual(try parent.names("Album"), ["2", "of the child", "theirs"])
      }
      try stack.read { context in
        try expectEqual(try context.one("Album", where: equal("year", 9)).label, "theirs")
        try expectEqual(try context.names("Album"), ["2", "of the child", "theirs"])
      }
    }
  }

  @CasesBuilder private static var pinnedResults: [Case] {
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

  @CasesBuilder private static var pinnedEnds: [Case] {
    Case("a snapshot that is not read releases its readers, and reads fail until it moves forward") { stack in
      try fillPinned(stack)
      let interposition = try stack.interpose()
      let context = stack.context()
      let list = try FollowedList(FetchRequest(entityName: "Album").sort("title"), in: context)
      let (held, unread) = try context.performAndWait {
        let held = try context.one("Album", where: equal("title", "0"))
        try context.pinSnapshot(unreadLimit: .milliseconds(20))
        return (held, try context.fetchIDs(FetchRequest<ManagedObject>(entityName: "Album").sort("title"))[1])
      }
      await finished(interposition)
      try stack.write { try $0.one("Album", where: equal("title", "0")).setValue("9", for: "title") }
      try context.performAndWait {
        try expectEqual(try held.label, "0", "the title of a loaded object")
        try expectThrows(.snapshotExpired) { try context.number(of: "Album") }
        try expectThrows(.snapshotExpired) { try context.existingObject(with: unread) }
        try expect(context.hasPinnedSnapshot, "a pinned snapshot, which expired")
        try held.setValue(7, for: "year")
      }
      try context.performAndWait {
        try context.advanceSnapshot()
        try expectEqual(try context.names("Album"), ["1", "2", "9"])
        try expectEqual(try held.label, "9")
      }
      try list.expectTitles(["1", "2", "9"])
      await finished(interposition)
      // A save of the context moves the snapshot forward as well.
      try context.performAndWait {
        try context.save()
        try expectEqual(try context.number(of: "Album", where: equal("year", 7)), 1)
      }
      await finished(interposition)
      try context.performAndWait {
        context.unpinSnapshot()
        try expectEqual(try context.number(of: "Album"), 3)
      }
    }
    Case("a released context releases the readers of its snapshot") { stack in
      try fillPinned(stack)
      let interposition = try stack.interpose()
      do {
        let context = stack.context()
        try context.performAndWait { try context.pinSnapshot(unreadLimit: .seconds(3600)) }
        try expectEqual(interposition.openReaderCount, 1, "the number of open readers")
      }
      await finished(interposition)
    }
    Case("a snapshot whose store fails in its move is lost until another move succeeds") { stack in
      try fillPinned(stack)
      let interposition = try stack.interpose()
      let context = stack.context()
      try context.performAndWait { try context.pinSnapshot() }
      interposition.beforeRow { throw CoherenceError(.connectionLost, "The link broke.") }
      try context.performAndWait {
        try expectThrows(.connectionLost) { try context.advanceSnapshot() }
        let error = try expectThrows(.snapshotExpired) { try context.number(of: "Album") }
        try expect((error.underlying as? CoherenceError)?.code == .connectionLost, "the store's error")
        try expectThrows(.connectionLost) { try context.advanceSnapshot() }
      }
      // The save succeeds, and its snapshot does not.
      try context.performAndWait {
        try context.make("Album", ["title": "3"])
        try context.save()
        try expectThrows(.snapshotExpired) { try context.number(of: "Album") }
      }
      interposition.beforeRow(nil)
      try context.performAndWait {
        try context.advanceSnapshot()
        try expectEqual(try context.number(of: "Album"), 4)
      }
      interposition.beforeRow { throw CoherenceError(.connectionLost, "The link broke.") }
      let other = stack.context()
      try other.performAndWait {
        try expectThrows(.connectionLost) { try other.pinSnapshot() }
        try expect(!other.hasPinnedSnapshot, "no snapshot after a failure")
        try expectEqual(try other.number(of: "Album"), 4)
      }
    }
    Case("a snapshot is moved forward only where one is pinned") { stack in
      try stack.read { context in
        try expectThrows(.illegalState) { try context.advanceSnapshot() }
        context.unpinSnapshot()
      }
      let alone = ManagedObjectContext(
        concurrencyType: .privateQueue, coordinator: PersistentStoreCoordinator(managedObjectModel: stack.model))
      try alone.performAndWait { try expectThrows(.contextWithoutStore) { try alone.pinSnapshot() } }
    }
  }

  @CasesBuilder private static var pinnedStores: [Case] {
    Case("reads of a store that was detached under a pinned snapshot throw, also when it is attached again") { stack in
      try fillPinned(stack)
      let coordinator = stack.coordinator
      let other = try stack.attach(try stack.makeLocation(companion: true), to: coordinator)
      let context = stack.context()
      try context.performAndWait {
        try context.assign(try context.make("Album", ["title": "other"]), to: other)
        try context.save()
        try context.pinSnapshot()
        try expectEqual(try context.number(of: "Album"), 4)
      }
      let held = try context.performAndWait { try context.one("Album", where: equal("title", "0")) }
      let id = context.performAndWait { held.objectID }
      let store = try unwrap(coordinator.persistentStores.first { $0 !== other }, "the store")
      try coordinator.remove(store)
      try context.performAndWait {
        try expectEqual(try held.label, "0", "the title of a loaded object")
        let missing = try context.fetchIDs(FetchRequest<ManagedObject>(entityName: "Album"))
        try expectEqual(missing.count, 1, "the number of records of the other store")
        context.refresh(held, mergeChanges: false)
        try expectThrows(.storeDetached) { try context.existingObject(with: id) }
      }
      try stack.attach(stack.location, to: coordinator)
      try context.performAndWait {
        try expectThrows(.storeDetached) { try context.number(of: "Album") }
        try expectThrows(.storeDetached) { try context.existingObject(with: id) }
        try context.advanceSnapshot()
        try expectEqual(try context.number(of: "Album"), 4)
      }
    }
    Case("the last store of a pinned snapshot is detached") { stack in
      try fillPinned(stack)
      let context = stack.context()
      let list = try FollowedList(FetchRequest(entityName: "Album").sort("title"), in: context)
      try context.performAndWait { try context.pinSnapshot() }
      try stack.close()
      try context.performAndWait {
        try expectThrows(.contextWithoutStore) { try context.number(of: "Album") }
        try expectThrows(.contextWithoutStore) { try context.advanceSnapshot() }
        context.unpinSnapshot()
      }
      withExtendedLifetime(list) {}
    }
    Case("a store attached under a pinned snapshot takes part from its first read on") { stack in
      try fillPinned(stack)
      let coordinator = stack.coordinator
      let context = stack.context()
      try context.performAndWait { try context.pinSnapshot() }
      let store = try stack.attach(try stack.makeLocation(companion: true), to: coordinator)
      func add() throws {
        try stack.write { context in
          for store in coordinator.persistentStores {
            try context.assign(try context.make("Album", ["title": "more"]), to: store)
          }
        }
      }
      try add()
      try context.performAndWait { try expectEqual(try context.number(of: "Album"), 4) }
      try add()
      try context.performAndWait { try expectEqual(try context.number(of: "Album"), 4) }
      try context.performAndWait {
        try context.advanceSnapshot()
        try expectEqual(try context.number(of: "Album"), 7)
      }
      withExtendedLifetime(store) {}
    }
    Case("a store that cannot read beside a save refuses a pinned snapshot") { stack in
      try fillPinned(stack)
      _ = try stack.interpose(capabilities: [])
      try stack.read { context in
        try expectThrows(.unsupported) { try context.pinSnapshot() }
        try expect(!context.hasPinnedSnapshot, "no pinned snapshot")
        try expectEqual(try context.number(of: "Album"), 3)
      }
    }
  }

  private static func and(_ left: FetchPredicate, _ right: FetchPredicate) -> FetchPredicate { .and([left, right]) }

  /// Waits until no reader is open.
  private static func finished(_ interposition: Interposition) async {
    while interposition.openReaderCount > 0 { await Task.yield() }
  }
}
