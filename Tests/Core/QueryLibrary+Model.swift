import CoherenceCore
import Foundation

extension QueryLibrary {
  enum Mood: String, AttributeConvertible, CaseIterable { case calm, wild }

  final class Artist: ManagedObject {
    var name: String { "" }
    var country: String? { nil }
    var albums: ToMany<Album> { self[Properties.table.albums] }

    struct Properties: EntityProperties {
      static let table = Properties()
      let name = AttributeKey<String>("name")
      let country = AttributeKey<String?>("country")
      let albums = ToManyKey<Album>("albums")
    }
  }

  final class Album: ManagedObject {
    var title: String { "" }
    var subtitle: String? { nil }
    var year: Int32? { nil }
    var rating: Double { 0 }
    var price: Decimal { 0 }
    var isLive: Bool { false }
    var mood: Mood { .calm }
    var artist: Artist? { nil }
    var producer: Artist? { nil }
    var tracks: ToMany<Track> { self[Properties.table.tracks] }
    /// Deliberately missing in the table of names.
    var nameless: String { "" }

    struct Properties: EntityProperties {
      static let table = Properties()
      let title = AttributeKey<String>("title")
      let subtitle = AttributeKey<String?>("subtitle")
      let year = AttributeKey<Int32?>("year")
      let rating = AttributeKey<Double>("rating")
      let price = AttributeKey<Decimal>("price")
      let isLive = AttributeKey<Bool>("isLive")
      let mood = AttributeKey<Mood>("mood")
      let artist = ToOneKey<Artist>("artist")
      let producer = ToOneKey<Artist>("producer")
      let tracks = ToManyKey<Track>("tracks")
    }
  }

  final class Track: ManagedObject {
    var title: String { "" }
    var length: Int { 0 }
    var album: Album? { nil }

    struct Properties: EntityProperties {
      static let table = Properties()
      let title = AttributeKey<String>("title")
      let length = AttributeKey<Int>("length")
      let album = ToOneKey<Album>("album")
    }
  }

  static func makeModel() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Artist.entityDeclaration
      Entity("Item", isAbstract: true) {
        Attribute("title", .string)
        Attribute("subtitle", .string, optional: true)
      }
      Album.entityDeclaration
      Entity("Book", parent: "Item") {
        Attribute("pages", .int32, optional: true)
        Relationship("author", toOne: "Artist", inverse: nil)
      }
      Track.entityDeclaration
    }
  }

  /// An album of two tracks by an artist.
  func makeAlbum() throws -> Record {
    let artist = try make("Artist", ["name": "Zoë Åkerman"])
    let album = try make(
      "Album",
      [
        "title": "Blue Note", "year": 1990, "rating": 4.5, "price": Decimal(string: "9.99") ?? 0, "isLive": true,
        "mood": Mood.wild, "weight": 0.5, "size.width": 30.0, "released": Date(timeIntervalSince1970: 600_000_000),
      ])
    album.targets["artist"] = artist
    artist.members["albums"] = [album]
    for (title, length) in [("Opening", 200), ("Closing", 400)] {
      let track = try make("Track", ["title": title, "length": length])
      track.targets["album"] = album
      album.members["tracks", default: []].append(track)
    }
    return album
  }
}

extension QueryLibrary.Artist: DeclaredEntity {
  static var entityName: String { "Artist" }
  static var entityDeclaration: Entity {
    Entity("Artist", class: QueryLibrary.Artist.self) {
      Attribute("name", .string)
      Attribute("country", .string, optional: true)
      Relationship("albums", toMany: "Album", inverse: "artist")
    }
  }
  static var propertyNames: [AnyKeyPath: String] {
    [
      \QueryLibrary.Artist.name: "name", \QueryLibrary.Artist.country: "country",
      \QueryLibrary.Artist.albums: "albums",
    ]
  }
}

extension QueryLibrary.Album: DeclaredEntity {
  static var entityName: String { "Album" }
  static var entityDeclaration: Entity {
    Entity("Album", class: QueryLibrary.Album.self, parent: "Item") {
      Attribute("year", .int32, optional: true)
      Attribute("rating", .double, optional: true)
      Attribute("weight", .float, optional: true)
      Attribute("price", .decimal, optional: true)
      Attribute("isLive", .bool, optional: true)
      Attribute("mood", .enumeration(QueryLibrary.Mood.self), optional: true)
      Attribute("released", .date, optional: true)
      Attribute("code", .uuid, optional: true)
      Attribute("cover", .data, optional: true)
      CompositeAttribute("size", parts: [Attribute("width", .double, optional: true)])
      Relationship("artist", toOne: "Artist", inverse: "albums")
      Relationship("producer", toOne: "Artist", inverse: nil)
      Relationship("tracks", toMany: "Track", inverse: "album", ordered: true)
    }
  }
  static var propertyNames: [AnyKeyPath: String] {
    [
      \QueryLibrary.Album.title: "title", \QueryLibrary.Album.subtitle: "subtitle", \QueryLibrary.Album.year: "year",
      \QueryLibrary.Album.rating: "rating", \QueryLibrary.Album.price: "price", \QueryLibrary.Album.isLive: "isLive",
      \QueryLibrary.Album.mood: "mood", \QueryLibrary.Album.artist: "artist",
      \QueryLibrary.Album.producer: "producer", \QueryLibrary.Album.tracks: "tracks",
    ]
  }
}

extension QueryLibrary.Track: DeclaredEntity {
  static var entityName: String { "Track" }
  static var entityDeclaration: Entity {
    Entity("Track", class: QueryLibrary.Track.self) {
      Attribute("title", .string)
      Attribute("length", .int64)
      Relationship("album", toOne: "Album", inverse: "tracks")
    }
  }
  static var propertyNames: [AnyKeyPath: String] {
    [
      \QueryLibrary.Track.title: "title", \QueryLibrary.Track.length: "length", \QueryLibrary.Track.album: "album",
    ]
  }
}
