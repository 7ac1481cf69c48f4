import CoherenceCore

extension ConformanceSubject {
  /// Refreshes of objects with unsaved changes of relationships.
  @CasesBuilder static var refreshedEdits: [Case] {
    Case("an object with an unsaved reference is in one list after a refresh, when another writer has moved its record")
    {
      stack in
      for refreshesAll in [false, true] {
        try stack.write { context in
          for album in try context.all("Album") + context.all("Artist") { context.delete(album) }
          for name in ["M", "N", "O"] { try context.make("Artist", ["name": name]) }
          try context.make("Album", ["title": "A"]).setObject(
            try context.one("Artist", where: equal("name", "M")), for: "artist")
        }
        try stack.read { context in
          let album = try context.one("Album")
          try album.setObject(try context.one("Artist", where: equal("name", "N")), for: "artist")
          try stack.write { other in
            try other.one("Album").setObject(try other.one("Artist", where: equal("name", "O")), for: "artist")
          }
          if refreshesAll { context.refreshAll() } else { context.refresh(album, mergeChanges: true) }
          let artists = try context.all("Artist", sort: [SortKey("name")])
          try expectEqual(try artists.map { try $0.labels(of: "albums") }, [[], ["A"], []])
          try context.save()
        }
        try stack.read { try expectEqual(try $0.one("Album").object(for: "artist")?.label, "N") }
      }
    }
    Case("a refresh leaves an object deleted that was never saved") { stack in
      try stack.write { try $0.make("Artist", ["name": "M"]) }
      try stack.read { context in
        let artist = try context.one("Artist")
        let album = try context.make("Album", ["title": "A"])
        try album.setObject(artist, for: "artist")
        context.delete(album)
        context.refresh(album, mergeChanges: false)
        try expect(album.isDeleted, "the delete to stay")
        try expectEqual(try artist.labels(of: "albums"), [])
        try context.save()
      }
      try stack.read { try expectEqual(try $0.number(of: "Album"), 0) }
    }
    Case("a refresh without merging reverts the delete of an object on both sides of its relationships") { stack in
      try stack.write { context in
        let album = try context.make("Album", ["title": "A"])
        try album.setObject(try context.make("Artist", ["name": "M"]), for: "artist")
        try album.setObjects([try context.make("Genre", ["name": "g"])], for: "genres")
      }
      try stack.read { context in
        let (album, artist) = (try context.one("Album"), try context.one("Artist"))
        let genre = try context.one("Genre")
        for object in [album, artist, genre] {
          context.delete(object)
          try context.processPendingChanges()
          context.refresh(object, mergeChanges: false)
          try expectEqual(try album.object(for: "artist")?.label, "M")
          try expectEqual(try album.labels(of: "genres"), ["g"])
          try expectEqual(try artist.labels(of: "albums"), ["A"])
          try expectEqual(try genre.labels(of: "albums"), ["A"])
          try expect(!context.hasChanges, "nothing to save")
        }
      }
    }
  }
}
