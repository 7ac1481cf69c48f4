import CoherenceCore

extension ConformanceSubject {
  @CasesBuilder static var pinnedWrites: [Case] {
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

  @CasesBuilder static var pinnedChildren: [Case] {
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
    Case("a child's edit of a newer state than its parent's pinned snapshot is no conflict when the parent saves") {
      stack in
      for (index, isFollowing) in [false, true].enumerated() {
        try stack.write { try $0.make("Album", ["title": "\(index)"]) }
        let (parent, saver) = (stack.context(.storeTrumps), stack.context())
        if isFollowing { parent.follow(saver) }
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        let album = try parent.performAndWait {
          try parent.pinSnapshot()
          return try parent.one("Album", where: equal("title", "\(index)"))
        }
        try rename("\(index)", to: "theirs", in: saver)
        try child.performAndWait {
          try child.one("Album", where: equal("title", "theirs")).setValue("mine \(index)", for: "title")
          try child.save()
        }
        try parent.performAndWait {
          try expectEqual(try album.label, "mine \(index)")
          try parent.save()
        }
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["mine 0", "mine 1"]) }
    }
    Case("a child with a pinned snapshot saves past its parent, and not into it") { stack in
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
      child.savesPastParent = true
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
}
