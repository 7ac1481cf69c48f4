import CoherenceCore
import Foundation
import Testing

@Suite struct QueryTypedExpressionTests {
  typealias Album = QueryLibrary.Album
  let library: QueryLibrary

  init() throws { library = try QueryLibrary() }

  private func format(_ condition: (QueryScope<Album>) -> FetchPredicate) -> String {
    FetchPredicate(Album.self, condition).description
  }

  @Test func `comparisons with values, with nil and with enumerations`() {
    #expect(
      format { $0.year > 1990 && $0.artist.name.hasPrefix("A") } == "year > 1990 AND artist.name BEGINSWITH \"A\"")
    #expect(format { $0.year == nil || $0.year != 3 } == "year == NULL OR year != 3")
    #expect(format { $0.year <= 1 && $0.year >= 2 && $0.rating < 3 } == "year <= 1 AND year >= 2 AND rating < 3.0")
    #expect(format { !($0.mood == .wild) } == "NOT (mood == \"wild\")")
    #expect(format { $0.mood.isIn([.wild, .calm]) } == "mood IN {\"wild\", \"calm\"}")
    #expect(format { $0.year.isIn([1, 2]) } == "year IN {1, 2}")
    #expect(format { $0.rating.isBetween(1, 2.5) } == "rating BETWEEN {1.0, 2.5}")
    #expect(format { $0.subtitle.isNil } == "subtitle == NULL")
    #expect(format { $0.isLive == true } == "isLive == TRUE")
    #expect(format { $0.price == 3 } == "price == CAST(\"3\", \"Decimal\")")
  }

  @Test func `comparisons of attributes`() {
    #expect(format { $0.title == $0.artist.name } == "title == artist.name")
    #expect(format { $0.title.optional == $0.subtitle } == "title == subtitle")
    #expect(format { $0["size.width", as: Double.self] > $0.rating } == "size.width > rating")
  }

  @Test func `comparisons of texts with options`() {
    #expect(format { $0.subtitle.contains("x", options: .caseInsensitive) } == "subtitle CONTAINS[c] \"x\"")
    #expect(format { $0.title.hasSuffix("x") && $0.title.like("*") } == "title ENDSWITH \"x\" AND title LIKE \"*\"")
    #expect(format { $0.title.matches("x+") } == "title MATCHES \"x+\"")
    #expect(
      format { $0.title.equals("x", options: [.caseInsensitive, .diacriticInsensitive]) } == "title ==[cd] \"x\"")
  }

  @Test func `relationships, members and counts`() throws {
    let album = try library.makeAlbum()
    let artist = try #require(album.targets["artist"])
    let track = try #require(album.members["tracks"]).first
    #expect(format { $0.artist.isNil || $0.artist == nil || $0.artist != nil }.contains("artist != NULL"))
    #expect(format { $0.artist == $0.producer } == "artist == producer")
    #expect(format { $0.tracks.any { $0.length > 300 && $0.title != "" } }.hasPrefix("ANY tracks (length > 300 AND"))
    #expect(format { $0.tracks.all { $0.length > 3 } } == "ALL tracks (length > 3)")
    #expect(format { $0.artist.albums.none { $0.year == nil } } == "NONE artist.albums (year == NULL)")
    #expect(format { $0.tracks.count > 2 && $0.tracks.isEmpty } == "tracks.@count > 2 AND tracks.@count == 0")
    let condition = FetchPredicate(Album.self) {
      $0.artist == artist.id && $0 == album.id && $0.artist.isIn([artist.id])
        && $0.tracks.contains(track?.id ?? album.id)
    }
    #expect(try library.holds(condition, for: album))
  }

  @Test func `a long condition is one flat conjunction`() throws {
    let condition = FetchPredicate(Album.self) {
      $0.year > 1 && $0.year < 3000 && $0.rating >= 0 && $0.rating <= 5 && $0.title != "" && $0.subtitle == nil
        && $0.title.hasPrefix("B") && !$0.title.hasSuffix("x") && $0.artist.name != "" && $0.artist.country == nil
        && ($0.mood == .wild || $0.mood == .calm) && $0.tracks.any { $0.length > 300 } && $0.tracks.count == 2
        && $0.price > 1 && $0.price < 100 && $0.isLive == true && $0.year.isIn([1990, 1991]) && $0.producer == nil
        && $0.title.contains("Note") && $0.year != nil
    }
    guard case .and(let parts) = condition else {
      Issue.record("The predicate is not a conjunction.")
      return
    }
    #expect(parts.count == 20)
    #expect(try library.holds(condition, for: try library.makeAlbum()))
  }

  @Test func `a key path without a name is refused when it is resolved in an entity`() throws {
    let album = try library.entity("Album")
    let condition = try FetchPredicate(#Predicate<Album> { $0.nameless == "x" })
    let error = #expect(throws: CoherenceError.self) { try PreparedPredicate(condition, for: album) }
    #expect(error?.code == .invalidPredicate)
    #expect(error?.message.contains("Album.propertyNames") == true)
    let order = [try SortKey(SortDescriptor(\Album.nameless))]
    let orderError = #expect(throws: CoherenceError.self) { try PreparedOrder(order, for: album) }
    #expect(orderError?.code == .invalidPredicate)
  }

  @Test func `requests are ordered by attributes, by attributes of targets and by Foundation's descriptors`() throws {
    let request = try FetchRequest(Album.self).filter { $0.year > 1 }.filter { $0.rating > 2 }
      .sort(\.year, .reverse).sort(\.artist.name, options: .caseInsensitive).sort("title")
      .sort([SortDescriptor(\.rating, order: .reverse), SortDescriptor(\.price)])
    #expect(
      request.sortKeys == [
        SortKey("year", .reverse), SortKey("artist.name", options: .caseInsensitive), SortKey("title"),
        SortKey("rating", .reverse), SortKey("price"),
      ])
    #expect(request.predicate?.description == "year > 1 AND rating > 2.0")
  }

  @Test func `a request takes a predicate of Foundation as a further condition`() throws {
    let request = try FetchRequest(Album.self).filter { $0.year > 1 }.filter(#Predicate { $0.artist?.name == "x" })
    #expect(request.predicate?.description == "year > 1 AND artist.name == \"x\"")
  }

  @Test func `paths of relationships to load are given by key paths or by names`() {
    let request = FetchRequest(Album.self).prefetch(\.artist).prefetch(\.tracks.album.artist).prefetch("producer")
    #expect(request.relationshipsForPrefetching == ["artist", "tracks.album.artist", "producer"])
  }

  @Test func `batch requests of a class have its entity, a typed condition and typed values`() {
    let update = BatchUpdateRequest(Album.self, where: { $0.artist.name == "x" }) {
      $0.set(\.year, to: nil)
      $0.set(\.mood, to: .calm)
      $0.set(\.mood, to: .wild)
    }
    #expect(update.entityName == "Album" && update.values == ["year": .null, "mood": .string("wild")])
    #expect(update.predicate?.description == "artist.name == \"x\"")
    let delete = BatchDeleteRequest(Album.self, where: { $0.isLive == true })
    #expect(delete.entityName == "Album" && delete.predicate?.description == "isLive == TRUE")
    #expect(BatchDeleteRequest(Album.self).predicate == nil)
  }
}
