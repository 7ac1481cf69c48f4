import CoherenceCore
import CoherenceModelFiles

/// A model file with every feature that the generator knows.
enum MusicFile {
  static let file = ModelFile(
    name: "Music", entities: [release, single, track],
    composites: [
      .init(
        "Size",
        parts: [
          .init("width", .double), .init("height", .double, optional: true), .init("unit", .string, default: "cm"),
        ])
    ],
    configurations: [.init("Local", entities: ["Track", "Gone"])], fetchRequests: [.init("all", entity: "Track")],
    versionIdentifier: "2")

  private static let release = ModelFile.Entity(
    "Release", className: ".Release", isAbstract: true,
    attributes: [.init("title", .string, default: "", minimum: "1", maximum: "200")],
    relationships: [
      .init(
        "tracks", to: "Track", isToMany: true, isOrdered: true, optional: false, inverse: "release",
        deleteRule: .cascade, maximumCount: 99)
    ])

  private static let single = ModelFile.Entity(
    "Single", className: "Music.Single", parent: "Release",
    attributes: [.init("chart", .int16, optional: true, usesScalarValueType: true, default: "0")])

  private static let track = ModelFile.Entity(
    "Track", className: "Song", renamingIdentifier: "Piece", attributes: numbers + others + unusual,
    relationships: [
      .init("release", to: "Release", optional: false, inverse: "tracks"),
      .init("covers", to: "Track", isToMany: true, inverse: "original"),
      .init("original", to: "Track", inverse: "covers", deleteRule: .deny),
      .init("similar", to: "Track", isToMany: true, inverse: "similar"),
      .init("opened", to: "Release", isTransient: true),
    ],
    fetchedProperties: [.init("older", request: nil)],
    indexes: [
      .init("byCode", elements: [.init(property: "isrc"), .init(property: "size.width", isAscending: false)]),
      .init("bySum", elements: [.init(expression: "a + b")]),
    ],
    uniqueness: [["isrc"], ["release", "default"]], userInfo: ["team": "catalogue"])

  private static let numbers: [ModelFile.Attribute] = [
    .init(
      "default", .int64, optional: true, default: "12345678", renamingIdentifier: "standard",
      userInfo: ["unit": "a \"quote\"", "coherence.formerNames": "usual"]),
    .init("price", .decimal, default: "9.99", minimum: "0", maximum: "0.1234567890123456789"),
    .init("ratio", .double, optional: true, default: "0.5", minimum: "0", maximum: "1"),
    .init("loudness", .float, default: "-14"),
    .init("isHit", .bool, default: "NO"),
  ]

  private static let others: [ModelFile.Attribute] = [
    .init("isrc", .string, pattern: #"[A-Z]{2}\d+"#),
    .init("recorded", .date, default: "0"),
    .init("cover", .data, optional: true, maximum: "1000000"),
    .init("key", .uuid),
    .init("link", .url, optional: true),
  ]

  private static let unusual: [ModelFile.Attribute] = [
    .init("color", .transformable, optional: true, transformerName: "Colors", customClassName: "UIColor"),
    .init("codeFold", .string, optional: true, derivation: "canonical:(isrc)"),
    .init("changed", .date, default: "0", derivation: "now()"),
    .init("count", .int64, optional: true, derivation: "release.tracks.@count"),
    .init("releaseName", .string, optional: true, derivation: "release.name"),
    .init("genreCount", .int64, optional: true, derivation: "genres.@count"),
    .init("total", .double, optional: true, derivation: "genres.weight.@sum"),
    .init("isPlaying", .bool, isTransient: true, default: "NO"),
    .init("position", .double, isTransient: true),
    .init("device", "Undefined", optional: true, isTransient: true),
    .init("odd", "Undefined", optional: true),
    .init("size", .composite, optional: true, compositeName: "Size"),
    .init("area", .composite, parts: [.init("x", .double), .init("y", .float)]),
    .init("notes", .string, userInfo: ["coherence.type": "codable"]),
    .init("mood", .string, userInfo: ["coherence.type": "enumeration"]),
  ]
}
