import CoherenceCore

extension ConformanceSubject {
  static let costFollowsTheChange = ConformanceSubject("Cost follows the change") {
    Case("refreshing many changed objects reads them together") { stack in
      let interposition = try filled(stack)
      try stack.read { context in
        let albums = try context.all("Album")
        for album in albums { try album.setValue(1, for: "year") }
        let before = interposition.fetchCount
        context.refreshAll()
        try expect(interposition.fetchCount - before <= 4, "some reads, not one for each of \(albums.count)")
        try expectEqual(context.updatedObjects.count, albums.count)
      }
    }
    Case("a context with many changes merges other contexts' changes with few reads") { stack in
      let interposition = try filled(stack)
      let context = stack.context()
      // Kept: released and unchanged objects need not be read at all.
      try context.performAndWait {
        for album in try context.all("Album") { try album.setValue(1, for: "year") }
      }
      var changes = ChangeSet()
      let other = stack.context()
      changes.refreshed = try other.performAndWait {
        try other.execute(BatchUpdateRequest(entityName: "Album", values: ["title": "new"]))
      }
      let before = interposition.fetchCount
      context.mergeChanges(fromContextDidSave: changes)
      try context.performAndWait {
        try expect(interposition.fetchCount - before <= 4, "some reads, not one for each record")
        try expectEqual(try context.all("Album", where: equal("title", "new")).count, 200)
      }
    }
    Case("a child's save of many records loads them into the parent together") { stack in
      let interposition = try filled(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(parent: parent)
      try child.performAndWait {
        for album in try child.all("Album") { try album.setValue(1, for: "year") }
        let before = interposition.fetchCount
        try child.save()
        try expect(interposition.fetchCount - before <= 4, "some reads, not one for each record")
      }
      try parent.performAndWait { try expectEqual(parent.updatedObjects.count, 200) }
    }
    Case("appending to an ordered list reads no member by itself") { stack in
      let interposition = try stack.interpose()
      try stack.write { context in
        let tracks = try (0..<200).map { try context.make("Track", ["title": "\($0)", "length": $0]) }
        try context.make("Album", ["title": "A"]).setObjects(tracks, for: "tracks")
      }
      let id = try stack.read { try $0.one("Album").objectID }
      try stack.write { context in
        let album = try context.existingObject(with: id)
        let tracks = try album.objects(for: "tracks")
        let last = try context.make("Track", ["title": "last", "length": 0])
        try album.setObjects(tracks + [last], for: "tracks")
        let before = interposition.fetchCount
        try context.save()
        try expect(interposition.fetchCount - before <= 6, "some reads, not one for each member")
      }
    }
    Case("appending a member to a long list reads none of its members") { stack in
      let interposition = try stack.interpose()
      try stack.write { context in
        let tracks = try (0..<2_000).map { try context.make("Track", ["title": "\($0)", "length": $0]) }
        try context.make("Album", ["title": "A"]).setObjects(tracks, for: "tracks")
      }
      for round in 0..<3 {
        try stack.write { context in
          let album = try context.one("Album")
          let track = try context.make("Track", ["title": "last \(round)", "length": 0])
          try track.setObject(album, for: "album")
          let before = interposition.rowCount
          try context.save()
          try expect(interposition.rowCount - before <= 4, "no row for each member")
        }
      }
      try stack.read { context in
        let labels = try context.one("Album").labels(of: "tracks")
        try expectEqual(labels, (0..<2_000).map { "\($0)" } + (0..<3).map { "last \($0)" })
      }
    }
    Case("deleting many new objects by a cascade leaves nothing to save") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        try album.setObjects(
          try (0..<5_000).map { try context.make("Track", ["title": "\($0)", "length": $0]) }, for: "tracks")
        context.delete(album)
        try context.processPendingChanges()
        try expect(!context.hasChanges, "nothing left")
      }
    }
  }

  /// A store with two hundred albums.
  private static func filled(_ stack: ConformanceStack) throws -> Interposition {
    let interposition = try stack.interpose()
    try stack.write { context in for number in 0..<200 { try context.make("Album", ["title": "\(number)", "year": 0]) }
    }
    return interposition
  }
}
