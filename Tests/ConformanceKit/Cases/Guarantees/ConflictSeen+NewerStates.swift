import CoherenceCore

/// Edits of a child that reads a save of another writer before its parent.
extension ConformanceSubject {
  private typealias Step = (ManagedObject, ManagedObjectContext) throws -> Void

  private static func setting(_ title: String) -> Step { { album, _ in try album.setValue(title, for: "title") } }

  private static func setting(year: Int) -> Step { { album, _ in try album.setValue(year, for: "year") } }

  private static func delete(_ album: ManagedObject, _ context: ManagedObjectContext) throws { context.delete(album) }

  /// The title and year of the only album; `nil` without one.
  private static func stored(_ stack: ConformanceStack) throws -> [AttributeValue]? {
    try stack.read { context in
      try context.all("Album").first.map { [try $0.value(for: "title"), try $0.value(for: "year")] }
    }
  }

  @CasesBuilder static var newerStatesOfChildren: [Case] {
    Case("a child's edit of a newer state than its parent has read is no conflict when the parent saves") { stack in
      let edits: [(edit: Step, result: [AttributeValue]?)] = [
        (setting("mine"), [.string("mine"), .int(1)]),
        // The value in the state of the parent.
        (setting("A"), [.string("A"), .int(1)]),
        (setting(year: 2), [.string("theirs"), .int(2)]),
        (delete, nil),
      ]
      for policy in [MergePolicy.error, .storeTrumps, .objectTrumps, .rollback] {
        for (edit, result) in edits {
          try over(stack, edit) { parent in
            parent.mergePolicy = policy
            try parent.save()
            try expect(!parent.hasChanges, "nothing left to save")
          }
          try expectEqual(try stored(stack), result)
          try stack.write { context in for album in try context.all("Album") { context.delete(album) } }
        }
      }
    }
    Case("a save after the state that a child has read is a conflict when the parent saves") { stack in
      try over(stack, setting("mine")) { parent in
        try stack.write { try $0.one("Album").setValue("later", for: "title") }
        let error = try expectThrows(.versionConflict) { try parent.save() }
        let conflict = try unwrap(error.conflicts.first, "a conflict")
        let slot = try unwrap(try parent.one("Album").entity.attribute(named: "title")).slot
        try expectEqual(conflict.ancestor?[slot], .string("theirs"))
        parent.mergePolicy = .storeTrumps
        try parent.save()
      }
      try expectEqual(try stored(stack), [.string("later"), .int(1)])
    }
    Case("a parent's own edit of an older state than its child has read is a conflict when the parent saves") { stack in
      let edits: [Step] = [setting("own"), delete]
      for edit in edits {
        try over(stack, setting(year: 2)) { parent in
          try edit(try parent.one("Album"), parent)
          try expectThrows(.versionConflict) { try parent.save() }
        }
        try expectEqual(try stored(stack), [.string("theirs"), .int(1)])
        try stack.write { $0.delete(try $0.one("Album")) }
      }
    }
    Case("a child's edit of a newer state passes through a parent of its parent without a conflict") { stack in
      for title in ["mine", "A"] {
        try over(stack, setting(title), isDeep: true) { try $0.save() }
        try expectEqual(try stored(stack), [.string(title), .int(1)])
        try stack.write { $0.delete(try $0.one("Album")) }
      }
    }
    Case("a child's order of a list that its parent has read in an older order is saved") { stack in
      for (list, policy) in [(OrderedList.tracks, MergePolicy.error), (.band, .storeTrumps), (.playlist, .error)] {
        try list.fill(stack, ["a", "b", "c", "d"])
        let parent = stack.context(policy)
        let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
        try parent.performAndWait {
          let owner = try parent.one(list.owner)
          try expectEqual(try owner.labels(of: list.relationship), ["a", "b", "c", "d"])
          try stack.write { moveLastToFront(try list.list($0), $0) }
          try child.performAndWait {
            try list.list(child).move(from: 1, to: 3)
            try child.save()
          }
          try parent.save()
        }
        try expectEqual(try list.stored(stack), ["d", "b", "c", "a"])
      }
    }
  }

  /// Lets a child read and change an album that another context has changed since the parent has read it, in the middle
  /// of a block of the parent.
  ///
  /// - Parameter isDeep: Whether the child saves into a context between it and the parent.
  private static func over(
    _ stack: ConformanceStack, _ change: Step, isDeep: Bool = false, then: (ManagedObjectContext) throws -> Void
  ) throws {
    try stack.write { try $0.make("Album", ["title": "A", "year": 1]) }
    let parent = stack.context()
    let middle = isDeep ? ManagedObjectContext(concurrencyType: .privateQueue, parent: parent) : parent
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: middle)
    try parent.performAndWait {
      let shown = try parent.one("Album")
      try shown.load()
      try middle.performAndWait {
        let album = try middle.one("Album")
        try album.load()
        try stack.write { try $0.one("Album").setValue("theirs", for: "title") }
        try child.performAndWait {
          let album = try child.one("Album")
          try expectEqual(try album.label, "theirs", "what the child has read")
          try change(album, child)
          try child.save()
        }
        if isDeep { try middle.save() }
        withExtendedLifetime(album) {}
      }
      withExtendedLifetime(shown) {}
      try then(parent)
    }
  }
}
