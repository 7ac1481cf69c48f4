import CoherenceCore
import Dispatch
import Synchronization

/// For stores that lock records, or exclude other writers.
extension ConformanceSubject {
  static let rowLocksInUse = ConformanceSubject("Locks in contexts and stores") {
    nestedLocks
    lockingContexts
    lockedStores
    cancelledLocks
  }

  @CasesBuilder private static var nestedLocks: [Case] {
    lockCases("nested locks end together with the save, or with the outermost block") { stack in
      try fillAlbums(stack, "AB")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        try context.withLock(on: [albums[1]]) {
          try context.withLock(on: [albums[0]]) { try albums[0].setValue(1, for: "year") }
          try expect(try isLocked("A", for: other) && isLocked("B", for: other), "two locked records")
          try context.withLock(on: albums) { try context.save() }
          try expect(try !isLocked("A", for: other) && !isLocked("B", for: other), "two free records")
          try context.withLock(on: [albums[0]]) { try expect(try isLocked("A", for: other), "a locked record") }
          try expect(try !isLocked("A", for: other), "a free record")
        }
      }
      try stack.read { try expectEqual(try $0.one("Album", where: equal("year", 1)).label, "A") }
    }
    lockCases("a failed inner lock leaves the outer lock") { stack in
      try fillAlbums(stack, "AB")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        try albums[1].load()
        try context.withLock(on: [albums[0]]) {
          try albums[0].setValue(1, for: "year")
          try expectThrows(.illegalState) { try context.withLock(on: [try context.make("Album")]) {} }
          try expect(try isLocked("A", for: other), "a locked record")
          context.rollback()
          try albums[0].setValue(2, for: "year")
          try context.save()
        }
      }
      try stack.read { try expectEqual(try $0.one("Album", where: equal("title", "A")).value(for: "year"), .int(2)) }
    }
    lockCases("a lock in a block that excludes other writers, and the other way round, saves with it") { stack in
      guard let store = try stack.store as? any WriterExcluding else { return }
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let album = try context.one("Album")
        try store.excludingWriters {
          try context.withLock(on: [album]) { try album.setValue(1, for: "year") }
          try expect(try isLocked(for: other), "a locked record")
          try context.save()
        }
        try context.withLock(on: [album]) {
          try store.excludingWriters { try album.setValue(2, for: "year") }
          try expect(try isLocked(for: other), "a locked record")
          try context.save()
        }
        try expect(try !isLocked(for: other), "a free record")
      }
      try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .int(2)) }
    }
    lockCases("a save under a lock that meets conflicts over other records resolves them by its policy") { stack in
      try fillAlbums(stack, "AB")
      let context = stack.context(.objectTrumps)
      try context.performAndWait {
        let albums = try context.all("Album", sort: [SortKey("title")])
        try stack.write { try $0.one("Album", where: equal("title", "B")).setValue(5, for: "year") }
        try context.withLock(on: [albums[0]]) {
          for album in albums { try album.setValue(9, for: "year") }
          try context.save()
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Album", where: equal("year", 9)), 2) }
    }
  }

  @CasesBuilder private static var lockingContexts: [Case] {
    lockCases("a child context that saves into its parent refuses a lock in words") { stack in
      try fillAlbums(stack, "A")
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: stack.context())
      try child.performAndWait {
        let error = try expectThrows(.illegalState) { try child.withLock(on: [try child.one("Album")]) {} }
        try expect(error.message.contains("parent"), "the parent: \(error.message)")
      }
    }
    lockCases("a child context that saves past its parent locks, and reads its parent's changes on top") { stack in
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.savesPastParent = true
      try parent.performAndWait { try parent.one("Album").setValue("P", for: "title") }
      try child.performAndWait {
        let album = try child.one("Album")
        try album.load()
        try stack.write { try $0.one("Album").setValue(7, for: "year") }
        try child.withLock(on: [album]) {
          try expect(try isLocked(for: other), "a locked record")
          try expectEqual(try album.label, "P")
          try expectEqual(try album.value(for: "year"), .int(7))
          try album.setValue(8, for: "year")
          try child.save()
        }
      }
      try stack.read { context in
        try expectEqual(try context.one("Album").label, "A")
        try expectEqual(try context.one("Album").value(for: "year"), .int(8))
      }
      try parent.performAndWait { try parent.save() }
      try stack.read { try expectEqual(try $0.one("Album").label, "P") }
    }
    lockCases("a lock in a merge policy that the context calls is refused in words") { stack in
      try fillAlbums(stack, "A")
      let codes = Mutex<[ErrorCode?]>([])
      let context = stack.context()
      context.mergePolicy = .custom { conflict in
        do {
          let album = try context.existingObject(with: conflict.objectID)
          try context.withLock(on: [album]) { codes.withLock { $0.append(nil) } }
        } catch {
          codes.withLock { $0.append((error as? CoherenceError)?.code) }
        }
        return conflict.store?.values
      }
      try context.performAndWait {
        let album = try context.one("Album")
        try album.setValue(1, for: "year")
        try stack.write { try $0.one("Album").setValue(2, for: "year") }
        try context.save()
        try expectEqual(codes.withLock { $0 }, [.illegalState])
        try context.withLock(on: [album]) { try expectEqual(try album.value(for: "year"), .int(2)) }
      }
    }
    lockCases("a lock within a snapshot ends the snapshot's state") { stack in
      try fillAlbums(stack, "A")
      try stack.read { context in
        try context.withSnapshot {
          let album = try context.one("Album")
          try stack.write { try $0.one("Album").setValue(7, for: "year") }
          try expectEqual(try album.value(for: "year"), .int(0))
          try context.withLock(on: [album]) {
            try expectEqual(try album.value(for: "year"), .int(7))
            try album.setValue(8, for: "year")
            try context.save()
          }
        }
      }
      try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .int(8)) }
    }
    lockCases("a fetch in the block of a lock sees saves from before the lock") { stack in
      try fillAlbums(stack, "A")
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try context.number(of: "Album"), 1)
        try fillAlbums(stack, "B")
        try context.withLock(on: [album]) { try expectEqual(try context.names("Album"), ["A", "B"]) }
      }
    }
  }

  @CasesBuilder private static var lockedStores: [Case] {
    Case("a lock of objects of several stores holds in each, and its save is committed in each") { stack in
      let coordinator = stack.makeCoordinator(model: Shops.model)
      for (name, companion) in [("Goods", false), ("People", true)] {
        try stack.attach(
          try stack.makeLocation(companion: companion), to: coordinator,
          configuration: name)
      }
      let context = ManagedObjectContext(coordinator: coordinator)
      try context.performAndWait {
        let objects = [try context.make("Article", ["name": "a"]), try context.make("Customer", ["name": "c"])]
        try context.save()
        guard coordinator.persistentStores.allSatisfy(locks) else { return }
        try context.withLock(on: objects, timeout: .seconds(60)) {
          try StartedThread {
            let other = ManagedObjectContext(coordinator: coordinator)
            try other.performAndWait {
              for entity in ["Article", "Customer"] {
                let object = try other.one(entity)
                try expectThrows(.storeBusy) { try other.withLock(on: [object], timeout: .zero) {} }
              }
            }
          }.join()
          for object in objects { try object.setValue("x", for: "name") }
          try context.save()
        }
        context.reset()
        try expectEqual(try context.names("Article") + context.names("Customer"), ["x", "x"])
      }
    }
  }

  @CasesBuilder private static var cancelledLocks: [Case] {
    lockCases("a cancelled task does not wait for a lock") { stack in
      try fillAlbums(stack, "A")
      let held = try await HeldLock(in: stack)
      let waiter = stack.context()
      let task = Task {
        try await waiter.perform {
          let album = try waiter.one("Album")
          withUnsafeCurrentTask { $0?.cancel() }
          try expectThrows(.cancelled) { try waiter.withLock(on: [album]) {} }
        }
      }
      let result = await task.result
      try held.end()
      try result.get()
      try stack.write { try $0.one("Album").setValue(1, for: "year") }
    }
    lockCases("a save that waits for a lock ends when its task is cancelled, and can be repeated") { stack in
      try fillAlbums(stack, "A")
      let held = try await HeldLock(in: stack)
      let saver = stack.context()
      let (begun, continuation) = AsyncStream<Void>.makeStream()
      let task = Task {
        try await saver.perform {
          try saver.one("Album").setValue(1, for: "year")
          continuation.finish()
          try saver.save()
        }
      }
      for await _ in begun {}
      task.cancel()
      // Without its cancellation, the save would wait for the end of the lock.
      let result = await task.result
      try held.end()
      try expectThrows(.cancelled) { try result.get() }
      try stack.read { try expectEqual(try $0.number(of: "Album", where: equal("year", 0)), 1) }
      try saver.performAndWait { try saver.save() }
      try stack.read { try expectEqual(try $0.number(of: "Album", where: equal("year", 1)), 1) }
    }
  }
}

/// A lock on the only album of a stack, on a thread of its own.
private struct HeldLock {
  private let release = DispatchSemaphore(value: 0)
  private let thread: StartedThread<Void>

  /// Waits until the lock is held.
  init(in stack: ConformanceStack) async throws {
    let (locked, continuation) = AsyncStream<Void>.makeStream()
    thread = StartedThread { [release] in
      defer { continuation.finish() }
      try stack.read { context in
        try context.withLock(on: [try context.one("Album")]) {
          continuation.finish()
          release.wait()
        }
      }
    }
    for await _ in locked {}
  }

  func end() throws {
    release.signal()
    try thread.join()
  }
}
