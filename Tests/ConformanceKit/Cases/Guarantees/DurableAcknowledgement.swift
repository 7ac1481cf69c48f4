import CoherenceCore

extension ConformanceSubject {
  static let durableAcknowledgement = ConformanceSubject("Durable acknowledgement") {
    Case("an acknowledged save is in the store after the store was closed and opened") { stack in
      try stack.write { try Music.fill($0) }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.number(of: "Album"), 8)
        try expectEqual(try context.number(of: "Performer"), 6)
        let album = try context.one("Album", where: equal("title", "Kind of Blue"))
        try expectEqual(try album.labels(of: "tracks"), ["So What", "Freddie Freeloader", "Blue in Green"])
        try expectEqual(try album.labels(of: "genres"), ["Jazz", "Modal"])
      }
    }
    Case("another coordinator sees an acknowledged save at once") { stack in
      let other = try stack.anotherCoordinator()
      let reader = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: other)
      for index in 1...10 {
        try stack.write { try $0.make("Genre", ["name": "\(index)"]) }
        try reader.performAndWait { try expectEqual(try reader.number(of: "Genre"), index) }
      }
    }
    Case("every acknowledged save is in the store after the store was opened again") { stack in
      let context = stack.context()
      try context.performAndWait {
        let album = try context.make("Album", ["title": "A"])
        for year in 1...30 {
          try album.setValue(year, for: "year")
          try context.save()
        }
      }
      try stack.reopen()
      try stack.read { context in
        let album = try context.one("Album")
        try expectEqual(try album.value(for: "year"), .int(30))
        try expectEqual(album.version, 30)
      }
    }
    Case("acknowledged deletes stay deleted") { stack in
      try stack.write { try Music.fill($0) }
      try stack.write { context in for album in try context.all("Album") { context.delete(album) } }
      try stack.reopen()
      try stack.read { context in
        for entity in ["Album", "Track"] { try expectEqual(try context.number(of: entity), 0, entity) }
        for genre in try context.all("Genre") { try expectEqual(try genre.objects(for: "albums").count, 0) }
      }
    }
    Case("unsaved changes are missing after the store was opened again") { stack in
      try stack.read { context in
        let album = try context.make("Album", ["title": "A"])
        try context.obtainPermanentIDs(for: [album])
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.number(of: "Album"), 0) }
    }
    Case("an acknowledged batch request is there after the store was opened again") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        _ = try context.execute(BatchUpdateRequest(entityName: "Album", values: ["year": 2000]))
        _ = try context.execute(BatchDeleteRequest(entityName: "Track"))
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.number(of: "Album", where: equal("year", 2000)), 8)
        try expectEqual(try context.number(of: "Track"), 0)
      }
    }
  }
}
