import CoherenceCore
import Foundation

extension ConformanceSubject {
  static let membersInStore = ConformanceSubject("Members in the store") {
    counts
    pages
    changes
  }

  /// A case on the store, and the same case without the optional parts of the store, of a function that does not
  /// suspend.
  private static func both(
    _ name: String, _ run: @escaping @Sendable (ConformanceStack) throws -> Void
  ) -> [Case] {
    withAndWithoutOptionalParts(name) { stack in try run(stack) }
  }

  /// Saves an album with twelve tracks in the order of their titles, and an artist with the album and five others.
  private static func fill(_ stack: ConformanceStack) throws {
    try stack.write { context in
      let artist = try Artist(context: context)
      artist.name = "Miles"
      let genres = try (0..<4).map { try context.make("Genre", ["name": "genre \($0)"]) }
      for number in 0..<6 {
        let album = try context.make("Album", ["title": "album \(number)", "year": 100 - number])
        try album.setObject(artist, for: "artist")
        if number < 4 { try album.setObjects([genres[number], genres[(number + 1) % 4]], for: "genres") }
      }
      let first = try context.one("Album", where: equal("title", "album 0"))
      let tracks = try (0..<12).map { try context.make("Track", ["title": "track \($0)", "length": ($0 * 7) % 12]) }
      try first.setObjects(tracks.reversed(), for: "tracks")
    }
  }

  private static func album(_ context: ManagedObjectContext, _ number: Int = 0) throws -> Album {
    try unwrap(try context.one("Album", where: equal("title", "album \(number)")) as? Album)
  }

  private static func artist(_ context: ManagedObjectContext) throws -> Artist {
    try unwrap(try context.one("Artist") as? Artist)
  }

  @CasesBuilder private static var counts: [Case] {
    both("members that moved to another owner are not counted, up to 502 of them") { stack in
      try stack.write { context in
        let artists = try ["Miles", "nina"].map { try context.make("Artist", ["name": $0]) }
        let genre = try context.make("Genre", ["name": "genre"])
        for number in 0..<510 {
          let album = try context.make("Album", ["title": "\(number)"])
          try album.setObject(artists[0], for: "artist")
          try album.setObjects([genre], for: "genres")
        }
      }
      try stack.read { context in
        let former = try unwrap(try context.one("Artist", where: equal("name", "Miles")) as? Artist)
        let present = try unwrap(try context.one("Artist", where: equal("name", "nina")) as? Artist)
        let genre = try unwrap(try context.one("Genre") as? Genre)
        let albums = try unwrap(try context.all("Album") as? [Album])
        for index in 0..<502 {
          try albums[index].setObject(present, for: "artist")
          try albums[index].setObjects([], for: "genres")
          // Beyond 500 changes, the list is loaded.
          guard index >= 498 else { continue }
          try expectEqual([former.albums.count, genre.albums.count], [509 - index, 509 - index])
          try expectEqual(present.albums.count, index + 1)
          try expect(!former.albums.contains(albums[index]) && former.albums.contains(albums[509]), "the moved albums")
          try expect(!genre.albums.contains(albums[index]) && genre.albums.contains(albums[509]), "the other albums")
        }
      }
    }
    both("a collection counts its members with the context's unsaved changes") { stack in
      try fill(stack)
      try stack.read { context in
        let album = try album(context)
        try expectEqual(album.tracks.count, 12)
        try expect(!album.tracks.isEmpty && !album.genres.isEmpty, "members")
        try expectEqual(album.genres.count, 2)
        try expectEqual(try artist(context).albums.count, 6)
        try expect(try self.album(context, 4).genres.isEmpty, "no genres")
        try expect(try self.album(context, 1).tracks.isEmpty, "no tracks")
        let track = try Track(context: context)
        track.title = "new"
        album.tracks.append(track)
        let moved = try unwrap(try context.one("Track", where: equal("title", "track 3")) as? Track)
        moved.album = try self.album(context, 1)
        context.delete(try context.one("Track", where: equal("title", "track 4")))
        try context.processPendingChanges()
        try expectEqual(album.tracks.count, 11)
        try expectEqual(try self.album(context, 1).tracks.count, 1)
        try expect(album.tracks.contains(track) && !album.tracks.contains(moved), "the changes")
        let genre = try unwrap(try context.one("Genre", where: equal("name", "genre 3")) as? Genre)
        try expect(!album.genres.contains(genre), "no member yet")
        album.genres.insert(genre)
        try expectEqual(album.genres.count, 3)
        try expect(album.genres.contains(genre), "a member")
      }
    }
    both("the numbers of members of fetched objects are those of their lists") { stack in
      try fill(stack)
      try stack.read { context in
        let albums = try unwrap(try context.all("Album", sort: [SortKey("title")]) as? [Album])
        let counts = albums.map { [$0.tracks.count, $0.genres.count] }
        try expectEqual(counts, [[12, 2], [0, 2], [0, 2], [0, 2], [0, 0], [0, 0]])
        let genres = try context.all("Genre").compactMap { $0 as? Genre }
        try expectEqual(genres.map(\.albums.count), [2, 2, 2, 2])
        try expectEqual(counts, albums.map { [Array($0.tracks).count, Array($0.genres).count] })
      }
    }
    both("a collection of a child context counts with the unsaved changes of its parent") { stack in
      try fill(stack)
      let parent = stack.context()
      let child = ManagedObjectContext(parent: parent)
      try parent.performAndWait {
        let album = try album(parent)
        let track = try Track(context: parent)
        track.title = "parent's"
        album.tracks.append(track)
        album.genres.remove(try unwrap(try parent.one("Genre", where: equal("name", "genre 0")) as? Genre))
      }
      try child.performAndWait {
        let album = try album(child)
        try expectEqual(album.tracks.count, 13)
        try expectEqual(album.genres.count, 1)
        let track = try Track(context: child)
        track.title = "child's"
        album.tracks.append(track)
        try expectEqual(album.tracks.count, 14)
        try expectEqual(try album.tracks.fetch(limit: 3, offset: 11).map(\.title), ["track 0", "parent's", "child's"])
      }
    }
    both("a request for members of a missing owner's ordered list throws") { stack in
      try fill(stack)
      let context = stack.context()
      let album = try context.performAndWait { try self.album(context, 5) }
      try stack.write { $0.delete(try self.album($0, 5)) }
      try context.performAndWait {
        context.refreshAll()
        _ = try expectThrows(.objectNotFound) { try album.tracks.fetch(limit: 3) }
        let short = album.tracks.request.filter(compare("length", .less, 1))
        _ = try expectThrows(.objectNotFound) { try short.fetch() }
      }
    }
    both("a collection of a child context leaves out a member that its parent has deleted") { stack in
      try fill(stack)
      for isProcessed in [false, true] {
        let parent = stack.context()
        try parent.performAndWait {
          for (entity, key, label) in [("Track", "title", "track 5"), ("Genre", "name", "genre 0")] {
            parent.delete(try parent.one(entity, where: equal(key, label)))
          }
          parent.delete(try album(parent, 5))
          if isProcessed { try parent.processPendingChanges() }
          let child = ManagedObjectContext(parent: parent)
          try child.performAndWait {
            let (album, artist) = (try album(child), try artist(child))
            try expectEqual(album.tracks.count, 11)
            try expectEqual(try self.album(child, 3).genres.count, 1)
            try expectEqual(artist.albums.count, 5)
            try expectEqual(try album.labels(of: "tracks").count, 11)
            try expectEqual(try album.labels(of: "genres"), ["genre 1"])
            try expectEqual(album.genres.count, 1)
            try expectEqual(try artist.labels(of: "albums").count, 5)
          }
        }
      }
    }
    both("members without an inverse are counted and paged, without deleted ones") { stack in
      try stack.write { context in
        let tracks = try (0..<5).map { try context.make("Track", ["title": "\($0)", "length": $0]) }
        let list = try context.make("Playlist", ["name": "list"])
        try list.setObjects(tracks.reversed(), for: "entries")
        try list.setObjects(tracks, for: "favourites")
      }
      try stack.read { context in
        let list = try context.one("Playlist")
        let entries = list[OrderedToManyKey<Track>("entries")]
        let favourites = list[ToManyKey<Track>("favourites")]
        try expectEqual([entries.count, favourites.count], [5, 5])
        try expectEqual(try entries.fetch(limit: 2, offset: 1).map(\.title), ["3", "2"])
        try expectEqual(try entries.first(2, sortedBy: [SortKey("length")]).map(\.title), ["0", "1"])
        try expectEqual(try favourites.request.filter(compare("length", .greater, 2)).count(), 2)
        context.delete(try context.one("Track", where: equal("title", "3")))
        try context.processPendingChanges()
        try expectEqual([entries.count, favourites.count], [4, 4])
        try expectEqual(try entries.fetch(limit: 2).map(\.title), ["4", "2"])
        try expectEqual(try favourites.request.filter(compare("length", .greater, 2)).count(), 1)
      }
    }
  }

  @CasesBuilder private static var pages: [Case] {
    both("a request over members finds a page in the order of the list or of a key") { stack in
      try fill(stack)
      try stack.read { context in
        let tracks = try album(context).tracks
        try expectEqual(tracks.first?.title, "track 11")
        try expectEqual(try tracks.fetch(limit: 3, offset: 2).map(\.title), ["track 9", "track 8", "track 7"])
        try expectEqual(try tracks.first(3, sortedBy: [SortKey("length")]).map(\.length), [0, 1, 2])
        let long = tracks.request.filter(compare("length", .greater, 8))
        try expectEqual(try long.count(), 3)
        try expectEqual(try long.fetch().map(\.length), [10, 11, 9])
        try expectEqual(try long.sort("length", .reverse).limit(2).fetch().map(\.length), [11, 10])
        try expectEqual(try long.limit(2, offset: 2).count(), 1)
        try expectEqual(try tracks.request.limit(0).first()?.title, nil)
        let albums = try artist(context).albums
        try expectEqual(albums.first?.title, "album 0")
        try expectEqual(try albums.first(2, sortedBy: [SortKey("year")]).map(\.title), ["album 5", "album 4"])
        try expectEqual(try albums.request.limit(nil, offset: 4).fetch().map(\.title), ["album 4", "album 5"])
        let genres = try album(context).genres
        try expectEqual(try genres.fetch(sortedBy: [SortKey("name", .reverse)]).map(\.name), ["genre 1", "genre 0"])
        try expectEqual(try genres.request.filter(equal("name", "genre 1")).count(), 1)
      }
    }
    both("a request over members with a bad key, a bad condition or a negative limit is refused") { stack in
      try fill(stack)
      try stack.read { context in
        let tracks = try album(context).tracks
        _ = try expectThrows(.unknownProperty) { try tracks.first(1, sortedBy: [SortKey("missing")]) }
        _ = try expectThrows(.unknownProperty) { try tracks.request.filter(equal("missing", 1)).count() }
        _ = try expectThrows(.invalidFetchRequest) { try tracks.fetch(limit: -1) }
        _ = try expectThrows(.invalidFetchRequest) { try tracks.request.limit(1, offset: -1).count() }
      }
    }
  }

  // MARK: Unsaved changes

  /// The results of a collection without loading its members, compared with the results of its loaded members.
  private struct Glance<Member: ManagedObject> {
    let key: String
    let limit: Int64
    let (count, isEmpty, filteredCount): (Int, Bool, Int)
    let first: Member?
    let (page, sorted, filtered): ([Member], [Member], [Member])

    init(
      _ request: MemberRequest<Member>, count: Int, isEmpty: Bool, first: Member?, key: String, limit: Int64
    ) throws {
      (self.key, self.limit) = (key, limit)
      (self.count, self.isEmpty, self.first) = (count, isEmpty, first)
      page = try request.limit(3, offset: 2).fetch()
      sorted = try request.sort(key, .reverse).limit(5, offset: 1).fetch()
      let long = request.filter(compare(key, .greater, limit))
      filtered = try long.fetch()
      filteredCount = try long.count()
    }

    func check(against all: [Member], _ what: String) throws {
      func number(_ member: Member) throws -> Int64 {
        if case .int(let number) = try member.value(for: key) { return number }
        return .min
      }
      let numbers = try all.map { (try number($0), $0) }
      let long = numbers.filter { $0.0 > limit }.map(\.1)
      try expectEqual(count, all.count, "\(what): count")
      try expectEqual(isEmpty, all.isEmpty, "\(what): isEmpty")
      try expectEqual(first, all.first, "\(what): first")
      try expectEqual(page, Array(all.dropFirst(2).prefix(3)), "\(what): page")
      let sorted = numbers.sorted { $0.0 > $1.0 }.map(\.1)
      try expectEqual(self.sorted, Array(sorted.dropFirst().prefix(5)), "\(what): sorted")
      try expectEqual(filtered, long, "\(what): filtered")
      try expectEqual(filteredCount, long.count, "\(what): number of filtered members")
    }
  }

  /// Makes random changes of the members of the first album and of the artist.
  private static func change(_ context: ManagedObjectContext, _ random: inout SplitMix64, _ next: inout Int) throws {
    let (album, other, artist) = (try album(context), try album(context, 1), try artist(context))
    let tracks = try context.all("Track").compactMap { $0 as? Track }
    for _ in 0..<random.number(0...5) {
      next += 1
      switch random.number(0...8) {
      case 0, 1:
        let track = try Track(context: context)
        (track.title, track.length) = ("new \(next)", Int32(20 + next))
        album.tracks.append(track)
      case 2: album.tracks.remove(random.pick(tracks))
      case 3: random.pick(tracks).album = random.chance(50) ? other : album
      case 4: random.pick(tracks).length = Int32(20 + next)
      case 5: context.delete(random.pick(tracks.filter { !$0.isDeleted }))
      case 6 where album.tracks.count > 1: album.tracks.move(from: album.tracks.count - 1, to: 0)
      case 7:
        let made = try Album(context: context)
        (made.title, made.year) = ("new \(next)", Int32(200 + next))
        made.artist = artist
      default:
        let albums = try context.all("Album").compactMap { $0 as? Album }
        random.pick(albums).artist = nil
        random.pick(albums).year = Int32(200 + next)
      }
      try context.processPendingChanges()
    }
  }

  @CasesBuilder private static var changes: [Case] {
    both("a collection tells of unsaved changes without its list as it does with it") { stack in
      try fill(stack)
      for seed in UInt64(0)..<40 {
        var random = SplitMix64(seed: seed)
        var next = 0
        let parent = stack.context()
        try parent.performAndWait { if random.chance(30) { try change(parent, &random, &next) } }
        let context = seed.isMultiple(of: 2) ? parent : ManagedObjectContext(parent: parent)
        try context.performAndWait {
          try change(context, &random, &next)
          let (album, artist) = (try album(context), try artist(context))
          let tracks = album.tracks
          let glance = try Glance(
            tracks.request, count: tracks.count, isEmpty: tracks.isEmpty, first: tracks.first, key: "length", limit: 5)
          let albums = artist.albums
          let other = try Glance(
            albums.request, count: albums.count, isEmpty: albums.isEmpty, first: albums.first, key: "year", limit: 97)
          try glance.check(against: tracks.map { $0 }, "tracks of seed \(seed)")
          try other.check(against: albums.map { $0 }, "albums of seed \(seed)")
        }
      }
    }
    both("a condition on members without an inverse sees the unsaved changes of their list") { stack in
      try stack.write { context in
        let tracks = try (0..<5).map { try context.make("Track", ["title": "\($0)", "length": $0]) }
        let list = try context.make("Playlist", ["name": "list"])
        try list.setObjects(Array(tracks.dropLast().reversed()), for: "entries")
        try list.setObjects(Array(tracks.dropLast()), for: "favourites")
      }
      let parent = stack.context()
      try parent.performAndWait {
        let list = try parent.one("Playlist")
        let removed = try unwrap(try parent.one("Track", where: equal("title", "2")) as? Track)
        let added = try unwrap(try parent.one("Track", where: equal("title", "4")) as? Track)
        list[OrderedToManyKey<Track>("entries")].remove(removed)
        list[OrderedToManyKey<Track>("entries")].append(added)
        list[ToManyKey<Track>("favourites")].remove(removed)
        list[ToManyKey<Track>("favourites")].insert(added)
        // The tracks have no unsaved changes: the playlist alone has the changes of its lists.
        let child = ManagedObjectContext(parent: parent)
        for context in [parent, child] {
          try context.performAndWait {
            let list = try context.one("Playlist")
            let entries = list[OrderedToManyKey<Track>("entries")].request.filter(compare("length", .greater, 0))
            let favourites = list[ToManyKey<Track>("favourites")].request.filter(compare("length", .greater, 0))
            try expectEqual(try entries.fetch().map(\.title), ["3", "1", "4"])
            try expectEqual(try favourites.fetch().map(\.title), ["1", "3", "4"])
            try expectEqual([try entries.count(), try favourites.count()], [3, 3])
          }
        }
      }
    }
    both("single members come and go without their list, and the save keeps the others") { stack in
      try fill(stack)
      try stack.write { context in
        let album = try album(context)
        let track = try unwrap(try context.one("Track", where: equal("title", "track 5")) as? Track)
        album.tracks.remove(track)
        let genres = try context.all("Genre", sort: [SortKey("name")]).compactMap { $0 as? Genre }
        album.genres.remove(genres[0])
        album.genres.remove(genres[3])
        album.genres.insert(genres[2])
        album.genres.insert(genres[1])
      }
      try stack.reopen()
      try stack.read { context in
        let album = try album(context)
        try expectEqual(try album.labels(of: "genres"), ["genre 1", "genre 2"])
        try expectEqual(
          try album.labels(of: "tracks"), (0..<12).reversed().filter { $0 != 5 }.map { "track \($0)" })
      }
    }
  }
}
