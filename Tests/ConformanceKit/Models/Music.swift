import CoherenceCore
import Foundation

/// The model of most cases: a hierarchy of performers, and every kind of relationship.
enum Music {
  static let model = soundModel {
    performers
    recordings
    lists
  }

  @EntitiesBuilder private static var performers: [Entity] {
    Entity("Performer", class: Performer.self, isAbstract: true) {
      Attribute("name", .string)
      Attribute("country", .string, optional: true)
      Attribute("rating", .double, optional: true)
      Relationship("label", toOne: "Label", inverse: "performers")
      Relationship("albums", toMany: "Album", inverse: "artist")
    }
    Entity("Artist", class: Artist.self, parent: "Performer") {
      Attribute("born", .date, optional: true)
      Relationship("spouse", toOne: "Artist", inverse: "spouse")
      Relationship("mentor", toOne: "Artist", inverse: "pupils")
      Relationship("pupils", toMany: "Artist", inverse: "mentor")
      Relationship("friends", toMany: "Artist", inverse: "friends")
      Relationship("influences", toMany: "Artist", inverse: "followers")
      Relationship("followers", toMany: "Artist", inverse: "influences")
      Relationship("bands", toMany: "Band", inverse: "members")
    }
    Entity("Legend", class: Legend.self, parent: "Artist") {
      Attribute("honours", .int16, default: 1)
    }
    Entity("Band", class: Band.self, parent: "Performer") {
      Attribute("formed", .int32, optional: true)
      Relationship("members", toMany: "Artist", inverse: "bands", ordered: true)
    }
    Entity("Label") {
      Attribute("name", .string)
      Relationship("performers", toMany: "Performer", inverse: "label")
    }
  }

  @EntitiesBuilder private static var recordings: [Entity] {
    Entity("Album", class: Album.self, uniqueness: [["barcode"]], indexes: [["year"], ["artist", "year"]]) {
      Attribute("title", .string)
      Attribute("year", .int32, optional: true)
      Attribute("price", .decimal, optional: true)
      Attribute("released", .date, optional: true)
      Attribute("isLive", .bool, default: false)
      Attribute("format", .enumeration(AlbumFormat.self), default: AlbumFormat.vinyl)
      Attribute("barcode", .string, optional: true)
      Relationship("artist", toOne: "Performer", inverse: "albums")
      Relationship("tracks", toMany: "Track", inverse: "album", ordered: true, deleteRule: .cascade)
      Relationship("genres", toMany: "Genre", inverse: "albums")
      Relationship("cover", toOne: "Cover", inverse: "album", deleteRule: .cascade)
    }
    Entity("Track", class: Track.self) {
      Attribute("title", .string)
      Attribute("length", .int32, default: 0)
      Relationship("album", toOne: "Album", inverse: "tracks")
    }
    Entity("Genre", class: Genre.self, uniqueness: [["name"]]) {
      Attribute("name", .string)
      Relationship("albums", toMany: "Album", inverse: "genres")
      Relationship("parent", toOne: "Genre", inverse: "children")
      Relationship("children", toMany: "Genre", inverse: "parent")
    }
    Entity("Cover") {
      Attribute("image", .data, optional: true)
      Relationship("album", toOne: "Album", inverse: "cover")
    }
  }

  @EntitiesBuilder private static var lists: [Entity] {
    Entity("Playlist") {
      Attribute("name", .string)
      Relationship("entries", toMany: "Track", inverse: nil, ordered: true)
      Relationship("favourites", toMany: "Track", inverse: nil)
      Relationship("pinned", toOne: "Track", inverse: nil)
    }
  }
}

enum AlbumFormat: String, CaseIterable, AttributeConvertible {
  case vinyl, disc, file
}
