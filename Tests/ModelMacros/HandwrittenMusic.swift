import CoherenceModelMacros

/// The model of `Music.swift`, declared in code.
let handwrittenMusic: [Entity] = [
  Entity(
    "Track", class: Track.self, uniqueness: [["isrc"], ["release", "title"]],
    indexes: [["foldedTitle"], ["title", "stars"], ["release"]], formerNames: ["Song"], userInfo: ["shelf": "A"]
  ) {
    Attribute(
      "isrc", .string, validation: [.minimumLength(1), .maximumLength(12), .pattern("[A-Z0-9]+")], formerNames: ["code"]
    )
    Attribute("title", .string, default: "Untitled")
    Attribute(
      "stars", .int16, default: Int16(3), validation: [.minimum(.int(0)), .maximum(.int(5))],
      userInfo: ["unit": "star"])
    Attribute("length", .int64, optional: true)
    Attribute("format", .enumeration(Format.self), default: Format.tape)
    Attribute("createdAt", .date)
    Attribute("token", .uuid)
    Attribute("default", .int64, default: -1)
    Attribute("tags", .codable)
    Attribute("mastering", codable: Mastering.self, default: Mastering(isLoud: true))
    CompositeAttribute(
      "cover",
      parts: [
        Attribute("width", .double, optional: true, formerNames: ["picture.width"]),
        Attribute("height", .double, optional: true, formerNames: ["picture.height"]),
        Attribute("origin.x", .int32, optional: true, formerNames: ["picture.origin.x"]),
        Attribute("origin.y", .int32, optional: true, formerNames: ["picture.origin.y"]),
      ])
    Attribute("color", .transformable("color"), optional: true)
    Attribute("foldedTitle", .string, optional: true, derived: .canonical("title"))
    Relationship("release", toOne: "Release", inverse: "tracks", optional: false, formerNames: ["album"])
    Relationship("genres", toMany: "Style", inverse: "tracks", maximumCount: 3, deleteRule: .deny)
    Relationship("twin", toOne: "Track", inverse: "twin")
    Attribute("note", .string, optional: true)
    Attribute("plays", .int64, default: 0)
  },
  Entity("Style", class: Genre.self) {
    Attribute("name", .string, default: "")
    Relationship("tracks", toMany: "Track", inverse: "genres")
  },
  Entity("Release", class: Release.self, isAbstract: true, uniqueness: [["name"]]) {
    Attribute("name", .string)
    Relationship("tracks", toMany: "Track", inverse: "release", ordered: true, deleteRule: .cascade)
  },
  Entity("Single", class: Single.self, parent: "Release") {
    Attribute("chart", .int32, default: Int32(7))
    Attribute("since", .date)
  },
  Entity("Maxi", class: Maxi.self, parent: "Single", indexes: [["name", "inches"]]) {
    Attribute("inches", .int64, default: 12)
    Attribute("pressedAt", .date)
  },
  Entity("Compilation", class: Compilation.self, parent: "Release"),
]
