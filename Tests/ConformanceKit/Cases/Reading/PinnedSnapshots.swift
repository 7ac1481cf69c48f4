import CoherenceCore

extension ConformanceSubject {
  static let pinnedSnapshots = ConformanceSubject("Pinned snapshots") {
    pinnedReads
    pinnedObjects
    pinnedWrites
    pinnedChildren
    pinnedResults
    pinnedEnds
    pinnedStores
  }

  /// Saves albums with the titles "0", "1" and so on, whose years are their numbers.
  static func fillPinned(_ stack: ConformanceStack, count: Int = 3) throws {
    try stack.write { context in
      for number in 0..<count { try context.make("Album", ["title": "\(number)", "year": number]) }
    }
  }

  /// A context that follows the saves of another one, and the other one.
  static func follower(_ stack: ConformanceStack) -> (context: ManagedObjectContext, saver: ManagedObjectContext) {
    let (context, saver) = (stack.context(), stack.context())
    context.follow(saver)
    return (context, saver)
  }

  static func rename(_ title: String, to other: String, in context: ManagedObjectContext) throws {
    try context.performAndWait {
      try context.one("Album", where: equal("title", title)).setValue(other, for: "title")
      try context.save()
    }
  }

  @CasesBuilder private static var pinnedReads: [Case] {
    Case("reads of later blocks see the pinned state, and the present one after it moves forward or ends") { stack in
      try fillPinned(stack)
      let (context, saver) = follower(stack)
      try context.performAndWait { try context.pinSnapshot() }
      try context.performAndWait { try expect(context.hasPinnedSnapshot, "a pinned snapshot") }
      for round in 0..<3 {
        try saver.performAndWait {
          try saver.make("Album", ["title": "new \(round)"])
          try saver.save()
        }
        try context.performAndWait {
          try expectEqual(try context.names("Album"), ["0", "1", "2"], "the pinned titles")
          try expectEqual(try context.number(of: "Album"), 3)
        }
      }
      try context.performAndWait { try context.advanceSnapshot() }
      try stack.write { context in for album in try context.all("Album") { context.delete(album) } }
      try context.performAndWait { try expectEqual(try context.number(of: "Album"), 6) }
      try context.performAndWait {
        try context.advanceSnapshot()
        try context.advanceSnapshot()
        try expectEqual(try context.number(of: "Album"), 0)
        context.unpinSnapshot()
        context.unpinSnapshot()
        try expect(!context.hasPinnedSnapshot, "no pinned snapshot")
      }
      try fillPinned(stack)
      try context.performAndWait { try expectEqual(try context.number(of: "Album"), 3) }
    }
    Case("faults, relationships and aggregates of later blocks see the pinned state") { stack in
      try stack.write { try Music.fill($0) }
      let context = stack.context()
      let ids = try context.performAndWait {
        try context.pinSnapshot()
        return try context.fetchIDs(FetchRequest<ManagedObject>(entityName: "Album"))
      }
      try stack.write { other in
        let album = try other.one("Album", where: equal("title", "Debut"))
        try album.setValue(2000, for: "year")
        try album.setObject(nil, for: "artist")
        try album.setObjects([], for: "genres")
        for track in try album.objects(for: "tracks") { other.delete(track) }
        other.delete(try other.one("Album", where: equal("title", "Arrival")))
      }
      try context.performAndWait {
        let albums = try ids.map { try context.existingObject(with: $0) }
        let album = try unwrap(try albums.first { try $0.label == "Debut" }, "the album")
        try expectEqual(try album.value(for: "year", as: Int.self), 1993)
      }
      try context.performAndWait {
        let album = try context.one("Album", where: and(equal("year", 1993), equal("title", "Debut")))
        try expectEqual(try album.object(for: "artist")?.label, "Bj\u{F6}rk")
        try expectEqual(try album.labels(of: "genres"), ["Pop"])
      }
      try context.performAndWait {
        let album = try context.one("Album", where: equal("title", "Debut"))
        try expectEqual(try album.labels(of: "tracks"), ["Human Behaviour", "Crying"])
        try expectEqual(try context.number(of: "Album"), 8)
      }
    }
    Case("a block with a snapshot reads the pinned state, and the state stays after the block") { stack in
      try fillPinned(stack)
      let context = stack.context()
      try context.performAndWait { try context.pinSnapshot() }
      try fillPinned(stack)
      try context.performAndWait {
        try context.withSnapshot {
          try expectEqual(try context.number(of: "Album"), 3)
          try context.advanceSnapshot()
          try expectEqual(try context.number(of: "Album"), 6)
          try fillPinned(stack)
          try expectEqual(try context.number(of: "Album"), 6)
        }
        try expectEqual(try context.number(of: "Album"), 6)
      }
      try context.performAndWait {
        try context.withSnapshot {
          context.unpinSnapshot()
          try expectEqual(try context.number(of: "Album"), 9)
          try fillPinned(stack)
          try expectEqual(try context.number(of: "Album"), 9)
          try context.pinSnapshot()
          try expectEqual(try context.number(of: "Album"), 12)
        }
        try fillPinned(stack)
        try expectEqual(try context.number(of: "Album"), 12)
      }
    }
    Case("thirty-two pinned contexts see their states while others read and save") { stack in
      let contexts = try (0..<32).map { number in
        let context = stack.context()
        try context.performAndWait { try context.pinSnapshot() }
        try stack.write { try $0.make("Genre", ["name": "\(number)"]) }
        try stack.read { try expectEqual(try $0.number(of: "Genre"), number + 1) }
        return context
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (number, context) in contexts.enumerated() {
          group.addTask {
            for _ in 0..<3 {
              try await context.perform { context in
                try expectEqual(try context.number(of: "Genre"), number)
                try expectEqual(try context.names("Genre").count, number)
              }
            }
            let count = try await context.perform { context in
              try context.make("Genre", ["name": "of \(number)"])
              try context.save()
              return try context.number(of: "Genre")
            }
            try expect(count > 32, "the present records after the save, found \(count)")
          }
        }
        try await group.waitForAll()
      }
      try stack.read { try expectEqual(try $0.number(of: "Genre"), 64) }
    }
    Case("a context of a thread keeps its snapshot between operations") { stack in
      try fillPinned(stack)
      let saver = stack.context()
      let context = ManagedObjectContext(concurrencyType: .currentThread, coordinator: stack.coordinator)
      context.follow(saver)
      let held = try context.one("Album", where: equal("title", "0"))
      try context.pinSnapshot()
      try rename("0", to: "new", in: saver)
      try expectEqual(try context.names("Album"), ["0", "1", "2"])
      try expectEqual(try held.label, "0")
      try context.advanceSnapshot()
      try expectEqual(try held.label, "new")
      try expectEqual(try context.names("Album"), ["1", "2", "new"])
    }
  }

  private static func and(_ left: FetchPredicate, _ right: FetchPredicate) -> FetchPredicate { .and([left, right]) }
}
