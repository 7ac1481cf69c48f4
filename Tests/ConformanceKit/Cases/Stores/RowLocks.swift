import CoherenceCore
import Foundation
import Synchronization

/// For stores that lock records, or exclude other writers.
extension ConformanceSubject {
  static let rowLocks = ConformanceSubject("Locks on records") {
    others
    ends
    present
    refusals
  }

  /// A case for the store as it is, and for a store of another package that only excludes writers.
  static func lockCases(
    _ name: String, model: ManagedObjectModel = Music.model,
    run: @escaping @Sendable (ConformanceStack) async throws -> Void
  ) -> [Case] {
    [
      Case(name, model: model) { stack in
        guard locks(try stack.store) else { return }
        try await run(stack)
      },
      Case(name + ", in a store without locks on records of its own", model: model) { stack in
        guard try stack.store is any WriterExcluding else { return }
        _ = try stack.interpose(excludesWriters: true)
        try await run(stack)
      },
    ]
  }

  /// Whether the store locks records, or excludes other writers.
  static func locks(_ store: any PersistentStore) -> Bool {
    store is any RowLocking || store is any WriterExcluding
  }

  /// Saves albums with the titles.
  static func fillAlbums(_ stack: ConformanceStack, _ titles: String) throws {
    try stack.write { context in
      for title in titles { try context.make("Album", ["title": String(title), "year": 0]) }
    }
  }

  /// Whether another writer, in another coordinator and on another thread, finds an album locked.
  static func isLocked(_ title: String = "A", for other: PersistentStoreCoordinator) throws -> Bool {
    try StartedThread {
      let context = ManagedObjectContext(coordinator: other)
      return try context.performAndWait {
        let album = try context.one("Album", where: equal("title", title))
        do {
          try context.withLock(on: [album], timeout: .zero) {}
          return false
        } catch let error as CoherenceError where error.code == .storeBusy {
          try expect(error.isRetryable && error.outcome == .notApplied, "an error that permits another attempt")
          return true
        }
      }
    }.join()
  }

  @CasesBuilder private static var others: [Case] {
    lockCases("another writer cannot lock a locked record, and gives up after its timeout") { stack in
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let album = try context.one("Album")
        try context.withLock(on: [album]) { try expect(try isLocked(for: other), "a locked record") }
        try expect(try !isLocked(for: other), "a free record after the block")
      }
    }
    lockCases("another writer's save of a locked record waits for the lock's save, and is a conflict") { stack in
      try fillAlbums(stack, "A")
      let (begun, begins) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let other = StartedThread {
        try stack.read { context in
          try context.one("Album").setValue(2, for: "year")
          begun.signal()
          begins.wait()
          try expectThrows(.versionConflict) { try context.save() }
        }
      }
      try stack.read { context in
        let album = try context.one("Album")
        begun.wait()
        try context.withLock(on: [album]) {
          begins.signal()
          try album.setValue(1, for: "year")
          try context.save()
        }
      }
      try other.join()
      try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .int(1)) }
    }
    lockCases("another writer's batch delete of a locked record waits for the end of the lock") { stack in
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      let begins = DispatchSemaphore(value: 0)
      let deleter = StartedThread {
        let context = ManagedObjectContext(coordinator: other)
        begins.wait()
        _ = try context.performAndWait { try context.execute(BatchDeleteRequest(entityName: "Album")) }
      }
      try stack.read { context in
        let album = try context.one("Album")
        try context.withLock(on: [album]) {
          begins.signal()
          try expect(try isLocked(for: other), "a locked record")
          try expectEqual(try stack.read { try $0.number(of: "Album") }, 1)
        }
      }
      try deleter.join()
      try stack.read { try expectEqual(try $0.number(of: "Album"), 0) }
    }
    lockCases("many writers that lock the same records in different orders lose no increment") { stack in
      try fillAlbums(stack, "AB")
      let coordinators = [stack.coordinator, try stack.anotherCoordinator()]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<16 {
          group.addTask {
            let context = ManagedObjectContext(coordinator: coordinators[number % 2])
            try await context.perform {
              let albums = try context.all("Album", sort: [SortKey("title", number % 3 == 0 ? .forward : .reverse)])
              try context.withLock(on: albums) {
                for album in albums { try album.setValue(try album.value(for: "year", as: Int.self) + 1, for: "year") }
                try context.save()
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try stack.read { context in
        try expectEqual(try context.all("Album").map { try $0.value(for: "year", as: Int.self) }, [16, 16])
      }
    }
  }

  @CasesBuilder private static var ends: [Case] {
    lockCases("a lock ends when the save in its block has committed") { stack in
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let album = try context.one("Album")
        try context.withLock(on: [album]) {
          try album.setValue(1, for: "year")
          try context.save()
          try expect(try !isLocked(for: other), "a free record after the save")
          try album.setValue(2, for: "year")
          try context.save()
        }
        try expect(!context.hasChanges, "nothing to save")
      }
      try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .int(2)) }
    }
    lockCases("a lock ends with an error of its block, and nothing is saved") { stack in
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let album = try context.one("Album")
        try expectThrows(.invalidValue) {
          try context.withLock(on: [album]) {
            try album.setValue(1, for: "year")
            throw CoherenceError(.invalidValue, "The block fails.")
          }
        }
        try expect(try !isLocked(for: other), "a free record")
        try expectEqual(try stack.read { try $0.one("Album").value(for: "year") }, .int(0))
        try context.save()
      }
      try stack.read { try expectEqual(try $0.one("Album").value(for: "year"), .int(1)) }
    }
    lockCases("a refused save keeps the lock") { stack in
      try fillAlbums(stack, "A")
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let album = try context.one("Album")
        try context.withLock(on: [album]) {
          let genre = try context.make("Genre", ["name": "Jazz"])
          try expectThrows(.uniquenessViolated) { try context.save() }
          try expect(try isLocked(for: other), "a locked record after a refused save")
          try genre.setValue("Rock", for: "name")
          try album.setValue(1, for: "year")
          try context.save()
        }
      }
      try stack.read { try expectEqual(try $0.names("Genre"), ["Jazz", "Rock"]) }
    }
    lockCases("a save by another context, a batch request or a claim of the thread ends the lock") { stack in
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      let writes: [(ManagedObjectContext) throws -> Void] = [
        { _ in try stack.write { try $0.one("Album").setValue(1, for: "year") } },
        { try $0.execute(BatchUpdateRequest(entityName: "Album", values: ["isLive": true])) },
        { try $0.claim(FetchRequest(entityName: "Album").sort("title"), limit: 1, set: ["year": 5]) },
      ]
      for write in writes {
        try stack.read { context in
          try context.withLock(on: try context.all("Album")) {
            try write(context)
            try expect(try !isLocked(for: other), "a free record")
          }
        }
      }
      try stack.read { try expectEqual(try $0.one("Album").version, 4) }
    }
  }

  @CasesBuilder private static var present: [Case] {
    lockCases("the block of a lock reads the present values of its objects") { stack in
      try fillAlbums(stack, "AB")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        try albums[0].load()
        let strange = ManagedObjectContext(coordinator: other)
        try strange.performAndWait {
          for album in try strange.all("Album") { try album.setValue(7, for: "year") }
          try strange.save()
        }
        try expectEqual(try albums[0].value(for: "year"), .int(0))
        try context.withLock(on: [albums[0]]) {
          try expectEqual(try albums[0].value(for: "year"), .int(7))
          try expectEqual(try albums[0].committedValue(for: "year"), .int(7))
          try albums[0].setValue(8, for: "year")
          try context.save()
        }
      }
    }
    lockCases("an object that its lock loads is awakened before the block", model: Journals.model) { stack in
      try stack.write { try $0.make("Page", ["name": "a"]) }
      try HookLog.recording { log in
        try stack.read { context in
          var request = FetchRequest<ManagedObject>(entityName: "Page")
          request.returnsObjectsAsFaults = true
          let page = try context.fetch(request)[0]
          try context.withLock(on: [page]) { try expectEqual(log.take(), ["awakeFromFetch a"]) }
        }
      }
    }
    lockCases("the block of a lock reads the present members of its objects") { stack in
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try album.objects(for: "tracks").count, 0)
        try expectEqual(try album.objects(for: "genres").count, 0)
        let strange = ManagedObjectContext(coordinator: other)
        try strange.performAndWait {
          let same = try strange.one("Album")
          try same.setObjects([try strange.make("Track", ["title": "1"])], for: "tracks")
          try same.setObjects([try strange.make("Genre", ["name": "Jazz"])], for: "genres")
          try strange.save()
        }
        try context.withLock(on: [album]) {
          try expectEqual(try album.labels(of: "tracks"), ["1"])
          try expectEqual(try album.labels(of: "genres"), ["Jazz"])
          let tracks = try album.objects(for: "tracks")
          try album.setObjects(tracks + [try context.make("Track", ["title": "2"])], for: "tracks")
          try context.save()
        }
      }
      try stack.read { try expectEqual(try $0.one("Album").labels(of: "tracks"), ["1", "2"]) }
    }
    lockCases("unsaved changes stay under a lock, and conflict with changes of the same property by others") { stack in
      try fillAlbums(stack, "A")
      try stack.read { context in
        let album = try context.one("Album")
        try album.setValue(1, for: "year")
        try stack.write { context in
          let same = try context.one("Album")
          try same.setValue(2, for: "year")
          try same.setValue(true, for: "isLive")
        }
        try context.withLock(on: [album]) {
          try expectEqual(try album.value(for: "year"), .int(1))
          try expectEqual(try album.value(for: "isLive"), .bool(true))
          let error = try expectThrows(.versionConflict) { try context.save() }
          try expectEqual(error.objectIDs, [album.objectID])
          context.mergePolicy = .objectTrumps
          try context.save()
        }
      }
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try album.value(for: "year"), .int(1))
        try expectEqual(try album.value(for: "isLive"), .bool(true))
      }
    }
    lockCases("unsaved changes of other properties than another writer's are saved under a lock") { stack in
      try fillAlbums(stack, "A")
      try stack.read { context in
        let album = try context.one("Album")
        try album.setValue("mine", for: "title")
        try stack.write { try $0.one("Album").setValue(2, for: "year") }
        try context.withLock(on: [album]) { try context.save() }
      }
      try stack.read { context in
        try expectEqual(try context.one("Album").label, "mine")
        try expectEqual(try context.one("Album").value(for: "year"), .int(2))
      }
    }
    lockCases("an object whose delete is unsaved is locked and deleted") { stack in
      try fillAlbums(stack, "A")
      try stack.read { context in
        let album = try context.one("Album")
        context.delete(album)
        try context.withLock(on: [album]) { try context.save() }
        try expectEqual(try context.number(of: "Album"), 0)
      }
    }
    lockCases("a lock of objects of several entities and hierarchies locks each of them") { stack in
      try stack.write { context in
        try context.make("Legend", ["name": "L"])
        try context.make("Band", ["name": "B"])
        try context.make("Album", ["title": "A"])
      }
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let objects = [try context.one("Album"), try context.one("Legend"), try context.one("Band")]
        try context.withLock(on: objects + objects) {
          try expect(try isLocked(for: other), "a locked album")
          for object in objects.dropFirst() { try object.setValue("XX", for: "country") }
          try context.save()
        }
        try expectEqual(try context.number(of: "Performer", where: equal("country", "XX")), 2)
      }
    }
  }

  @CasesBuilder private static var refusals: [Case] {
    lockCases("a lock of records that vanished names all of them, and its block does not run") { stack in
      try fillAlbums(stack, "ABC")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        let deletion = BatchDeleteRequest(entityName: "Album", predicate: among("title", ["A", "C"]))
        try stack.read { try $0.execute(deletion) }
        let error = try expectThrows(.objectNotFound) {
          try context.withLock(on: albums) { throw ConformanceFailure("the block ran", file: #fileID, line: #line) }
        }
        try expectEqual(Set(error.objectIDs), [albums[0].objectID, albums[2].objectID])
        try expect(error.message.contains("'Album'"), "the entity: \(error.message)")
        try expect(try !isLocked("B", for: other), "a free record")
        try context.withLock(on: [albums[1]]) {
          try albums[1].setValue(1, for: "year")
          try context.save()
        }
      }
    }
    lockCases("a lock of an unsaved object, or of one of another context, is refused in words") { stack in
      try fillAlbums(stack, "A")
      try stack.read { context in
        let saved = try context.one("Album")
        let fresh = try context.make("Album", ["title": "B"])
        let error = try expectThrows(.illegalState) { try context.withLock(on: [saved, fresh]) {} }
        try expectEqual(error.objectIDs, [fresh.objectID])
        try context.obtainPermanentIDs(for: [fresh])
        try expectThrows(.illegalState) { try context.withLock(on: [fresh]) {} }
        let another = stack.context()
        try another.performAndWait {
          try expectThrows(.wrongContext) { try context.withLock(on: [try another.one("Album")]) {} }
        }
        try context.save()
        context.delete(fresh)
        try context.save()
        try expectThrows(.objectDeleted) { try context.withLock(on: [fresh]) {} }
      }
    }
    lockCases("a lock of no objects runs its block without a lock") { stack in
      try fillAlbums(stack, "A")
      let other = try stack.anotherCoordinator()
      try stack.read { context in
        let isBusy = try context.withLock(on: []) { () throws -> Bool in try isLocked(for: other) }
        try expect(!isBusy, "a free record")
      }
    }
    Case("a store that neither locks records nor excludes writers refuses a lock in words") { stack in
      try fillAlbums(stack, "A")
      _ = try stack.interpose()
      try stack.read { context in
        let error = try expectThrows(.unsupported) { try context.withLock(on: [try context.one("Album")]) {} }
        try expect(error.message.contains("cannot lock records"), "a reason: \(error.message)")
      }
    }
  }
}
