import CoherenceCore

extension ConformanceSubject {
  static let snapshotRead = ConformanceSubject("Snapshot read") {
    Case("fetches in a snapshot see one state while others save") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        try context.withSnapshot {
          try expectEqual(try context.number(of: "Genre"), 1)
          try stack.write { try $0.make("Genre", ["name": "Pop"]) }
          try expectEqual(try context.names("Genre"), ["Jazz"])
          try expectEqual(try context.number(of: "Genre"), 1)
        }
        try expectEqual(try context.names("Genre"), ["Jazz", "Pop"])
      }
    }
    Case("a snapshot shows records as they were, and relationships too") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        try context.withSnapshot {
          try expectEqual(try context.number(of: "Album"), 8)
          try stack.write { other in
            let album = try other.one("Album", where: equal("title", "Debut"))
            try album.setValue(2000, for: "year")
            try album.setObject(nil, for: "artist")
            try album.setObjects([], for: "genres")
            other.delete(try other.one("Album", where: equal("title", "Arrival")))
          }
          let album = try context.one("Album", where: .and([equal("year", 1993), compare("artist", .notEqual, nil)]))
          try expectEqual(try album.labels(of: "genres"), ["Pop"])
          try expectEqual(try album.object(for: "artist")?.label, "Bj\u{F6}rk")
          try expectEqual(try album.labels(of: "tracks"), ["Human Behaviour", "Crying"])
          try expectEqual(try context.number(of: "Album"), 8)
        }
      }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 7) }
    }
    Case("a fetch in a snapshot does not return newer rows that other contexts hold") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title, "year": 4]) } }
      let keeper = stack.context()
      try stack.read { context in
        // From here on the unit of work reads this state.
        try expectEqual(try context.number(of: "Album"), 2)
        try stack.write { other in for album in try other.all("Album") { try album.setValue(5, for: "year") } }
        let kept = try keeper.performAndWait {
          let album = try keeper.one("Album", where: equal("title", "B"))
          try expectEqual(try album.value(for: "year", as: Int.self), 5)
          return album
        }
        let years = try context.all("Album").map { try $0.value(for: "year", as: Int.self) }
        withExtendedLifetime(kept) {}
        try expect(years == [4, 4] || years == [5, 5], "years of one moment, found \(years)")
      }
    }
    Case("a read after the context's own save sees the save") { stack in
      try stack.read { context in
        try expectEqual(try context.number(of: "Genre"), 0)
        try context.make("Genre", ["name": "Jazz"])
        try context.save()
        try expectEqual(try context.number(of: "Genre"), 1)
        try stack.read { try expectEqual(try $0.number(of: "Genre"), 1) }
      }
    }
    Case("a later unit of work sees other contexts' saves") { stack in
      let context = stack.context()
      try context.performAndWait { try expectEqual(try context.number(of: "Genre"), 0) }
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try context.performAndWait { try expectEqual(try context.number(of: "Genre"), 1) }
    }
    Case("a thrown error ends a snapshot") { stack in
      struct Stop: Error {}
      try stack.read { context in
        do {
          try context.withSnapshot {
            try expectEqual(try context.number(of: "Genre"), 0)
            throw Stop()
          }
        } catch is Stop {}
        try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
        try context.withSnapshot { try expectEqual(try context.number(of: "Genre"), 1) }
      }
    }
    Case("several snapshots are open at once") { stack in
      let contexts = (0..<5).map { _ in stack.context() }
      func open(_ index: Int) throws {
        guard index < contexts.count else { return }
        let context = contexts[index]
        try context.performAndWait {
          try context.withSnapshot {
            try expectEqual(try context.number(of: "Genre"), index)
            try stack.write { try $0.make("Genre", ["name": "\(index)"]) }
            try open(index + 1)
            try expectEqual(try context.number(of: "Genre"), index)
          }
        }
      }
      try open(0)
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 5) }
    }
    snapshotsOfHeldObjects
    savesBeforeFirstReads
  }
}

extension ConformanceSubject {
  /// Saves after a unit of work has merged the saves of others, and before its first read.
  @CasesBuilder static var savesBeforeFirstReads: [Case] {
    Case("a held object shows the lists and values of a save just before the unit's first read") { stack in
      try stack.write { try Music.fill($0) }
      let interposition = try stack.interpose()
      let held = try HeldAlbum(stack)
      interposition.beforeFetch {
        interposition.beforeFetch(nil)
        try held.change()
      }
      try held.expectChanged()
      // The changes are merged in a later unit.
      try held.expectChanged()
    }
    Case("a held object shows the lists of a save whose changes are not received at the unit's first read") { stack in
      try stack.write { try Music.fill($0) }
      let interposition = try stack.interpose()
      let held = try HeldAlbum(stack)
      interposition.afterSave { _ in
        interposition.afterSave(nil)
        try held.expectChanged()
      }
      try held.change()
      try held.expectChanged()
    }
    Case("a held object keeps the lists and values of the unit's first read after a later save") { stack in
      try stack.write { try Music.fill($0) }
      let held = try HeldAlbum(stack)
      try held.expectUnchanged {
        try held.change()
      }
      try held.expectChanged()
    }
  }

  /// A context with an album and its loaded lists, and the context that it follows.
  private final class HeldAlbum: @unchecked Sendable {
    // Sendable: the case uses the album in its context alone, and calls one function at a time.
    private let context: ManagedObjectContext
    private let saver: ManagedObjectContext
    private let album: ManagedObject

    init(_ stack: ConformanceStack) throws {
      (context, saver) = (stack.context(), stack.context())
      context.follow(saver)
      album = try context.performAndWait { [context] in
        let album = try context.one("Album", where: equal("title", "Debut"))
        try expectEqual(try album.labels(of: "tracks"), ["Human Behaviour", "Crying"])
        try expectEqual(try album.labels(of: "genres"), ["Pop"])
        return album
      }
    }

    /// Replaces the members of both lists, and changes a value.
    func change() throws {
      try saver.performAndWait {
        let album = try saver.one("Album", where: equal("title", "Debut"))
        try album.setValue(2000, for: "year")
        for track in try album.objects(for: "tracks") { saver.delete(track) }
        try album.setObjects([], for: "genres")
        try saver.save()
      }
    }

    func expectChanged() throws {
      try context.performAndWait {
        try expectEqual(
          try context.number(of: "Track", where: equal("album.title", "Debut")), 0, "the tracks in the store")
        _ = try context.one("Album", where: equal("title", "Debut"))
        try expectEqual(try album.labels(of: "tracks"), [], "the tracks of the album")
        try expectEqual(try album.labels(of: "genres"), [], "the genres of the album")
        try expectEqual(try album.value(for: "year", as: Int.self), 2000, "the year of the album")
      }
    }

    /// Expects the state of the first read in a block after work by others.
    func expectUnchanged(after body: () throws -> Void) throws {
      try context.performAndWait {
        try context.withSnapshot {
          try expectEqual(try context.number(of: "Track", where: equal("album.title", "Debut")), 2)
          try body()
          try expectEqual(try album.labels(of: "tracks"), ["Human Behaviour", "Crying"])
          try expectEqual(try album.labels(of: "genres"), ["Pop"])
          try expectEqual(try album.value(for: "year", as: Int.self), 1993)
        }
      }
    }
  }
}

extension ConformanceSubject {
  /// Snapshots of held objects, and of contexts that merge the saves of other contexts automatically.
  @CasesBuilder static var snapshotsOfHeldObjects: [Case] {
    Case("a snapshot of a context on its own thread merges no save until its end") { stack in
      try stack.write { context in for number in 0..<3 { try context.make("Album", ["title": "al\(number)"]) } }
      let saver = stack.context()
      let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: stack.coordinator)
      context.follow(saver)
      let held = try context.one("Album", where: equal("title", "al0"))
      try context.withSnapshot {
        try expectEqual(try context.number(of: "Album", where: equal("title", "al0")), 1)
        try saver.performAndWait {
          try saver.one("Album", where: equal("title", "al0")).setValue("NEW", for: "title")
          try saver.save()
        }
        let found = try context.all("Album", where: equal("title", "al0"))
        try expectEqual(try found.map { try $0.label }, ["al0"], "what a fetch in the snapshot shows")
        try expect(context.object(with: held.objectID) === held, "one instance")
        try expectEqual(try held.label, "al0", "what a held object shows in the snapshot")
      }
      try expectEqual(try context.names("Album"), ["NEW", "al1", "al2"], "what a fetch shows after the snapshot")
      try expectEqual(try held.label, "NEW", "what the held object shows after the snapshot")
    }
    Case("a snapshot shows its state of objects held before") { stack in
      try stack.write { try $0.make("Album", ["title": "old"]) }
      let context = stack.context()
      let held = try context.performAndWait {
        let album = try context.one("Album")
        try expectEqual(try album.label, "old")
        return album
      }
      try stack.write { try $0.one("Album").setValue("new", for: "title") }
      try context.performAndWait {
        try context.withSnapshot {
          try expectEqual(try context.number(of: "Album", where: equal("title", "new")), 1)
          try expectEqual(try held.label, "new")
          try stack.write { try $0.one("Album").setValue("newer", for: "title") }
          context.refresh(held, mergeChanges: true)
          try expectEqual(try held.label, "new", "the state of the snapshot")
        }
      }
    }
    Case("the context's own edit is kept in a snapshot") { stack in
      try stack.write { try $0.make("Album", ["title": "stored", "year": 1]) }
      try stack.read { context in
        let album = try context.one("Album")
        try album.setValue("edited", for: "title")
        try context.withSnapshot { try expectEqual(try album.label, "edited") }
        try expect(album.isUpdated, "the edit")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["edited"]) }
    }
    Case("changes received during a snapshot are not lost after a refresh of everything in the snapshot") { stack in
      try stack.write { try $0.make("Album", ["title": "old"]) }
      let saver = stack.context()
      let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: stack.coordinator)
      context.follow(saver)
      let held = try context.one("Album")
      try context.withSnapshot {
        try expectEqual(try held.label, "old")
        try saver.performAndWait {
          try saver.one("Album").setValue("new", for: "title")
          try saver.save()
        }
        context.refreshAll()
        try expectEqual(try held.label, "old", "the state of the snapshot")
      }
      try expectEqual(try context.number(of: "Album"), 1)
      try expectEqual(try held.label, "new", "what the held object shows after the snapshot")
    }
    Case("refreshing everything merges permanent identifiers from a parent's save") { stack in
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait {
        let album = try parent.make("Album", ["title": "A"])
        // Within one unit of work of the child: it takes nothing in by itself.
        try child.performAndWait {
          let own = try child.existingObject(with: album.objectID)
          try parent.save()
          child.refreshAll()
          try expect(!own.objectID.isTemporaryID, "a permanent identifier")
          try expectEqual(try own.label, "A")
        }
      }
    }
  }
}
