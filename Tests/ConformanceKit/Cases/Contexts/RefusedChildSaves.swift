import CoherenceCore

extension ConformanceSubject {
  /// A child's save that its parent refuses changes neither of them.
  static let refusedChildSaves = ConformanceSubject("Refused child saves") {
    Case("a child's save of a record that the parent deleted changes nothing in the parent") { stack in
      try stack.write { context in for title in ["A", "B", "C"] { try context.make("Album", ["title": title]) } }
      try stack.nested { parent, child in
        for album in try child.all("Album") { try album.setValue("child's", for: "title") }
        try child.make("Album", ["title": "D"])
        parent.delete(try parent.one("Album", where: equal("title", "B")))
        try parent.processPendingChanges()
        _ = try expectThrows(.versionConflict) { try child.save() }
        try expectEqual(try parent.names("Album"), ["A", "C"])
        try expect(parent.insertedObjects.isEmpty && parent.updatedObjects.isEmpty, "the parent's own changes only")
        try expectEqual(parent.deletedObjects.count, 1)
        try expect(child.hasChanges, "the child's changes to stay")
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["A", "C"]) }
    }
    Case("a child's save with failing reads changes nothing in the parent") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      let interposition = try stack.interpose()
      try stack.nested { parent, child in
        for album in try child.all("Album") { try album.setValue("child's", for: "title") }
        try child.make("Album", ["title": "C"])
        interposition.beforeFetch { throw CoherenceError(.inputOutput, "The disk failed.") }
        let outcome = Result { try child.save() }
        interposition.beforeFetch(nil)
        // A parent with loaded rows does not read.
        if case .failure = outcome {
          try expect(!parent.hasChanges && child.hasChanges, "nothing to reach the parent")
          try child.save()
        }
        try expectEqual(try parent.names("Album"), ["C", "child's", "child's"])
      }
    }
    Case("a save past the parent refuses an edit of a record that the parent has not saved") {
      try refusesUnsavedRecordOfParent($0, deletes: false)
    }
    Case("a save past the parent refuses a delete of a record that the parent has not saved") {
      try refusesUnsavedRecordOfParent($0, deletes: true)
    }
    deletedInParents
    discardedMeanwhile
    Case("a child that mended a refused save saves all of its changes") { stack in
      try stack.write { context in for title in ["A", "B"] { try context.make("Album", ["title": title]) } }
      try stack.nested { parent, child in
        let albums = try child.all("Album", sort: [SortKey("title")])
        for album in albums { try album.setValue("child's", for: "title") }
        parent.delete(try parent.one("Album", where: equal("title", "B")))
        try parent.processPendingChanges()
        _ = try expectThrows(.versionConflict) { try child.save() }
        parent.rollback()
        try child.save()
        try expectEqual(try parent.names("Album"), ["child's", "child's"])
        try parent.save()
      }
      try stack.read { try expectEqual(try $0.names("Album"), ["child's", "child's"]) }
    }
  }

  /// A fetch of a child while its parent discards an unsaved record.
  private static let discardedMeanwhile = Case(
    "a child's condition on members does not fail for a record that its parent discards during the fetch"
  ) { stack in
    try stack.write { try $0.make("Genre", ["name": "g"]) }
    let interposition = try stack.interpose()
    let parent = stack.context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    try parent.performAndWait {
      try parent.make("Album", ["title": "draft"]).setObjects([try parent.one("Genre")], for: "genres")
    }
    try child.performAndWait {
      interposition.beforeFetch {
        interposition.beforeFetch(nil)
        parent.performAndWait { parent.rollback() }
      }
      _ = try child.names("Album", where: members(.any, "genres", equal("name", "g")))
      try expectEqual(try child.names("Album", where: members(.any, "genres", equal("name", "g"))), [])
    }
  }

  private static func refusesUnsavedRecordOfParent(_ stack: ConformanceStack, deletes: Bool) throws {
    try stack.write { try $0.make("Album", ["title": "stored"]) }
    let parent = stack.context()
    let child = ManagedObjectContext(concurrencyType: .privateQueue, parent: parent)
    child.savesPastParent = true
    try parent.performAndWait { _ = try parent.make("Album", ["title": "draft"]) }
    try child.performAndWait {
      let draft = try child.one("Album", where: equal("title", "draft"))
      try child.one("Album", where: equal("title", "stored")).setValue(1, for: "year")
      if deletes { child.delete(draft) } else { try draft.setValue(1, for: "year") }
      let error = try expectThrows(.danglingReference) { try child.save() }
      try expectEqual(error.objectIDs, [draft.objectID])
      try expect(child.hasChanges, "the child's changes to stay")
    }
    try expectEqual(try stack.read { try $0.number(of: "Album", where: equal("year", 1)) }, 0)
    try parent.performAndWait { try parent.save() }
    try child.performAndWait { try child.save() }
    try expectEqual(try stack.read { try $0.number(of: "Album", where: equal("year", 1)) }, deletes ? 1 : 2)
    try expectEqual(try stack.read { try $0.number(of: "Album") }, deletes ? 1 : 2)
  }
}
