import CoherenceModelMacros
import Foundation

// The model as classes with macros: every feature that a model file can express.

/// An enumeration of an attribute's values.
enum Format: String, CaseIterable, AttributeConvertible {
  case vinyl, tape
}

/// A value stored as JSON text.
struct Mastering: Codable, Sendable, Equatable {
  var isLoud = false
}

/// A composite with an optional part and a nested composite.
@Composite struct Cover: Sendable, Equatable {
  var width: Double
  var height: Double?
  var origin: Origin
}

/// A composite within a composite.
@Composite struct Origin: Sendable, Equatable {
  var x, y: Int32
}

/// A composite of a required attribute with a default.
@Composite struct Label: Sendable, Equatable {
  var text: String
  var language: String
}

/// An entity with every kind of property.
@Entity(formerNames: ["Song", "Piece"], userInfo: ["uniquenessAttributes": "isrc", "shelf": "A"])
final class Track: ManagedObject {
  @Attribute(.unique, .length(1...12), .pattern("[A-Z0-9]+"), formerNames: ["code", "number"]) var isrc: String
  var title = "Untitled"
  @Attribute(.minimum(0), .maximum(5), userInfo: ["unit": "star"]) var stars: Int16 = 3
  @Attribute(.minimum(1900)) var year: Int32?
  var plays = 0
  var gain: Float = -0.5
  var speed = 33.3
  @Attribute(.maximum(99.5)) var price: Decimal?
  var isLive = true
  @Attribute(.minimum(Date(timeIntervalSinceReferenceDate: 0))) var added: Date
  @Attribute(.maximumLength(1000)) var bytes: Data?
  var token: UUID
  var home: URL?
  var length: Duration?
  var format: Format = .tape
  @Attribute(.codable) var tags: [String]
  @Attribute(.codable) var mastering = Mastering(isLoud: true)
  @Attribute(.composite, formerNames: ["picture"]) var cover: Cover?
  @Attribute(.composite) var label = Label(text: "", language: "en")
  @Attribute(.transformable("color")) var color: Data?
  @Attribute(.derived(.canonical("title")), .indexed) var folded: String?
  @Attribute(.derived(.lowercase("title"))) var lower: String?
  @Attribute(.derived(.uppercase("title"))) var upper: String?
  @Attribute(.derived(.now)) var savedAt: Date?
  @Attribute(.derived(.path("release.name"))) var releaseName: String?
  @Attribute(.derived(.count("genres"))) var genreCount: Int?
  @Attribute(.derived(.sum("similar.plays"))) var playsOfSimilar: Int?
  @Attribute(.derived(.maximum("similar.speed"))) var fastest: Double?
  @Attribute(.derived(.minimum("similar.speed"))) var slowest: Double?
  @Attribute(.derived(.average("similar.speed"))) var meanSpeed: Double?
  @Relationship(inverse: \Release.tracks, required: true, formerNames: ["album"]) var release: Release?
  @Relationship(deleteRule: .deny, maximumCount: 3, userInfo: ["order": "name"]) var genres: ToMany<Genre>
  @Relationship(inverse: "twin") var twin: Track?
  @Relationship(inverse: "similar") var similar: ToMany<Track>
  @Relationship(inverse: nil, deleteRule: .noAction) var source: Track?
  @Transient var isPlaying = false

  #Index<Track>([\.title, \.stars], [\.release])
  #Unique<Track>([\.release, \.title])
}

/// An entity with another name than its class.
@Entity("Style") final class Genre: ManagedObject {
  var name = ""
  @Relationship(inverse: \Track.genres, minimumCount: 2) var tracks: ToMany<Track>
}

/// An abstract entity.
@Entity(abstract: true, formerNames: ["Album"]) class Release: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(deleteRule: .cascade) var tracks: OrderedToMany<Track>
}

/// A subentity with subentities.
@Subentity class Single: Release {
  var chart: Int32 = 7
}

/// A subentity of a subentity.
@Subentity final class Maxi: Single {
  var inches = 12
  #Index<Maxi>([\.name, \.inches])
}

/// A subentity without properties of its own.
@Subentity final class Compilation: Release {}
