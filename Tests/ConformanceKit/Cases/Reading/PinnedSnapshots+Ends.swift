import CoherenceCore

extension ConformanceSubject {
  @CasesBuilder static var pinnedEnds: [Case] {
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
    Case("a fetch that a cancel stops leaves the snapshot as it is") { stack in
      try fillPinned(stack)
      let context = stack.context()
      try context.performAndWait { try context.pinSnapshot() }
      try stack.write { try $0.make("Album", ["title": "later"]) }
      let task = Task {
        try await context.perform {
          withUnsafeCurrentTask { $0?.cancel() }
          return try context.names("Album")
        }
      }
      let result = await task.result
      try expectThrows(.cancelled) { try result.get() }
      try context.performAndWait { try expectEqual(try context.names("Album"), ["0", "1", "2"], "the pinned titles") }
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

  @CasesBuilder static var pinnedStores: [Case] {
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

  /// Waits until no reader is open.
  static func finished(_ interposition: Interposition) async {
    while interposition.openReaderCount > 0 { await Task.yield() }
  }
}
