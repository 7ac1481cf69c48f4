import CoherenceCore

/// Entities with uniqueness constraints of every kind: of one property, of several, with a relationship, of a superentity,
/// and two of one entity.
enum Labels {
  static let model = soundModel {
    Entity("Tag", class: LabelTag.self, uniqueness: [["name"], ["code"]]) {
      Attribute("name", .string, optional: true)
      Attribute("code", .string, optional: true)
      Attribute("colour", .string, optional: true)
      Attribute("plays", .int64, default: 1)
      Attribute("rating", .int16, default: 0)
      Attribute("seen", .date, optional: true)
      Attribute("title", .string, derived: .uppercase("name"))
      Relationship("owner", toOne: "Person", inverse: "tags")
      Relationship("notes", toMany: "Note", inverse: "tags")
      Relationship("steps", toMany: "Step", inverse: "tag", ordered: true)
      Relationship("badge", toOne: "Badge", inverse: "tag")
    }
    Entity("LoudTag", class: LoudLabelTag.self, parent: "Tag") { Attribute("volume", .int32, default: 0) }
    Entity("SoftTag", parent: "Tag") { Attribute("depth", .int32, default: 0) }
    Entity("Person") {
      Attribute("name", .string)
      Relationship("tags", toMany: "Tag", inverse: "owner")
    }
    Entity("Note") {
      Attribute("name", .string)
      Relationship("tags", toMany: "Tag", inverse: "notes")
      Relationship("main", toOne: "Tag", inverse: nil)
      Relationship("list", toMany: "Tag", inverse: nil, ordered: true)
    }
    Entity("Step", uniqueness: [["tag", "number"]]) {
      Attribute("name", .string)
      Attribute("number", .int32, optional: true)
      Relationship("tag", toOne: "Tag", inverse: "steps")
    }
    Entity("Badge") {
      Attribute("name", .string)
      Relationship("tag", toOne: "Tag", inverse: "badge")
    }
  }
}

class LabelTag: ManagedObject {
  /// A default that no literal of the model expresses.
  override func awakeFromInsert() {
    super.awakeFromInsert()
    try? setValue(3, for: "rating")
  }
}

final class LoudLabelTag: LabelTag {}
