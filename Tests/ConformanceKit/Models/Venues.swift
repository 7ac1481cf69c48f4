import CoherenceCore

/// A model for batch requests: several uniqueness constraints, derived values, and every kind of to-one relationship.
enum Venues {
  static let model = soundModel {
    Entity("Venue") {
      Attribute("name", .string)
      Relationship("seats", toMany: "Seat", inverse: "venue", ordered: true)
    }
    Entity("Seat", uniqueness: [["row", "place"], ["number"], [code]]) {
      Attribute("name", .string, optional: true)
      Attribute("row", .string, optional: true)
      Attribute("place", .int64, optional: true)
      Attribute("number", .int64, optional: true)
      Attribute(code, .decimal, optional: true)
      Attribute("nameFold", .string, derived: .canonical("name"))
      Attribute("savedAt", .date, derived: .now)
      Relationship("venue", toOne: "Venue", inverse: "seats")
      Relationship("holder", toOne: "Member", inverse: "seats")
      Relationship("badge", toOne: "Badge", inverse: "seat")
    }
    Entity("Badge") {
      Attribute("name", .string)
      Relationship("seat", toOne: "Seat", inverse: "badge")
    }
    Entity("Guest", uniqueness: [["email"]]) {
      Attribute("name", .string)
      Attribute("email", .string)
    }
    Entity("Member", parent: "Guest") {
      Relationship("seats", toMany: "Seat", inverse: "holder")
    }
    Entity("Visitor", parent: "Guest") {
      Attribute("visits", .int32, default: 0)
    }
    Entity("Trail") {
      Attribute("title", .string)
      Attribute("author", .string, optional: true)
    }
  }

  /// The name of an attribute, with characters that SQL has to quote.
  static let code = "the \"code\" 'x'"
}
