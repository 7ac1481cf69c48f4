import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let typedObjects = ConformanceSubject("Typed objects") {
    accessors
    collections
  }

  @CasesBuilder private static var accessors: [Case] {
    Case("typed accessors read and write texts, numbers, truth values and enumerations") { stack in
      try stack.write { context in
        let album = try Album(context: context)
        try expectEqual(album.title, "", "a required text before it is set")
        try expectEqual(album.format, .vinyl)
        album.title = "Kind of Blue"
        album.year = 1959
        album.price = 10
        album.isLive = true
        album.format = .disc
      }
      try stack.reopen()
      try stack.read { context in
        let album = try unwrap(try context.fetch(FetchRequest(Album.self)).first)
        try expectEqual(album.title, "Kind of Blue")
        try expectEqual(album.year, 1959)
        try expectEqual(album.price, 10)
        try expectEqual(album.isLive, true)
        try expectEqual(album.format, .disc)
      }
    }
    Case("a typed to-one relationship keeps its inverse") { stack in
      try stack.write { context in
        let artist = try Artist(context: context)
        artist.name = "Miles"
        let album = try Album(context: context)
        album.title = "A"
        album.artist = artist
        try expectEqual(artist.albums.count, 1)
        try expect(artist.albums.contains(album), "the album")
      }
      try stack.read { context in
        let album = try unwrap(try context.fetch(FetchRequest(Album.self)).first)
        try expectEqual(album.artist?.name, "Miles")
        try expect(album.artist is Artist, "an artist")
      }
    }
    Case("a context returns the entity of a class, and refuses a class without an entity") { stack in
      try stack.read { context in
        try expectEqual(try context.entity(for: Album.self).name, "Album")
        try expectThrows(.unknownEntity) { try context.entity(for: Unlisted.self) }
      }
      try expectThrows(.contextWithoutStore) { try ManagedObjectContext().entity(for: Album.self) }
    }
    Case("inherited accessors work in every subclass") { stack in
      try stack.write { context in
        let legend = try Legend(context: context)
        legend.name = "Ella"
        legend.rating = 5
        legend.honours += 2
        let band = try Band(context: context)
        band.name = "Can"
      }
      try stack.read { context in
        var request = FetchRequest(Performer.self)
        request.sortKeys = [SortKey("name")]
        let performers = try context.fetch(request)
        try expectEqual(performers.map(\.name), ["Can", "Ella"])
        try expectEqual((performers[1] as? Legend)?.honours, 3)
        try expectEqual(performers.map(\.rating), [nil, 5])
      }
    }
    Case("an accessor of a deleted object returns the default and marks the object") { stack in
      let id = try stack.write { context in
        let album = try context.make("Album", ["title": "A", "year": 1959])
        try context.obtainPermanentIDs(for: [album])
        return album.objectID
      }
      try stack.write { $0.delete(try $0.existingObject(with: id)) }
      try stack.read { context in
        let album = try unwrap(context.object(with: id) as? Album)
        try expectEqual(album.title, "")
        try expectEqual(album.year, nil)
        try expectEqual(album.format, .vinyl)
        try expect(album.artist == nil && album.tracks.isEmpty, "no relations")
        try expect(album.isUnavailable, "the object to be marked")
      }
    }
  }

  @CasesBuilder private static var collections: [Case] {
    Case("a typed to-many relationship is counted, iterated, filtered and changed") { stack in
      try stack.write { context in
        let album = try Album(context: context)
        album.title = "A"
        let genres = try ["Jazz", "Pop", "Rock"].map { name in
          let genre = try Genre(context: context)
          genre.name = name
          return genre
        }
        for genre in genres { album.genres.insert(genre) }
        album.genres.insert(genres[0])
        try expectEqual(album.genres.count, 3)
        album.genres.remove(genres[1])
        try expect(!album.genres.contains(genres[1]) && genres[1].albums.isEmpty, "one to be removed")
      }
      try stack.read { context in
        let album = try unwrap(try context.fetch(FetchRequest(Album.self)).first)
        try expectEqual(album.genres.map(\.name).sorted(), ["Jazz", "Rock"])
        try expectEqual(try album.genres.filtered(equal("name", "Rock")).map(\.name), ["Rock"])
        album.genres.removeAll()
        try expect(album.genres.isEmpty, "no members")
        try context.save()
      }
      try stack.read { try expectEqual(try $0.one("Genre", where: equal("name", "Jazz")).labels(of: "albums"), []) }
    }
    Case("a typed ordered relationship is a collection by place") { stack in
      try stack.write { context in
        let album = try Album(context: context)
        album.title = "A"
        for title in ["1", "2", "4"] {
          let track = try Track(context: context)
          track.title = title
          album.tracks.append(track)
        }
        let track = try Track(context: context)
        track.title = "3"
        album.tracks.insert(track, at: 2)
        album.tracks.move(from: 0, to: 3)
        try expectEqual(album.tracks.map(\.title), ["2", "3", "4", "1"])
        try expectEqual(album.tracks[1].album, album)
      }
      try stack.reopen()
      try stack.write { context in
        let album = try unwrap(try context.fetch(FetchRequest(Album.self)).first)
        try expectEqual(album.tracks.map(\.title), ["2", "3", "4", "1"])
        try expectEqual(album.tracks[3].title, "1")
        album.tracks.remove(at: 1)
        album.tracks.remove(album.tracks[0])
        try expectEqual(album.tracks.map(\.title), ["4", "1"])
      }
      try stack.read { context in
        let album = try unwrap(try context.fetch(FetchRequest(Album.self)).first)
        try expectEqual(album.tracks.map(\.title), ["4", "1"])
        try expectEqual(try album.tracks.filtered(equal("title", "1")).map(\.title), ["1"])
      }
    }
    Case("replacing the members removes the old ones and adds the new ones") { stack in
      try stack.read { context in
        let artist = try Artist(context: context)
        artist.name = "M"
        let albums = try ["A", "B", "C"].map { title in
          let album = try Album(context: context)
          album.title = title
          return album
        }
        artist.albums.replace(with: [albums[0], albums[1]])
        try context.save()
        artist.albums.replace(with: [albums[1], albums[2]])
        try expectEqual(albums.map { $0.artist == artist }, [false, true, true])
        try context.save()
        try expectEqual(try artist.labels(of: "albums"), ["B", "C"])
      }
    }
  }
}

/// A class without an entity.
private final class Unlisted: ManagedObject {}
