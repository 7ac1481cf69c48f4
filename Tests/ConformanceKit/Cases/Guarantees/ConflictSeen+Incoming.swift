import CoherenceCore

/// Edits of a context and saves of others that come in before the context saves.
extension ConformanceSubject {
  @CasesBuilder static var incomingConflicts: [Case] {
    overtakenEdits
    mergedEdits
    endedConflicts
    deletesAndEdits
    conflictsOfChildren
    newerStatesOfChildren
  }

  private typealias Step = (ManagedObject, ManagedObjectContext) throws -> Void

  /// Edits a saved album in a context that follows another one, saves changes in the other one, and continues in the
  /// first.
  private static func follow(
    _ stack: ConformanceStack, edit: Step, saves: [Step], then: Step
  ) throws {
    try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
    let (writer, follower) = (stack.context(), stack.context())
    follower.follow(writer)
    let album = try follower.performAndWait { () -> ManagedObject in
      let album = try follower.one("Album")
      try album.load()
      try edit(album, follower)
      return album
    }
    for save in saves {
      try writer.performAndWait {
        try save(try writer.one("Album"), writer)
        try writer.save()
      }
    }
    try follower.performAndWait { try then(album, follower) }
  }

  private static func setting(_ title: String) -> Step { { album, _ in try album.setValue(title, for: "title") } }

  private static func setting(year: Int) -> Step { { album, _ in try album.setValue(year, for: "year") } }

  private static func delete(_ album: ManagedObject, _ context: ManagedObjectContext) throws { context.delete(album) }

  /// The title and year of the only album; `nil` without one.
  private static func stored(_ stack: ConformanceStack) throws -> [AttributeValue]? {
    try stack.read { context in
      try context.all("Album").first.map { [try $0.value(for: "title"), try $0.value(for: "year")] }
    }
  }

  // MARK: Edits of one property

  @CasesBuilder private static var overtakenEdits: [Case] {
    Case("a property edited here and changed by a merged save is a conflict") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs")]) { album, context in
        try expectEqual(try album.label, "mine", "what the context shows")
        let error = try expectThrows(.versionConflict) { try context.save() }
        let conflict = try unwrap(error.conflicts.first, "a conflict")
        let slot = try unwrap(album.entity.attribute(named: "title")).slot
        try expectEqual(conflict.ancestor?[slot], .string("A"))
        try expectEqual(conflict.mine?[slot], .string("mine"))
        try expectEqual(conflict.store?[slot], .string("theirs"))
        try expectEqual([conflict.ancestor?.version, conflict.store?.version], [1, 2])
        try expect(context.hasChanges, "the edit to be kept")
      }
      try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
    }
    Case("the merge policy resolves a conflict with a merged save") { stack in
      let outcomes: [(MergePolicy, title: String, year: Int64)] = [
        (.storeTrumps, "theirs", 2), (.objectTrumps, "mine", 2), (.overwrite, "mine", 2), (.rollback, "theirs", 1),
        (.custom { $0.ancestor?.values }, "A", 1),
      ]
      for (policy, title, year) in outcomes {
        try follow(
          stack,
          edit: { album, _ in
            try album.setValue("mine", for: "title")
            try album.setValue(2, for: "year")
          }, saves: [setting("theirs")]
        ) { album, context in
          context.mergePolicy = policy
          try context.save()
          try expect(!context.hasChanges, "nothing left to save")
          try expectEqual(try album.label, title)
        }
        try expectEqual(try stored(stack), [.string(title), .int(year)])
        try stack.write { $0.delete(try $0.one("Album")) }
      }
    }
    Case("an edit repeated after a merged save is still a conflict") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs")]) { album, context in
        try album.setValue("mine too", for: "title")
        try expectThrows(.versionConflict) { try context.save() }
        // Back to the value that the edit began with: the other writer's is unknown to it as well.
        try album.setValue("A", for: "title")
        try expectThrows(.versionConflict) { try context.save() }
      }
      try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
    }
    Case("a to-one relationship changed here and by a merged save is a conflict") { stack in
      try stack.write { context in for name in ["x", "y"] { try context.make("Artist", ["name": name]) } }
      func playing(_ name: String) -> Step {
        { album, context in
          try album.setObject(try context.one("Artist", where: equal("name", name)), for: "artist")
        }
      }
      try follow(stack, edit: playing("x"), saves: [playing("y")]) { album, context in
        try expectEqual(try album.object(for: "artist")?.label, "x")
        try expectThrows(.versionConflict) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.one("Album").object(for: "artist")?.label, "y") }
    }
    Case("a merged batch update of an edited property is a conflict") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let context = stack.context()
      try context.performAndWait { try context.one("Album").setValue("mine", for: "title") }
      var changes = ChangeSet()
      let other = stack.context()
      changes.refreshed = try other.performAndWait {
        try other.execute(BatchUpdateRequest(entityName: "Album", values: ["title": "theirs"]))
      }
      context.mergeChanges(fromContextDidSave: changes)
      try context.performAndWait {
        try expectEqual(try context.one("Album").label, "mine")
        try expectThrows(.versionConflict) { try context.save() }
      }
      try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
    }
  }

  // MARK: No conflict

  @CasesBuilder private static var mergedEdits: [Case] {
    Case("edits of different properties are merged as a save comes in") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting(year: 2)]) { album, context in
        try expectEqual(try album.value(for: "year"), .int(2))
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("mine"), .int(2)])
    }
    Case("an edit of a value that a merged save brought is no conflict") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting(year: 2)]) { album, context in
        try album.setValue(3, for: "year")
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("mine"), .int(3)])
    }
    Case("two merged saves, the second of which restores the value, are no conflict") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs"), setting("A")]) { _, context in
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("mine"), .int(1)])
    }
    Case("a merged save with the value of the edit is no conflict") { stack in
      try follow(stack, edit: setting("both"), saves: [setting("both"), setting("theirs")]) { album, context in
        try expectEqual(try album.label, "theirs")
        try expect(!context.hasChanges, "no edit left")
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
    }
    Case("an edit changed to the value of the merged save is no conflict") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs")]) { album, context in
        try album.setValue("theirs", for: "title")
        try expect(!context.hasChanges, "no edit left")
        try album.setValue("mine after all", for: "title")
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("mine after all"), .int(1)])
    }
  }

  // MARK: The end of a conflict

  @CasesBuilder private static var endedConflicts: [Case] {
    Case("a refresh with merging ends a conflict with a merged save") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs")]) { album, context in
        try expectThrows(.versionConflict) { try context.save() }
        context.refresh(album, mergeChanges: true)
        try expectEqual(try album.label, "mine")
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("mine"), .int(1)])
    }
    Case("a refresh of everything ends a conflict with a merged save") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs")]) { album, context in
        context.refreshAll()
        try expectEqual(try album.label, "mine")
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("mine"), .int(1)])
    }
    Case("a rollback ends a conflict with a merged save") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs")]) { album, context in
        context.rollback()
        try expectEqual(try album.label, "theirs")
        try album.setValue("mine now", for: "title")
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("mine now"), .int(1)])
    }
    Case("a refresh without merging ends a conflict with a merged save") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs")]) { album, context in
        context.refresh(album, mergeChanges: false)
        try expectEqual(try album.label, "theirs")
        try expect(!context.hasChanges, "nothing to save")
      }
    }
  }

  // MARK: Deletes

  @CasesBuilder private static var deletesAndEdits: [Case] {
    Case("a record deleted here and changed by a merged save is a conflict") { stack in
      try follow(stack, edit: delete, saves: [setting("theirs")]) { _, context in
        let error = try expectThrows(.versionConflict) { try context.save() }
        try expect(error.conflicts.count == 1 && error.conflicts[0].mine == nil, "a conflict without a row of mine")
      }
      try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
    }
    Case("a record deleted here and changed by a merged batch update is a conflict") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let context = stack.context()
      try context.performAndWait { context.delete(try context.one("Album")) }
      var changes = ChangeSet()
      let other = stack.context()
      changes.refreshed = try other.performAndWait {
        try other.execute(BatchUpdateRequest(entityName: "Album", values: ["title": "theirs"]))
      }
      context.mergeChanges(fromContextDidSave: changes)
      try context.performAndWait { _ = try expectThrows(.versionConflict) { try context.save() } }
      try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
    }
    Case("a record edited here and deleted by a merged save is a conflict") { stack in
      try follow(stack, edit: setting("mine"), saves: [delete]) { album, context in
        try expectEqual(try album.label, "mine")
        let error = try expectThrows(.versionConflict) { try context.save() }
        try expect(error.conflicts.count == 1 && error.conflicts[0].store == nil, "a conflict without a store row")
        context.mergePolicy = .objectTrumps
        try context.save()
      }
      try expectEqual(try stored(stack), [.string("mine"), .int(1)])
    }
    Case("a delete over an edit that a save overtook is a conflict") { stack in
      try follow(stack, edit: setting("mine"), saves: [setting("theirs")]) { album, context in
        context.delete(album)
        try expectThrows(.versionConflict) { try context.save() }
        context.mergePolicy = .objectTrumps
        try context.save()
      }
      try expectEqual(try stored(stack), nil)
    }
  }

  // MARK: Child contexts

  @CasesBuilder private static var conflictsOfChildren: [Case] {
    Case("a child's edit of an older value than its parent has is a conflict when the parent saves") { stack in
      try under(stack, setting("mine")) { parent in
        try expectEqual(try parent.one("Album").label, "mine")
        let error = try expectThrows(.versionConflict) { try parent.save() }
        let conflict = try unwrap(error.conflicts.first, "a conflict")
        try expectEqual([conflict.ancestor?.version, conflict.store?.version], [1, 2])
        parent.mergePolicy = .storeTrumps
        try parent.save()
      }
      try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
    }
    Case("a child's edit is merged if the parent has a newer value of another property only") { stack in
      try under(stack, setting(year: 2)) { try $0.save() }
      try expectEqual(try stored(stack), [.string("theirs"), .int(2)])
    }
    Case("a child's delete of an older state than its parent has is a conflict when the parent saves") { stack in
      try under(stack, delete) { parent in _ = try expectThrows(.versionConflict) { try parent.save() } }
      try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
    }
    Case("a number to which a child and another writer have counted at once is a conflict of the parent") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let (writer, parent) = (stack.context(), stack.context())
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait { try child.one("Album").setValue(2, for: "year") }
      try writer.performAndWait {
        try writer.one("Album").setValue(2, for: "year")
        try writer.save()
      }
      try child.performAndWait { try child.save() }
      try parent.performAndWait {
        let error = try expectThrows(.versionConflict) { try parent.save() }
        let conflict = try unwrap(error.conflicts.first, "a conflict")
        let slot = try unwrap(conflict.objectID.entity.attribute(named: "year")).slot
        let years: [AttributeValue?] = [conflict.ancestor, conflict.mine, conflict.store].map { $0?[slot] }
        try expectEqual(years, [.int(1), .int(2), .int(2)])
        parent.rollback()
      }
      try expectEqual(try stored(stack), [.string("A"), .int(2)])
    }
    Case("a child's edit of a property that its parent edited before and saved since is no conflict") { stack in
      try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try parent.performAndWait { try parent.one("Album").setValue("parent", for: "title") }
      try child.performAndWait { try child.one("Album").setValue("child", for: "title") }
      try parent.performAndWait { try parent.save() }
      try child.performAndWait { try child.save() }
      try parent.performAndWait { try parent.save() }
      try expectEqual(try stored(stack), [.string("child"), .int(1)])
    }
  }

  /// Lets a child change an album after another context has changed it, and saves the child into its parent, which
  /// follows the other context.
  private static func under(
    _ stack: ConformanceStack, _ change: Step, then: (ManagedObjectContext) throws -> Void
  ) throws {
    try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
    let (writer, parent) = (stack.context(), stack.context())
    parent.follow(writer)
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    let shown = try parent.performAndWait { () -> ManagedObject in
      let album = try parent.one("Album")
      try album.load()
      return album
    }
    try child.performAndWait {
      let album = try child.one("Album")
      try album.load()
      try change(album, child)
    }
    try writer.performAndWait {
      try writer.one("Album").setValue("theirs", for: "title")
      try writer.save()
    }
    try parent.performAndWait { try expectEqual(try shown.label, "theirs", "what the parent has taken in") }
    try child.performAndWait { try child.save() }
    try parent.performAndWait { try then(parent) }
  }
}
