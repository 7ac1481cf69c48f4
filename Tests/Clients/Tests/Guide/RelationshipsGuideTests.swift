import Coherence
import CoherenceModelMacros
import Foundation
import Testing

@Suite("The article about relationships")
struct RelationshipsGuideTests {
  private func writing<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    let container = try await Catalogue.filledContainer()
    return try await container.performBackgroundTask { try body($0) }
  }

  @Test func `one side sets the other`() async throws {
    let isMember = try await writing { context in
      let artist = try Artist(context: context)
      artist.name = "Mayra Andrade"
      let album = try Album(context: context)
      album.title = "Stória, stória…"
      album.artist = artist
      let isMember = artist.albums.contains(album)  // true
      try context.save()
      return isMember
    }
    #expect(isMember)
  }

  @Test func `the members of a list have an order`() async throws {
    let titles = try await writing { context in
      let request = FetchRequest(Album.self).filter { $0.title == "Pastel Blues" }
      let album = try #require(try context.fetch(request).first)
      let track = try Track(context: context)
      track.title = "End of the Line"
      album.tracks.insert(track, at: 1)
      album.tracks.move(from: 3, to: 0)
      try context.save()
      return album.tracks.map(\.title)
    }
    #expect(titles == ["Sinnerman", "Be My Husband", "End of the Line", "Strange Fruit"])
  }

  @Test func `members are filtered by the store`() async throws {
    let titles = try await writing { context in
      let artist = try #require(try context.fetch(FetchRequest(Artist.self).filter { $0.name == "Nina Simone" }).first)
      let recent = try artist.albums.filtered { $0.year > 1965 }
      return recent.map(\.title)
    }
    #expect(titles == ["Wild Is the Wind"])
  }

  @Test func `a list returns its size and its pages without loading its members`() async throws {
    let titles = try await writing { context in
      let artist = try #require(try context.fetch(FetchRequest(Artist.self).filter { $0.name == "Nina Simone" }).first)
      let album = try #require(try context.fetch(FetchRequest(Album.self).filter { $0.title == "Pastel Blues" }).first)
      let track = try #require(try context.fetch(FetchRequest(Track.self).filter { $0.title == "Sinnerman" }).first)
      let count = album.tracks.count
      let isOnAlbum = album.tracks.contains(track)
      let opener = album.tracks.first
      let page = try album.tracks.fetch(limit: 20, offset: 40)
      let latest = try artist.albums.first(10, sortedBy: \.year, .reverse)
      return ["\(count)", "\(isOnAlbum)", opener?.title ?? "", "\(page.count)"] + latest.map(\.title)
    }
    #expect(titles == ["3", "true", "Be My Husband", "0", "Wild Is the Wind", "Pastel Blues"])
  }

  @Test func `a request over members has a condition, an order and a range`() async throws {
    let found = try await writing { context in
      let artist = try #require(try context.fetch(FetchRequest(Artist.self).filter { $0.name == "Nina Simone" }).first)
      let older = artist.albums.request.filter { $0.year < 1967 }.sort(\.year, .reverse)
      let number = try older.count()
      let titles = try older.limit(1, offset: 1).fetch().map(\.title)
      return ["\(number)"] + titles
    }
    #expect(found == ["2", "Pastel Blues"])
  }

  @Test func `a cascade deletes the members too`() async throws {
    let counts = try await writing { context in
      let artist = try #require(try context.fetch(FetchRequest(Artist.self).filter { $0.name == "Nina Simone" }).first)
      context.delete(artist)
      try context.save()
      let albums = try context.count(for: FetchRequest(Album.self))  // those of other artists
      return [albums, try context.count(for: FetchRequest(Track.self))]
    }
    #expect(counts == [1, 0])
  }

  @Test func `the names of relationships are enough`() async throws {
    let count = try await writing { context in
      let album = try #require(try context.fetch(FetchRequest(Album.self).sort(\.title)).first)
      let artist = try album.object(for: "artist")
      let tracks = try album.objects(for: "tracks")
      try album.setObjects([], for: "tracks")
      #expect(artist?.objectID == album.artist?.objectID)
      return tracks.count
    }
    #expect(count == 0)
  }

  @Test func `a class without hooks of deletes declares so`() throws {
    let model = try ManagedObjectModel { Entity("Stamp", class: Stamp.self) { Attribute("name", .string) } }
    #expect(model.entitiesByName["Stamp"]?.objectClass == Stamp.self)
  }

  @Test func `a weak reference leads to a record of any store`() async throws {
    let model = try ManagedObjectModel(Artist.self, Album.self, Track.self, Loan.self, name: "Loans")
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Loans", managedObjectModel: model)
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let titles = try await container.performBackgroundTask { context in
      let album = try Album(context: context)
      album.title = "Pastel Blues"
      let loan = try Loan(context: context)
      loan.album = try WeakReference(to: album)
      let lent = loan.referencedObject(for: \.album)
      let loans = try context.fetch(FetchRequest(Loan.self).filter { $0.album == loan.album })
      try context.save()
      return [lent?.title, "\(loans.count)"]
    }
    #expect(titles == ["Pastel Blues", "1"])
  }

  @Test func `a fetched property finds records by the values of its object`() async throws {
    let titles = try await writing { context in
      let request = FetchRequest(Album.self).filter { $0.title == "Miss Perfumado" }
      let album = try #require(try context.fetch(request).first)
      return album.earlier.map(\.title)
    }
    #expect(titles == ["Pastel Blues", "Wild Is the Wind"])
    let earlier = FetchedProperty(
      "earlier", of: "Album", where: "year < $FETCH_SOURCE.year", sortedBy: [SortKey("year")])
    #expect(earlier.predicate?.contains("FETCH_SOURCE") == true)
  }
}

final class Stamp: ManagedObject {
  override class var deletionHooks: DeletionHooks { DeletionHooks(of: Stamp.self, overriding: []) }
}

@Entity final class Loan: ManagedObject {
  var place = ""
  var album: WeakReference<Album>?
}

extension Album {
  static let earlierKey = FetchedKey<Album, Album> { album in
    let year = album.year ?? 0
    return FetchRequest(Album.self).filter { $0.year < year }.sort(\.year)
  }
  var earlier: [Album] { self[Self.earlierKey] }
}
