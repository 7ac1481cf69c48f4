import CoherenceCore

extension ConformanceSubject {
  static let conflictSeen = ConformanceSubject("Conflict seen") {
    reports
    incomingConflicts
    races
  }

  private static func albums(_ stack: ConformanceStack, _ titles: String...) throws {
    try stack.write { context in for title in titles { try context.make("Album", ["title": title, "year": 1]) } }
  }

  @CasesBuilder private static var reports: [Case] {
    Case("a conflict has the ancestor, mine and the store's row") { stack in
      try albums(stack, "A")
      try stack.read { context in
        let album = try context.one("Album")
        try stack.write { try $0.one("Album").setValue("theirs", for: "title") }
        try album.setValue("mine", for: "title")
        let error = try expectThrows(.versionConflict) { try context.save() }
        let conflict = try unwrap(error.conflicts.first, "a conflict")
        try expectEqual(error.conflicts.count, 1, "the number of conflicts")
        try expectEqual(conflict.objectID, album.objectID)
        let slot = try unwrap(album.entity.attribute(named: "title")).slot
        try expectEqual(conflict.ancestor?[slot], .string("A"))
        try expectEqual(conflict.mine?[slot], .string("mine"))
        try expectEqual(conflict.store?[slot], .string("theirs"))
        try expectEqual(conflict.ancestor?.version, 1)
        try expectEqual(conflict.store?.version, 2)
      }
    }
    Case("all conflicts of a save are reported at once") { stack in
      try albums(stack, "A", "B", "C", "D")
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        try stack.write { other in
          let theirs = try other.all("Album", sort: [SortKey("title")])
          try theirs[0].setValue(2, for: "year")
          other.delete(theirs[1])
          try theirs[2].setValue(2, for: "year")
        }
        for album in albums[0...1] { try album.setValue(3, for: "year") }
        context.delete(albums[2])
        try albums[3].setValue(3, for: "year")
        let error = try expectThrows(.versionConflict) { try context.save() }
        try expectEqual(Set(error.conflicts.map(\.objectID)), Set(albums[0...2].map(\.objectID)))
        try expectEqual(Set(error.objectIDs), Set(albums[0...2].map(\.objectID)))
      }
    }
    Case("a conflict's message does not contain values") { stack in
      try albums(stack, "A")
      try stack.read { context in
        let album = try context.one("Album")
        try stack.write { try $0.one("Album").setValue("theirsecret", for: "title") }
        try album.setValue("mysecret", for: "title")
        let error = try expectThrows(.versionConflict) { try context.save() }
        try expect(!error.description.contains("secret"), "no values")
      }
    }
    Case("a conflict over a to-one relationship is seen") { stack in
      try stack.write { context in
        for name in ["x", "y"] { try context.make("Artist", ["name": name]) }
        try context.make("Album", ["title": "A"])
      }
      try stack.read { context in
        let album = try context.one("Album")
        try stack.write { other in
          try other.one("Album").setObject(try other.one("Artist", where: equal("name", "x")), for: "artist")
        }
        try album.setObject(try context.one("Artist", where: equal("name", "y")), for: "artist")
        try expectThrows(.versionConflict) { try context.save() }
      }
      try stack.read { try expectEqual(try $0.one("Album").object(for: "artist")?.label, "x") }
    }
    Case("changes of different records do not conflict") { stack in
      try albums(stack, "A", "B")
      try stack.read { context in
        let album = try context.one("Album", where: equal("title", "A"))
        try stack.write { try $0.one("Album", where: equal("title", "B")).setValue(2, for: "year") }
        try album.setValue(2, for: "year")
        try context.save()
      }
    }
    Case("links added by two writers are merged without a conflict") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"])
        for name in ["x", "y"] { try context.make("Genre", ["name": name]) }
      }
      func link(_ name: String, in context: ManagedObjectContext) throws {
        let album = try context.one("Album")
        let genre = try context.one("Genre", where: equal("name", name))
        try album.setObjects(album.objects(for: "genres") + [genre], for: "genres")
      }
      try stack.read { context in
        try link("x", in: context)
        try stack.write { try link("y", in: $0) }
        try context.save()
      }
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try album.labels(of: "genres"), ["x", "y"])
        try expectEqual(album.version, 1)
      }
    }
    Case("after a conflict, a refresh with merging lets the save pass") { stack in
      try albums(stack, "A")
      try stack.read { context in
        let album = try context.one("Album")
        try stack.write { try $0.one("Album").setValue("theirs", for: "title") }
        try album.setValue(2, for: "year")
        try expectThrows(.versionConflict) { try context.save() }
        context.refresh(album, mergeChanges: true)
        try context.save()
      }
      try stack.read { try expectEqual(try $0.one("Album", where: equal("year", 2)).label, "theirs") }
    }
    Case("a conflict with another coordinator is seen") { stack in
      try albums(stack, "A")
      let other = ManagedObjectContext(
        concurrencyType: .privateQueue, coordinator: try stack.anotherCoordinator())
      try stack.read { context in
        let album = try context.one("Album")
        try other.performAndWait {
          try other.one("Album").setValue(2, for: "year")
          try other.save()
        }
        try album.setValue(3, for: "year")
        try expectThrows(.versionConflict) { try context.save() }
      }
    }
    Case("a unique value that two writers want is had by the first") { stack in
      try stack.read { context in
        try context.make("Genre", ["name": "Jazz"])
        try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
        try expectThrows(.uniquenessViolated) { try context.save() }
      }
    }
  }

  @CasesBuilder private static var races: [Case] {
    Case("no increment of many writers is lost") { stack in
      try stack.write { try $0.make("Track", ["title": "T"]) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
          group.addTask {
            var done = 0
            while done < 10 {
              do {
                try stack.write { context in
                  let track = try context.one("Track")
                  try track.setValue(track.value(for: "length", as: Int.self) + 1, for: "length")
                }
                done += 1
              } catch ErrorCode.versionConflict {
                await Task.yield()
              }
            }
          }
        }
        try await group.waitForAll()
      }
      try stack.read { try expectEqual(try $0.one("Track").value(for: "length"), .int(40)) }
    }
  }
}
