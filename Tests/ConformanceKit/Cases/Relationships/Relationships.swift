import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let relationships = ConformanceSubject("Relationships") {
    oneToMany
    oneToOne
    manyToMany
    withoutInverse
    cycles
  }

  private static func artists(_ context: ManagedObjectContext, _ names: String...) throws -> [ManagedObject] {
    try names.map { try context.make("Artist", ["name": $0]) }
  }

  @CasesBuilder private static var oneToMany: [Case] {
    Case("setting a to-one relationship adds to its to-many inverse") { stack in
      try stack.write { context in
        let artist = try artists(context, "M")[0]
        for title in ["A", "B"] { try context.make("Album", ["title": title]).setObject(artist, for: "artist") }
        try expectEqual(try artist.labels(of: "albums"), ["A", "B"])
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Artist").labels(of: "albums"), ["A", "B"]) }
    }
    Case("setting a to-many relationship sets its to-one inverse") { stack in
      try stack.write { context in
        let albums = try ["A", "B"].map { try context.make("Album", ["title": $0]) }
        try artists(context, "M")[0].setObjects(albums, for: "albums")
        for album in albums { try expectEqual(try album.object(for: "artist")?.label, "M") }
      }
      try stack.reopen()
      try stack.read { context in
        for album in try context.all("Album") { try expectEqual(try album.object(for: "artist")?.label, "M") }
      }
    }
    Case("a member added to another owner leaves the first") { stack in
      try stack.write { context in
        let owners = try artists(context, "M", "N")
        let album = try context.make("Album", ["title": "A"])
        try album.setObject(owners[0], for: "artist")
        try context.save()
        try owners[1].setObjects([album], for: "albums")
        try expectEqual(try owners[0].objects(for: "albums").count, 0)
        try expectEqual(try album.object(for: "artist"), owners[1])
      }
      try stack.read { context in
        try expectEqual(try context.one("Artist", where: equal("name", "M")).labels(of: "albums"), [])
        try expectEqual(try context.one("Artist", where: equal("name", "N")).labels(of: "albums"), ["A"])
      }
    }
    Case("clearing a to-one relationship removes from its inverse") { stack in
      try stack.write { context in
        let artist = try artists(context, "M")[0]
        try context.make("Album", ["title": "A"]).setObject(artist, for: "artist")
      }
      try stack.write { context in
        let artist = try context.one("Artist")
        try expectEqual(try artist.objects(for: "albums").count, 1)
        try context.one("Album").setObject(nil, for: "artist")
        try expectEqual(try artist.objects(for: "albums").count, 0)
      }
      try stack.read { try expectEqual(try $0.one("Album").value(for: "artist"), .null) }
    }
    Case("a relationship of an entity to itself keeps its sides apart") { stack in
      try stack.write { context in
        let people = try artists(context, "teacher", "x", "y")
        try people[1].setObject(people[0], for: "mentor")
        try people[0].setObjects([people[1], people[2]], for: "pupils")
        try people[0].setObject(people[1], for: "mentor")
      }
      try stack.reopen()
      try stack.read { context in
        let teacher = try context.one("Artist", where: equal("name", "teacher"))
        let pupil = try context.one("Artist", where: equal("name", "x"))
        try expectEqual(try teacher.labels(of: "pupils"), ["x", "y"])
        try expectEqual(try pupil.labels(of: "pupils"), ["teacher"])
        try expectEqual(try teacher.object(for: "mentor"), pupil)
        try expectEqual(try pupil.object(for: "mentor"), teacher)
      }
    }
    Case("an object can be its own target") { stack in
      try stack.write { context in
        let person = try artists(context, "self")[0]
        try person.setObject(person, for: "mentor")
      }
      try stack.read { context in
        let person = try context.one("Artist")
        try expectEqual(try person.object(for: "mentor"), person)
        try expectEqual(try person.objects(for: "pupils"), [person])
      }
    }
    Case("changing members does not change the owner's version") { stack in
      try stack.write { context in
        let artist = try artists(context, "M")[0]
        try context.save()
        try context.make("Album", ["title": "A"]).setObject(artist, for: "artist")
        try context.save()
        try expectEqual(artist.version, 1)
      }
    }
  }

  @CasesBuilder private static var oneToOne: [Case] {
    Case("a one-to-one relationship is set on both sides") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"]).setObject(try context.make("Cover"), for: "cover")
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Cover").object(for: "album")?.label, "A")
        try expect(try context.one("Album").object(for: "cover") != nil, "a cover")
      }
    }
    Case("assigning the partner of another object clears both former partners") { stack in
      try stack.write { context in
        let albums = try ["A", "B"].map { try context.make("Album", ["title": $0]) }
        let covers = try [context.make("Cover"), context.make("Cover")]
        try albums[0].setObject(covers[0], for: "cover")
        try albums[1].setObject(covers[1], for: "cover")
        try context.save()
        try albums[1].setObject(covers[0], for: "cover")
        try expectEqual(try albums[0].object(for: "cover"), nil)
        try expectEqual(try covers[1].object(for: "album"), nil)
        try expectEqual(try covers[0].object(for: "album"), albums[1])
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Album", where: equal("title", "A")).object(for: "cover"), nil)
        let cover = try unwrap(try context.one("Album", where: equal("title", "B")).object(for: "cover"))
        try expectEqual(try cover.object(for: "album")?.label, "B")
        try expectEqual(try context.number(of: "Cover", where: equal("album", nil)), 1)
      }
    }
    Case("a relationship with itself as its inverse ties two objects to each other") { stack in
      try stack.write { context in
        let people = try artists(context, "a", "b", "c")
        try people[0].setObject(people[1], for: "spouse")
        try expectEqual(try people[1].object(for: "spouse"), people[0])
        try context.save()
        try people[2].setObject(people[1], for: "spouse")
        try expectEqual(try people[0].object(for: "spouse"), nil)
        try expectEqual(try people[1].object(for: "spouse"), people[2])
      }
      try stack.reopen()
      try stack.read { context in
        let spouses = try context.all("Artist", sort: [SortKey("name")]).map { try $0.object(for: "spouse")?.label }
        try expectEqual(spouses, [nil, "c", "b"])
      }
    }
    Case("one-to-one partners are swapped in one save") { stack in
      try stack.write { context in
        for title in ["A", "B"] {
          let cover = try context.make("Cover")
          try cover.setValue(Data(title.utf8), for: "image")
          try context.make("Album", ["title": title]).setObject(cover, for: "cover")
        }
      }
      try stack.write { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        let covers = try albums.map { try unwrap(try $0.object(for: "cover")) }
        try albums[0].setObject(covers[1], for: "cover")
        try albums[1].setObject(covers[0], for: "cover")
      }
      try stack.read { context in
        let albums = try context.all("Album", sort: [SortKey("title")])
        let images = try albums.map { try $0.object(for: "cover")?.value(for: "image") }
        try expectEqual(images, [.data(Data("B".utf8)), .data(Data("A".utf8))])
      }
    }
  }

  @CasesBuilder private static var manyToMany: [Case] {
    Case("many-to-many members are visible from both sides") { stack in
      try stack.write { context in
        let genres = try ["Jazz", "Pop"].map { try context.make("Genre", ["name": $0]) }
        let albums = try ["A", "B"].map { try context.make("Album", ["title": $0]) }
        try albums[0].setObjects(genres, for: "genres")
        try genres[1].setObjects(albums, for: "albums")
        try expectEqual(try albums[1].labels(of: "genres"), ["Pop"])
      }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Genre", where: equal("name", "Pop")).labels(of: "albums"), ["A", "B"])
        try expectEqual(try context.one("Genre", where: equal("name", "Jazz")).labels(of: "albums"), ["A"])
      }
    }
    Case("a many-to-many member removed on one side is gone from the other") { stack in
      try stack.write { context in
        let genre = try context.make("Genre", ["name": "Jazz"])
        for title in ["A", "B"] { try context.make("Album", ["title": title]).setObjects([genre], for: "genres") }
      }
      try stack.write { context in
        let genre = try context.one("Genre")
        try expectEqual(try genre.labels(of: "albums"), ["A", "B"])
        try context.one("Album", where: equal("title", "A")).setObjects([], for: "genres")
        try expectEqual(try genre.labels(of: "albums"), ["B"])
      }
      try stack.read { try expectEqual(try $0.one("Genre").labels(of: "albums"), ["B"]) }
    }
    Case("a many-to-many relationship of an entity to itself keeps its sides apart") { stack in
      try stack.write { context in
        let people = try artists(context, "a", "b", "c")
        try people[0].setObjects([people[1], people[2]], for: "influences")
        try people[1].setObjects([people[2]], for: "influences")
      }
      try stack.reopen()
      try stack.read { context in
        let people = try context.all("Artist", sort: [SortKey("name")])
        try expectEqual(try people.map { try $0.labels(of: "influences") }, [["b", "c"], ["c"], []])
        try expectEqual(try people.map { try $0.labels(of: "followers") }, [[], ["a"], ["a", "b"]])
      }
    }
    Case("a many-to-many relationship with itself as its inverse is mutual") { stack in
      try stack.write { context in
        let people = try artists(context, "a", "b", "c")
        try people[0].setObjects([people[1], people[2]], for: "friends")
        try expectEqual(try people[2].labels(of: "friends"), ["a"])
      }
      try stack.reopen()
      try stack.write { context in
        let people = try context.all("Artist", sort: [SortKey("name")])
        try expectEqual(try people.map { try $0.labels(of: "friends") }, [["b", "c"], ["a"], ["a"]])
        try people[1].setObjects([people[2]], for: "friends")
      }
      try stack.read { context in
        let people = try context.all("Artist", sort: [SortKey("name")])
        try expectEqual(try people.map { try $0.labels(of: "friends") }, [["c"], ["c"], ["a", "b"]])
      }
    }
    Case("a link added and removed before the save leaves nothing") { stack in
      try stack.write { context in
        try context.make("Album", ["title": "A"])
        try context.make("Genre", ["name": "Jazz"])
      }
      try stack.read { context in
        let album = try context.one("Album")
        try album.setObjects([try context.one("Genre")], for: "genres")
        try album.setObjects([], for: "genres")
        try expect(!context.hasChanges, "nothing to save")
      }
    }
  }

  @CasesBuilder private static var withoutInverse: [Case] {
    Case("a to-many relationship without inverse shares its members with others") { stack in
      try stack.write { context in
        let tracks = try ["1", "2"].map { try context.make("Track", ["title": $0]) }
        for name in ["x", "y"] { try context.make("Playlist", ["name": name]).setObjects(tracks, for: "favourites") }
      }
      try stack.reopen()
      try stack.read { context in
        for list in try context.all("Playlist") { try expectEqual(try list.labels(of: "favourites"), ["1", "2"]) }
      }
    }
    Case("a to-one relationship without inverse is stored") { stack in
      try stack.write { context in
        let track = try context.make("Track", ["title": "1"])
        try context.make("Playlist", ["name": "x"]).setObject(track, for: "pinned")
      }
      try stack.reopen()
      try stack.read { try expectEqual(try $0.one("Playlist").object(for: "pinned")?.label, "1") }
    }
    Case("a deleted record leaves to-many relationships without inverse") { stack in
      try stack.write { context in
        let tracks = try ["1", "2"].map { try context.make("Track", ["title": $0]) }
        let list = try context.make("Playlist", ["name": "x"])
        try list.setObjects(tracks, for: "favourites")
        try list.setObjects(tracks, for: "entries")
      }
      try stack.write { $0.delete(try $0.one("Track", where: equal("title", "1"))) }
      try stack.reopen()
      try stack.read { context in
        try expectEqual(try context.one("Playlist").labels(of: "favourites"), ["2"])
        try expectEqual(try context.one("Playlist").labels(of: "entries"), ["2"])
      }
    }
  }

  @CasesBuilder private static var cycles: [Case] {
    Case("new records that refer to each other in a cycle are saved at once") { stack in
      try stack.write { context in
        let people = try artists(context, "a", "b", "c")
        for (index, person) in people.enumerated() {
          try person.setObject(people[(index + 1) % 3], for: "mentor")
        }
      }
      try stack.reopen()
      try stack.read { context in
        let mentors = try context.all("Artist", sort: [SortKey("name")]).map { try $0.object(for: "mentor")?.label }
        try expectEqual(mentors, ["b", "c", "a"])
      }
    }
    Case("records that refer to each other in a cycle are deleted at once") { stack in
      try stack.write { context in
        let people = try artists(context, "a", "b")
        try people[0].setObject(people[1], for: "mentor")
        try people[1].setObject(people[0], for: "mentor")
      }
      try stack.write { context in for person in try context.all("Artist") { context.delete(person) } }
      try stack.read { try expectEqual(try $0.number(of: "Artist"), 0) }
    }
    Case("a record is deleted and its referrers are moved to a new record in one save") { stack in
      try stack.write { context in
        let artist = try artists(context, "old")[0]
        try context.make("Album", ["title": "A"]).setObject(artist, for: "artist")
      }
      try stack.write { context in
        let old = try context.one("Artist")
        let album = try context.one("Album")
        try album.setObject(try artists(context, "new")[0], for: "artist")
        context.delete(old)
      }
      try stack.read { try expectEqual(try $0.one("Album").object(for: "artist")?.label, "new") }
    }
  }
}
