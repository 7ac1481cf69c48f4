import Coherence
import Foundation
import Testing

@Suite("The article about fetching")
struct FetchingGuideTests {
  /// Runs a block in a background context of a container with records.
  private func reading<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let container = try await Catalogue.filledContainer()
    return try await container.performBackgroundTask { try body($0) }
  }

  @Test func `a request has a condition, an order and a range`() async throws {
    let titles = try await reading { context in
      let request = FetchRequest(Album.self)
        .filter { $0.year >= 1960 && $0.artist.name.hasPrefix("Nina") }
        .sort(\.year, .reverse)
        .limit(10)
      let albums = try context.fetch(request)
      return albums.map(\.title)
    }
    #expect(titles == ["Wild Is the Wind", "Pastel Blues"])
  }

  @Test func `conditions on members`() async throws {
    let names = try await reading { context in
      let request = FetchRequest(Artist.self).filter { artist in
        artist.albums.any { $0.tracks.count > 2 } && !artist.country.isNil
      }
      return try context.fetch(request).map(\.name)
    }
    #expect(names == ["Nina Simone"])
  }

  @Test func `the same condition as text and by Foundation`() async throws {
    let counts = try await reading { context in
      let name = "Nina Simone"
      let byText = try FetchPredicate(format: "artist.name == %@ AND year BETWEEN {1960, 1969}", name)
      let byFoundation = try FetchRequest(Album.self)
        .filter(#Predicate { $0.artist?.name == name })
        .sort([SortDescriptor(\.title)])
      return [
        try context.count(for: FetchRequest(Album.self).filter(byText)), try context.fetch(byFoundation).count,
      ]
    }
    #expect(counts == [2, 2])
  }

  @Test func `filtered members, arithmetic and variables`() async throws {
    let names = try await reading { context in
      let request = FetchRequest(Artist.self).filter { artist in
        artist.albums.filter { $0.year % 10 >= 5 && $0.tracks.count * 2 < 10 }.count == 2
      }
      let byText = try FetchPredicate(
        format: "SUBQUERY(albums, $a, modulus:by:($a.year, 10) >= 5 AND $a.tracks.@count * 2 < 10).@count == 2")
      return try context.fetch(request).map(\.name)
        + context.fetch(FetchRequest(Artist.self).filter(byText)).map(\.name)
    }
    #expect(names == ["Nina Simone", "Nina Simone"])
    let (found, expected) = try await reading { context in
      let titleTracks = FetchRequest(Album.self).filter { album in album.tracks.any { $0.title == album.title } }
      let albums = try context.fetch(FetchRequest(Album.self))
      return (
        Set(try context.fetch(titleTracks).map(\.title)),
        Set(albums.filter { album in album.tracks.contains { $0.title == album.title } }.map(\.title))
      )
    }
    #expect(found == expected)
    let count = try await reading { context in
      let template = try FetchPredicate(format: "year / 10 == $decade AND artist.name IN $names")
      let predicate = try template.substituting(["decade": 196, "names": ["Nina Simone"]])
      return try context.count(for: FetchRequest(Album.self).filter(predicate))
    }
    #expect(count == 2)
  }

  @Test func `an order reaches over relationships`() async throws {
    let titles = try await reading { context in
      let albums = try context.fetch(FetchRequest(Album.self).sort(\.artist.name, .reverse).sort(\.title))
      return albums.map(\.title)
    }
    #expect(titles == ["Pastel Blues", "Wild Is the Wind", "Miss Perfumado"])
  }

  @Test func `an order follows the members`() async throws {
    let names = try await reading { context in
      let request = FetchRequest(Artist.self)
        .filter { $0.albums.maximum(\.year) >= 1960 }
        .sort(\.albums.count, .reverse)
        .sort { $0.albums.minimum(\.year) }
      return try context.fetch(request).map(\.name)
    }
    #expect(names == ["Nina Simone", "Cesária Évora"])
  }

  @Test func `single aggregates of a request`() async throws {
    let (first, average, countries, albumsByCountry) = try await reading { context in
      let albums = FetchRequest(Album.self).filter { $0.artist.name == "Nina Simone" }
      let first = try context.minimum(of: \.year, for: albums)
      let average = try context.average(of: \.year, for: albums)
      let countries = try context.distinctValues(of: \.artist.country, for: FetchRequest(Album.self))
      let albumsByCountry = try context.count(for: FetchRequest(Album.self), groupedBy: \.artist.country)
      return (first, average, countries, albumsByCountry)
    }
    #expect(first == 1965)
    #expect(average == 1965.5)
    #expect(countries == ["Cape Verde", "United States"])
    #expect(albumsByCountry == ["Cape Verde": 1, "United States": 2])
  }

  @Test func `rows of groups`() async throws {
    let lines = try await reading { context in
      var lines: [String] = []
      let request = FetchRequest(Track.self)
        .grouped { ($0.album.title, $0.count, $0.title.minimum) }
        .having { $0.count > 1 }
        .sort(\.count, .reverse)
        .limit(10)
      for (title, count, first) in try context.fetchRows(request) {
        lines.append("\(title ?? "no album"): \(count) tracks, \(first ?? "")")
      }
      return lines
    }
    #expect(lines == ["Pastel Blues: 3 tracks, Be My Husband"])
  }

  @Test func `rows of groups by names`() async throws {
    let rows = try await reading { context in
      var request = AggregateRequest(
        FetchRequest<ManagedObject>(entityName: "Album"), propertiesToGroupBy: ["artist.name"],
        propertiesToFetch: [.property("artist.name", named: "artist"), .count, .maximum(of: "year", named: "latest")])
      request.havingPredicate = try FetchPredicate(format: "@count > 1 OR latest > 1990")
      request.sortKeys = [SortKey("latest", .reverse)]
      let rows = try context.fetchDictionaries(request)
      return rows
    }
    #expect(
      rows == [
        ["artist": .string("Cesária Évora"), "@count": .int(1), "latest": .int(1992)],
        ["artist": .string("Nina Simone"), "@count": .int(2), "latest": .int(1966)],
      ])
  }

  @Test func `a property is read and written by its key`() async throws {
    let titles = try await reading { context in
      let album = try #require(try context.fetch(FetchRequest(Album.self).filter { $0.year == 1965 }).first)
      try album.setValue("Pastel Blue", for: \.title)
      let title = try album.value(for: \.title)
      let unsaved = album.changedValue(for: \.title)
      let saved = try album.committedValue(for: \.title)
      return [title, unsaved, saved]
    }
    #expect(titles == ["Pastel Blue", "Pastel Blue", "Pastel Blues"])
  }

  @Test func `a relationship is read and written by its key`() async throws {
    let name = try await reading { context in
      let album = try #require(try context.fetch(FetchRequest(Album.self).filter { $0.year == 1965 }).first)
      let single = try Album(context: context)
      let artist = try album.object(for: \.artist)
      try single.setObject(artist, for: \.artist)
      return single.artist?.name
    }
    #expect(name == "Nina Simone")
  }

  @Test func `committed values are those of the last read`() async throws {
    let (title, differs, hasArtist, count) = try await reading { context in
      let album = try #require(try context.fetch(FetchRequest(Album.self).filter { $0.year == 1965 }).first)
      album.title = "Pastel Blue"
      album.artist = nil
      album.tracks.removeAll()
      let committed = try album.committedValues(forKeys: ["title", "year"])
      let differs = album.hasPersistentChangedValues
      let formerArtist = try album.committedObjectID(for: \.artist)
      let formerTracks = try album.committedObjectIDs(for: \.tracks)
      return (committed["title"], differs, formerArtist != nil, formerTracks.count)
    }
    #expect(title == .string("Pastel Blues"))
    #expect(differs && hasArtist)
    #expect(count == 3)
  }

  @Test func `texts are compared by options`() async throws {
    let count = try await reading { context in
      let request = FetchRequest(Artist.self)
        .filter { $0.name.contains("cesaria", options: [.caseInsensitive, .diacriticInsensitive]) }
      return try context.count(for: request)
    }
    #expect(count == 1)
  }

  @Test func `relationships are loaded with the records`() async throws {
    let titles = try await reading { context in
      let request = FetchRequest(Artist.self).sort(\.name).prefetch(\.albums.tracks)
      let artists = try context.fetch(request)
      return artists.flatMap { $0.albums.flatMap { $0.tracks.map(\.title) } }
    }
    #expect(titles == ["Be My Husband", "Strange Fruit", "Sinnerman"])
  }

  @Test func `an entity without a class is fetched by its name`() async throws {
    let titles = try await reading { context in
      let albums = try context.fetch(FetchRequest<ManagedObject>(entityName: "Album").sort("title"))
      let titles = try albums.map { try $0.value(for: "title", as: String.self) }
      return titles
    }
    #expect(titles == ["Miss Perfumado", "Pastel Blues", "Wild Is the Wind"])
  }

  @Test func `batch requests change and delete records in the store`() async throws {
    let counts = try await reading { context in
      let changed = try context.execute(
        BatchUpdateRequest(Album.self, where: { $0.year < 1970 }) { $0.set(\.year, to: 1969) })
      let deleted = try context.execute(BatchDeleteRequest(Track.self, where: { $0.title == "Sinnerman" }))
      return [changed.count, deleted.count]
    }
    #expect(counts == [2, 1])
  }

  @Test func `a batch update calculates new values`() async throws {
    let years = try await reading { context in
      let later = try context.execute(
        BatchUpdateRequest(Album.self, where: { $0.year < 1970 }) { $0.set(\.year, $0.year + 1) })
      return try context.objects(for: later, as: Album.self).compactMap(\.year).sorted()
    }
    #expect(years == [1966, 1967])
  }

  @Test func `a batch insert makes new records and changes those with the same name`() async throws {
    let counts = try await reading { context in
      let names = ["Nina Simone", "Miriam Makeba"]
      let result = try context.execute(
        BatchInsertRequest(Artist.self, from: names, onDuplicate: .update(by: "name")) { row, name in
          row.set(\.name, to: name)
          row.set(\.country, to: "ZA")
        })
      print(result.inserted.count, result.updated.count)  // 1 1
      return [result.inserted.count, result.updated.count]
    }
    #expect(counts == [1, 1])
  }

  private struct ArtistRow {
    let name: String
    let country: String
  }

  @Test func `an import reads the stored records of all rows at once`() async throws {
    let counts = try await reading { context in
      let rows = [
        ArtistRow(name: "Nina Simone", country: "US"), ArtistRow(name: "Miriam Makeba", country: "ZA"),
      ]
      let stored = try context.fetch(FetchRequest(Artist.self).filter { $0.name.isIn(rows.map(\.name)) })
      var artists = Dictionary(uniqueKeysWithValues: stored.map { ($0.name, $0) })
      for row in rows {
        let artist = try artists[row.name] ?? Artist(context: context)
        artists[row.name] = artist
        artist.name = row.name
        artist.country = row.country
      }
      try context.save()
      return [stored.count, try context.count(for: FetchRequest(Artist.self))]
    }
    #expect(counts == [1, 3])
  }

  @Test func `a list loads its objects by pages`() async throws {
    let titles = try await reading { context in
      var titles: [String] = []
      let albums = try context.list(FetchRequest(Album.self).sort(\.title), batchSize: 100)
      let last = albums[albums.count - 1].title
      for album in albums { titles.append(album.title) }
      return titles + [last]
    }
    #expect(titles == ["Miss Perfumado", "Pastel Blues", "Wild Is the Wind", "Wild Is the Wind"])
  }

  @Test func `a request has a batch size`() async throws {
    let years = try await reading { context in
      let request = FetchRequest(Album.self).sort(\.year).batchSize(50)
      let first = try context.list(request).objects(in: 0..<2)
      return first.map(\.year)
    }
    #expect(years == [1965, 1966])
  }
}
