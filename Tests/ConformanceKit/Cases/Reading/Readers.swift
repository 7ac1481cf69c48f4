import CoherenceCore

extension ConformanceSubject {
  static let readers = ConformanceSubject("Readers") {
    Case("a save after a fetch and a delete asks for nothing while a reader is open") { stack in
      try expectNoOverlap(stack) { context in
        for album in try context.all("Album") { context.delete(album) }
        try context.save()
      }
    }
    Case("a save that links and reorders members asks for nothing while a reader is open") { stack in
      try expectNoOverlap(stack) { context in
        let albums = try context.all("Album")
        try context.make("Genre", ["name": "fresh"]).setObjects(albums, for: "albums")
        let band = try context.one("Band", where: equal("name", "Can"))
        try band.setObjects(try context.all("Artist").reversed(), for: "members")
        try context.save()
      }
    }
    Case("permanent identifiers are set aside while no reader is open") { stack in
      try expectNoOverlap(stack) { context in
        _ = try context.all("Album")
        // More keys than any block allocated before.
        try context.obtainPermanentIDs(for: try (0..<5000).map { try context.make("Track", ["title": "\($0)"]) })
      }
    }
    Case("a save into a parent context is read by the parent while no reader of the child is open") { stack in
      try stack.write { try Music.fill($0) }
      let interposition = try stack.interpose()
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      try child.performAndWait {
        try child.one("Album", where: equal("title", "Debut")).setValue(2000, for: "year")
        try child.save()
      }
      try parent.performAndWait { try parent.save() }
      try expectEqual(interposition.overlapCount, 0, "the number of overlaps")
    }
    Case("a parent reads no record of a child's save while a reader is open with which the child's policy has read") {
      stack in
      try stack.write { try Music.fill($0) }
      let interposition = try stack.interpose()
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.mergePolicy = .custom { [unowned child] conflict in
        _ = try child.number(of: "Album")
        return conflict.mine?.values
      }
      try child.performAndWait {
        for title in ["Debut", "Arrival"] {
          try child.one("Album", where: equal("title", title)).setValue(2000, for: "year")
        }
      }
      try parent.performAndWait {
        parent.delete(try parent.one("Album", where: equal("title", "Debut")))
        try parent.processPendingChanges()
      }
      try child.performAndWait { try child.save() }
      try parent.performAndWait { try expectEqual(try parent.number(of: "Album", where: equal("year", 2000)), 2) }
      try expectEqual(interposition.overlapCount, 0, "the number of overlaps")
    }
    Case("a save past the parents asks for nothing while a reader is open") { stack in
      try stack.write { try Music.fill($0) }
      let interposition = try stack.interpose()
      let parent = stack.context()
      let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
      child.savesPastParent = true
      try child.performAndWait {
        child.delete(try child.one("Album", where: equal("title", "Debut")))
        try child.one("Album", where: equal("title", "Arrival")).setValue(2000, for: "year")
        try child.save()
      }
      try expectEqual(interposition.overlapCount, 0, "the number of overlaps")
    }
    Case("a batch request asks for nothing while a reader is open") { stack in
      try expectNoOverlap(stack) { context in
        _ = try context.all("Album")
        try context.execute(BatchDeleteRequest(entityName: "Album", predicate: equal("title", "Debut")))
        _ = try context.all("Album")
        try context.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 2000]))
      }
    }
    Case("a failed save leaves no reader open") { stack in
      try stack.write { try Music.fill($0) }
      let interposition = try stack.interpose()
      interposition.beforeSave { _ in throw CoherenceError(.inputOutput, "The disk is full.") }
      try stack.read { context in
        context.delete(try context.one("Album", where: equal("title", "Debut")))
        try expectThrows(.inputOutput) { try context.save() }
        interposition.beforeSave(nil)
        try context.save()
      }
      try expectEqual(interposition.overlapCount, 0, "the number of overlaps")
    }
  }

  private static func expectNoOverlap(
    _ stack: ConformanceStack, _ body: (ManagedObjectContext) throws -> Void
  ) throws {
    try stack.write { try Music.fill($0) }
    let interposition = try stack.interpose()
    try stack.read(body)
    try expectEqual(interposition.overlapCount, 0, "the number of overlaps")
  }
}
