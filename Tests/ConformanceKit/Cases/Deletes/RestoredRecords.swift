import CoherenceCore

extension ConformanceSubject {
  /// Records that a save restores, because another writer has deleted them and the merge policy prefers the saver.
  static let restoredRecords = ConformanceSubject("Restored records") {
    Case("a record that a save restores keeps its relationship to an inserted record", model: Rooms.model) { stack in
      try stack.write { try $0.make("Guest", ["name": "m"]) }
      try stack.read { context in
        context.mergePolicy = .objectTrumps
        let guest = try context.one("Guest")
        let house = try context.make("House", ["name": "h"])
        try guest.setObject(house, for: "house")
        try stack.write { $0.delete(try $0.one("Guest")) }
        try context.save()
        try expectEqual(try guest.object(for: "house")?.label, "h")
        try expectEqual(try house.labels(of: "guests"), ["m"])
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Guest").object(for: "house")?.label, "h") }
    }
    Case("a restored record shows its values in a context that has read it between the edit and the delete") { stack in
      try withRestored(stack) { reader, album in
        try reader.performAndWait {
          try expectEqual(try album.label, "mine")
          try expectEqual(try album.value(for: "year", as: Int?.self), nil)
          try expectEqual(try reader.names("Album", where: equal("title", "mine")), ["mine"])
          try album.setValue(3, for: "year")
          try reader.save()
        }
        try stack.read { try expectEqual(try $0.one("Album").value(for: "year", as: Int.self), 3) }
      }
    }
    Case("an edit from before the delete is in conflict with the restored record") { stack in
      try withRestored(stack, follows: false) { reader, album in
        try reader.performAndWait {
          try album.setValue("reader's", for: "title")
          try expectThrows(.versionConflict) { try reader.save() }
        }
        try stack.read { try expectEqual(try $0.names("Album"), ["mine"]) }
      }
    }
    Case("a record that was restored is edited, deleted and restored again") { stack in
      try withRestored(stack) { reader, album in
        try reader.performAndWait { try album.setValue("reader's", for: "title") }
        try stack.write { $0.delete(try $0.one("Album")) }
        try reader.performAndWait {
          reader.mergePolicy = .objectTrumps
          try reader.save()
          try expectEqual(try album.label, "reader's")
        }
        try stack.reopen()
        try stack.read { try expectEqual(try $0.names("Album"), ["reader's"]) }
      }
    }
    Case("a record that another writer restores before the save restores it is in conflict with the restored record") {
      stack in
      try stack.write { try $0.make("Album", ["title": "A"]) }
      let other = stack.context(.objectTrumps)
      try other.performAndWait { try other.one("Album").setValue(7, for: "year") }
      let policy = MergePolicy.custom { conflict in
        guard var values = conflict.store?.values, let mine = conflict.mine,
          let title = mine.entity.attribute(named: "title")?.slot
        else {
          try other.performAndWait { try other.save() }
          return conflict.mine?.values
        }
        values[title] = mine[title]
        return values
      }
      let saver = stack.context(policy)
      try saver.performAndWait { try saver.one("Album").setValue("mine", for: "title") }
      try stack.write { $0.delete(try $0.one("Album")) }
      try saver.performAndWait {
        try saver.save()
        let album = try saver.one("Album")
        try expectEqual(try album.label, "mine")
        try expectEqual(try album.value(for: "year", as: Int?.self), 7)
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.names("Album"), ["mine"])
        try expectEqual(try context.one("Album").value(for: "year", as: Int?.self), 7)
      }
    }
  }

  /// Restores a record: a context edits it, another writer edits and deletes it, and the context saves. A reader
  /// has read the record before the delete.
  ///
  /// - Parameter follows: Whether the reader merges the save.
  private static func withRestored(
    _ stack: ConformanceStack, follows: Bool = true,
    _ body: (_ reader: ManagedObjectContext, _ album: ManagedObject) throws -> Void
  ) throws {
    try stack.write { try $0.make("Album", ["title": "A"]) }
    let saver = stack.context()
    let reader = stack.context()
    if follows { reader.follow(saver) }
    try saver.performAndWait {
      saver.mergePolicy = .objectTrumps
      try saver.one("Album").setValue("mine", for: "title")
    }
    try stack.write { try $0.one("Album").setValue(1, for: "year") }
    let album = try reader.performAndWait { try reader.one("Album") }
    try stack.write { $0.delete(try $0.one("Album")) }
    try saver.performAndWait { try saver.save() }
    try body(reader, album)
  }
}
