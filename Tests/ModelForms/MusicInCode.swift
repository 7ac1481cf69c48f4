import CoherenceCore
import Foundation

/// The entities of `Music.swift` as declarations in code.
let musicInCode: [Entity] = [
  Entity(
    "Track", class: Track.self, uniqueness: [["isrc"], ["release", "title"]],
    indexes: [["folded"], ["title", "stars"], ["release"]], formerNames: ["Song", "Piece"],
    userInfo: ["uniquenessAttributes": "isrc", "shelf": "A"]
  ) {
    for property in plainAttributes + otherAttributes + relationships { property }
  },
  Entity("Style", class: Genre.self) {
    Attribute("name", .string, default: "")
    Relationship("tracks", toMany: "Track", inverse: "genres", minimumCount: 2)
  },
  Entity("Release", class: Release.self, isAbstract: true, uniqueness: [["name"]], formerNames: ["Album"]) {
    Attribute("name", .string)
    Relationship("tracks", toMany: "Track", inverse: "release", ordered: true, deleteRule: .cascade)
  },
  Entity("Single", class: Single.self, parent: "Release") { Attribute("chart", .int32, default: 7) },
  Entity("Maxi", class: Maxi.self, parent: "Single", indexes: [["name", "inches"]]) {
    Attribute("inches", .int64, default: 12)
  },
  Entity("Compilation", class: Compilation.self, parent: "Release"),
]

private let plainAttributes: [any PropertyDeclaration] = [
  Attribute(
    "isrc", .string, validation: [.minimumLength(1), .maximumLength(12), .pattern("[A-Z0-9]+")],
    formerNames: ["code", "number"]),
  Attribute("title", .string, default: "Untitled"),
  Attribute(
    "stars", .int16, default: 3, validation: [.minimum(.int(0)), .maximum(.int(5))], userInfo: ["unit": "star"]),
  Attribute("year", .int32, optional: true, validation: [.minimum(.int(1900))]),
  Attribute("plays", .int64, default: 0),
  Attribute("gain", .float, default: -0.5),
  Attribute("speed", .double, default: 33.3),
  Attribute("price", .decimal, optional: true, validation: [.maximum(.decimal(99.5))]),
  Attribute("isLive", .bool, default: true),
  Attribute("added", .date, validation: [.minimum(Date(timeIntervalSinceReferenceDate: 0).attributeValue)]),
  Attribute("bytes", .data, optional: true, validation: [.maximumLength(1000)]),
  Attribute("token", .uuid),
  Attribute("home", .url, optional: true),
]

private let otherAttributes: [any PropertyDeclaration] = [
  Attribute("length", .int64, optional: true),
  Attribute("format", .enumeration(raw: .string, cases: ["vinyl", "tape"].attributeValues), default: "tape"),
  Attribute("tags", .codable),
  Attribute("mastering", .codable, default: #"{"isLoud":true}"#),
  CompositeAttribute(
    "cover",
    parts: [
      Attribute("width", .double, optional: true, formerNames: ["picture.width"]),
      Attribute("height", .double, optional: true, formerNames: ["picture.height"]),
      Attribute("origin.x", .int32, optional: true, formerNames: ["picture.origin.x"]),
      Attribute("origin.y", .int32, optional: true, formerNames: ["picture.origin.y"]),
    ]),
  CompositeAttribute(
    "label", parts: [Attribute("text", .string, default: ""), Attribute("language", .string, default: "en")]),
  Attribute("color", .transformable("color"), optional: true),
  Attribute("folded", .string, optional: true, derived: .canonical("title")),
  Attribute("lower", .string, optional: true, derived: .lowercase("title")),
  Attribute("upper", .string, optional: true, derived: .uppercase("title")),
  Attribute("savedAt", .date, optional: true, derived: .now),
  Attribute("releaseName", .string, derived: .path("release.name")),
  Attribute("genreCount", .int64, derived: .count("genres")),
  Attribute("playsOfSimilar", .int64, derived: .sum("similar.plays")),
  Attribute("fastest", .double, derived: .maximum("similar.speed")),
  Attribute("slowest", .double, derived: .minimum("similar.speed")),
  Attribute("meanSpeed", .double, derived: .average("similar.speed")),
]

private let relationships: [any PropertyDeclaration] = [
  Relationship("release", toOne: "Release", inverse: "tracks", optional: false, formerNames: ["album"]),
  Relationship(
    "genres", toMany: "Style", inverse: "tracks", maximumCount: 3, deleteRule: .deny, userInfo: ["order": "name"]),
  Relationship("twin", toOne: "Track", inverse: "twin"),
  Relationship("similar", toMany: "Track", inverse: "similar"),
  Relationship("source", toOne: "Track", inverse: nil, deleteRule: .noAction),
]

extension [String] {
  fileprivate var attributeValues: Set<AttributeValue> { Set(map(\.attributeValue)) }
}
