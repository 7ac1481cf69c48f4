import CoherenceCore

extension ConformanceSubject {
  static let oneIdentity = ConformanceSubject("One identity") {
    Case("a record is one instance in a context, by every way of access") { stack in
      try stack.write { try Music.fill($0) }
      try stack.read { context in
        let artist = try context.one("Artist", where: equal("name", "Miles"))
        let album = try context.one("Album", where: equal("title", "Kind of Blue"))
        try expect(try album.object(for: "artist") === artist, "the artist by relationship")
        try expect(try artist.objects(for: "albums").contains { $0 === album }, "the album by its inverse")
        try expect(context.object(with: album.objectID) === album, "the album by identifier")
        try expect(try context.existingObject(with: album.objectID) === album, "the album by identifier")
        try expect(context.registeredObject(with: album.objectID) === album, "the registered album")
        try expect(try context.one("Album", where: equal("title", "Kind of Blue")) === album, "the album again")
        for track in try album.objects(for: "tracks") {
          try expect(try track.object(for: "album") === album, "the album of its track")
        }
      }
    }
    Case("a new record is the same instance after its save") { stack in
      try stack.read { context in
        let genre = try context.make("Genre", ["name": "Jazz"])
        let temporary = context.object(with: genre.objectID)
        try context.save()
        try expect(temporary === genre, "one instance by the temporary identifier")
        try expect(try context.one("Genre") === genre, "one instance by fetch")
        try expect(context.object(with: genre.objectID) === genre, "one instance by the permanent identifier")
      }
    }
    Case("a fault and the result of a fetch are the same instance") { stack in
      let id = try stack.write { context in
        let genre = try context.make("Genre", ["name": "Jazz"])
        try context.obtainPermanentIDs(for: [genre])
        return genre.objectID
      }
      try stack.read { context in
        let fault = context.object(with: id)
        try expect(try context.one("Genre") === fault, "one instance")
        try expect(!fault.isFault, "the instance to be loaded")
      }
    }
    Case("two contexts have two instances of one identifier") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      let (one, other) = (stack.context(), stack.context())
      try one.performAndWait {
        try other.performAndWait {
          let (a, b) = (try one.one("Genre"), try other.one("Genre"))
          try expect(a !== b, "two instances")
          try expectEqual(a.objectID, b.objectID)
          try a.setValue("Pop", for: "name")
          try expectEqual(try b.label, "Jazz")
        }
      }
    }
    Case("identifiers of records of different entities differ") { stack in
      try stack.read { context in
        let objects = [
          try context.make("Genre", ["name": "a"]), try context.make("Album", ["title": "a"]),
          try context.make("Artist", ["name": "a"]), try context.make("Band", ["name": "a"]),
        ]
        try expectEqual(Set(objects.map(\.objectID)).count, 4)
        try context.save()
        try expectEqual(Set(objects.map(\.objectID)).count, 4)
        try expectEqual(Set(objects.map(\.objectID.description)).count, 4)
      }
    }
    Case("a refreshed object stays the instance") { stack in
      try stack.write { try $0.make("Genre", ["name": "Jazz"]) }
      try stack.read { context in
        let genre = try context.one("Genre")
        context.refresh(genre, mergeChanges: false)
        try expect(try context.one("Genre") === genre, "one instance")
        context.refreshAll()
        try expect(try context.one("Genre") === genre, "one instance")
      }
    }
    Case("an identifier is a value that travels between tasks") { stack in
      let context = stack.context()
      let id = try await context.perform {
        let genre = try context.make("Genre", ["name": "Jazz"])
        try context.save()
        return genre.objectID
      }
      let other = stack.context()
      let name = try await other.perform { try other.existingObject(with: id).label }
      try expectEqual(name, "Jazz")
    }
  }
}
