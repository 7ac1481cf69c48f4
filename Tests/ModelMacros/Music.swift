import CoherenceModelMacros
import Foundation

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

/// An entity with every kind of property.
@Entity(formerNames: ["Song"], userInfo: ["shelf": "A"])
final class Track: ManagedObject {
  @Attribute(.unique, .length(1...12), .pattern("[A-Z0-9]+"), formerNames: ["code"]) var isrc: String
  var title = "Untitled"
  @Attribute(.minimum(0), .maximum(5), userInfo: ["unit": "star"]) var stars: Int16 = 3
  var length: Duration?
  var format: Format = .tape
  var createdAt = Date()
  var token = UUID()
  var `default` = -1
  @Attribute(.codable) var tags: [String]
  @Attribute(.codable) var mastering = Mastering(isLoud: true)
  @Attribute(.composite, formerNames: ["picture"]) var cover: Cover?
  @Attribute(.transformable("color")) var color: Data?
  @Attribute(.derived(.canonical("title")), .indexed) var foldedTitle: String?
  @Relationship(inverse: \Release.tracks, required: true, formerNames: ["album"]) var release: Release?
  @Relationship(deleteRule: .deny, minimumCount: 0, maximumCount: 3) var genres: ToMany<Genre>
  @Relationship(inverse: "twin") var twin: Track?
  @Transient var isPlaying = false
  @Transient lazy var words = title.split(separator: " ")
  private var note: String?
  private(set) var plays = 0
  var heading: String { "\(title) (\(stars))" }
  static let limit = 5

  #Index<Track>([\.title, \.stars], [\.release])
  #Unique<Track>([\.release, \.title])

  /// Sets the properties that other files only read.
  func play(_ note: String) {
    self.note = note
    plays += 1
  }
}

/// An entity with another name than its class.
@Entity("Style") final class Genre: ManagedObject {
  var name = ""
  @Relationship(inverse: \Track.genres) var tracks: ToMany<Track>
}

/// An abstract entity.
@Entity(abstract: true) class Release: ManagedObject {
  @Attribute(.unique) var name: String
  @Relationship(deleteRule: .cascade) var tracks: OrderedToMany<Track>
}

/// A subentity with subentities.
@Subentity class Single: Release {
  var chart: Int32 = 7
  var since = Date()
}

/// A subentity of a subentity.
@Subentity final class Maxi: Single {
  var inches = 12
  var pressedAt = Date()
  #Index<Maxi>([\.name, \.inches])
}

/// A subentity without properties of its own.
@Subentity final class Compilation: Release {}
