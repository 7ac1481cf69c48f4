import CoherenceCore

/// A model of relationships with bounds on the number of their members, of every kind.
enum Squads {
  static let model = soundModel {
    Entity("Squad") {
      Attribute("name", .string)
      Relationship("players", toMany: "Player", inverse: "squad", minimumCount: 1, maximumCount: 4)
      Relationship("reserves", toMany: "Reserve", inverse: "squad", ordered: true, maximumCount: 2)
      Relationship("sponsors", toMany: "Sponsor", inverse: "squads", maximumCount: 2)
      Relationship("trophies", toMany: "Trophy", inverse: nil, maximumCount: 2)
      Relationship("fans", toMany: "Fan", inverse: "squad")
    }
    Entity("Person", isAbstract: true) {
      Attribute("name", .string)
    }
    Entity("Player", parent: "Person") {
      Relationship("squad", toOne: "Squad", inverse: "players")
    }
    Entity("Reserve", parent: "Person") {
      Relationship("squad", toOne: "Squad", inverse: "reserves")
    }
    Entity("Fan", parent: "Person") {
      Relationship("squad", toOne: "Squad", inverse: "fans")
    }
    Entity("Sponsor") {
      Attribute("name", .string)
      Relationship("squads", toMany: "Squad", inverse: "sponsors", minimumCount: 1)
    }
    Entity("Trophy") {
      Attribute("name", .string)
    }
  }
}
