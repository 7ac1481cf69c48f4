import Coherence
import Foundation
import Testing

@Suite("The article about values that travel")
struct ValuesGuideTests {
  @Test func `identifiers are fetched, written as texts, and lead back to their records`() async throws {
    let container = try await Catalogue.filledContainer()
    let coordinator = container.persistentStoreCoordinator
    let titles = try await container.performBackgroundTask { context in
      let ids = try context.fetchIDs(FetchRequest(Album.self).sort(\.year))
      let albums = try context.objects(for: ids, as: Album.self)
      return albums.map(\.title)
    }
    #expect(titles == ["Pastel Blues", "Wild Is the Wind", "Miss Perfumado"])
    let isSame = try await container.performBackgroundTask { context in
      let album = try context.fetch(FetchRequest(Album.self))[0]
      let text = try StoredObjectID(album.objectID).description
      let id = try coordinator.objectID(for: StoredObjectID(text: text))
      return id == album.objectID
    }
    #expect(isSame)
  }

  @Test func `snapshots of all properties are read, applied and inserted`() async throws {
    let container = try await Catalogue.filledContainer()
    let years = try await container.performBackgroundTask { context in
      let snapshots = try context.snapshots(of: FetchRequest(Album.self).sort(\.title))
      let album = try context.fetch(FetchRequest(Album.self).sort(\.title))[2]
      var snapshot = try album.snapshot()
      snapshot.year = 1967
      try album.apply(snapshot)
      snapshot.objectID = nil
      let copy = try context.insert(snapshot)
      return snapshots.map(\.year) + [album.year, copy.year]
    }
    #expect(years == [1992, 1965, 1966, 1967, 1967])
  }

  @Test func `snapshots of some properties are read, coded and applied`() async throws {
    let container = try await Catalogue.filledContainer()
    let cards = try await container.performBackgroundTask { context in
      let cards = try context.snapshots(of: FetchRequest(Album.self).sort(\.title), as: AlbumCard.self)
      return cards
    }
    #expect(cards.map(\.year) == [1992, 1965, 1966])
    let data = try JSONEncoder().encode(cards)
    #expect(try JSONDecoder().decode([AlbumCard].self, from: data) == cards)
    let years = try await container.performBackgroundTask { context in
      let album = try context.fetch(FetchRequest(Album.self).sort(\.title))[2]
      var card = try AlbumCard(album)
      card.year = 1967
      try album.apply(card)
      return [album.year]
    }
    #expect(years == [1967])
  }
}

struct AlbumCard: EntitySnapshot {
  typealias Object = Album
  var objectID: ManagedObjectID?
  var title: String
  var year: Int?
  var artist: ManagedObjectID?

  static var fields: [SnapshotField] {
    let properties = Album.Properties.table
    return [SnapshotField(properties.title), SnapshotField(properties.year), SnapshotField(properties.artist)]
  }
  init(reading values: inout SnapshotReader) {
    objectID = values.objectID
    title = values.read()
    year = values.read()
    artist = values.read()
  }
  func write(to values: inout SnapshotWriter) {
    values.write(title)
    values.write(year)
    values.write(artist)
  }
}
