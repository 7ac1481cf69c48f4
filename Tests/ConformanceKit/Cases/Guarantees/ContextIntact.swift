import CoherenceCore

extension ConformanceSubject {
  static let contextIntact = ConformanceSubject("Context intact") {
    kept
    repaired
  }

  /// After a save that failed, the context is as it was before, and passes once the cause is gone.
  private static func intact(
    _ sentence: String, _ code: ErrorCode,
    spoil: @escaping @Sendable (ManagedObjectContext, ConformanceStack) throws -> Void,
    repair: @escaping @Sendable (ManagedObjectContext, ConformanceStack) throws -> Void
  ) -> Case {
    Case("after a save that failed \(sentence), the context is as it was") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let inserted = try context.make("Album", ["title": "new"])
        let updated = try context.one("Album", where: equal("title", "Debut"))
        let deleted = try context.one("Album", where: equal("title", "Kind of Blue"))
        try inserted.setObject(try context.one("Artist", where: equal("name", "nina")), for: "artist")
        try updated.setValue("changed", for: "title")
        try updated.setObjects([try context.one("Genre", where: equal("name", "Rock"))], for: "genres")
        context.delete(deleted)
        try context.processPendingChanges()
        try spoil(context, stack)
        let before = try State(context)
        try expectThrows(code) { try context.save() }
        try expectEqual(try State(context), before, "the context's state")
        try expect(inserted.isInserted && updated.isUpdated && deleted.isDeleted, "the objects' states")
        try expectEqual(updated.changedValues()["title"], .string("changed"))
        try repair(context, stack)
        try context.save()
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Album", where: equal("title", "new")).object(for: "artist")?.label, "nina")
        try expectEqual(try context.one("Album", where: equal("title", "changed")).labels(of: "genres"), ["Rock"])
        try expectEqual(try context.number(of: "Album", where: equal("title", "Kind of Blue")), 0)
        try expectEqual(try context.number(of: "Track", where: equal("title", "So What")), 0)
      }
    }
  }

  /// The unsaved changes of a context.
  private struct State: Equatable {
    let inserted: Set<ManagedObject>, updated: Set<ManagedObject>, deleted: Set<ManagedObject>
    let titles: [String], genres: [String]

    init(_ context: ManagedObjectContext) throws {
      titles = try context.names("Album")
      genres = try context.one("Genre", where: equal("name", "Rock")).labels(of: "albums")
      inserted = context.insertedObjects
      updated = context.updatedObjects
      deleted = context.deletedObjects
    }
  }

  @CasesBuilder private static var kept: [Case] {
    intact("on validation", .validationFailed) { context, _ in
      try context.make("Genre")
    } repair: { context, _ in
      for genre in context.insertedObjects where genre.entity.name == "Genre" { try genre.setValue("x", for: "name") }
    }
    intact("on uniqueness", .uniquenessViolated) { context, _ in
      try context.make("Genre", ["name": "Pop"])
    } repair: { context, _ in
      for genre in context.insertedObjects where genre.entity.name == "Genre" { context.delete(genre) }
    }
    intact("on a version", .versionConflict) { _, stack in
      try stack.write { try $0.one("Album", where: equal("title", "Debut")).setValue(2000, for: "year") }
    } repair: { context, _ in
      for album in context.updatedObjects where album.entity.name == "Album" {
        context.refresh(album, mergeChanges: true)
      }
    }
  }

  @CasesBuilder private static var repaired: [Case] {
    Case("a save fails while the store is full, and passes once the store has room again") { stack in
      let interposition = try stack.interpose()
      try stack.read { context in
        try Music.fill(context)
        interposition.beforeSave { _ in throw CoherenceError(.storeFull, "The disk is full.") }
        for _ in 0..<2 { try expectThrows(.storeFull) { try context.save() } }
        try expectEqual(context.insertedObjects.filter { $0.entity.name == "Album" }.count, 8)
        interposition.beforeSave(nil)
        try context.save()
        try expect(!context.hasChanges, "nothing to save")
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.number(of: "Album"), 8) }
    }
    Case("after a save that failed, a rollback leads back to the store's state") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        try context.one("Genre").setValue("Pop", for: "name")
        try context.make("Genre", ["name": "Pop"])
        try expectThrows(.uniquenessViolated) { try context.save() }
        context.rollback()
        try expect(!context.hasChanges, "nothing to save")
        try expectEqual(try context.names("Genre"), ["Jazz"])
        try context.save()
      }
    }
    Case("after a failed save the context remains usable") { stack in
      try stack.read { context in
        let genre = try context.make("Genre")
        try expectThrows(.validationFailed) { try context.save() }
        let id = genre.objectID
        try genre.setValue("Jazz", for: "name")
        try context.make("Genre", ["name": "Pop"])
        try context.save()
        try expect(try context.existingObject(with: id) === genre, "the object by its old identifier")
        try expectEqual(try context.names("Genre"), ["Jazz", "Pop"])
      }
    }
    Case("a fetch that fails leaves the context usable") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let interposition = try stack.interpose()
      try stack.read { context in
        try context.make("Genre", ["name": "Pop"])
        interposition.beforeFetch { throw CoherenceError(.inputOutput, "The disk failed.") }
        try expectThrows(.inputOutput) { try context.all("Genre") }
        interposition.beforeFetch(nil)
        try expectEqual(try context.names("Genre"), ["Jazz", "Pop"])
        try context.save()
      }
    }
    Case("a fault that could not be loaded is loaded later") { stack in
      let id = try stack.write { context in
        let genre = try context.make("Genre", ["name": "Jazz"])
        try context.obtainPermanentIDs(for: [genre])
        return genre.objectID
      }
      let interposition = try stack.interpose()
      try stack.read { context in
        let genre = context.object(with: id)
        interposition.beforeFetch { throw CoherenceError(.inputOutput, "The disk failed.") }
        try expectThrows(.inputOutput) { try genre.load() }
        interposition.beforeFetch(nil)
        try expectEqual(try genre.label, "Jazz")
      }
    }
  }
}
