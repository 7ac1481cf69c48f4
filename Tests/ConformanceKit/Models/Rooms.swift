import CoherenceCore

/// A model about delete rules: a house has a relationship with each rule. The delete of a frame cascades to things
/// whose own rules deny their delete while they have a door. A chain cascades along itself.
enum Rooms {
  static let model = soundModel {
    Entity("House") {
      Attribute("name", .string)
      Relationship("guests", toMany: "Guest", inverse: "house", deleteRule: .nullify)
      Relationship("rooms", toMany: "Room", inverse: "house", deleteRule: .cascade)
      Relationship("tenants", toMany: "Tenant", inverse: "house", deleteRule: .deny)
      Relationship("ghosts", toMany: "Ghost", inverse: "house", deleteRule: .noAction)
      Relationship("deed", toOne: "Deed", inverse: "house", deleteRule: .cascade)
      Relationship("streets", toMany: "Street", inverse: "houses")
      Relationship("clubs", toMany: "Club", inverse: "houses", deleteRule: .deny)
      Relationship("sights", toMany: "Club", inverse: nil, deleteRule: .deny)
    }
    Entity("Club") {
      Attribute("name", .string)
      Relationship("houses", toMany: "House", inverse: "clubs")
    }
    Entity("Guest") {
      Attribute("name", .string)
      Relationship("house", toOne: "House", inverse: "guests")
    }
    Entity("Room") {
      Attribute("name", .string)
      Relationship("house", toOne: "House", inverse: "rooms")
      Relationship("chairs", toMany: "Chair", inverse: "room", deleteRule: .cascade)
    }
    Entity("Chair") {
      Attribute("name", .string)
      Relationship("room", toOne: "Room", inverse: "chairs", optional: false)
    }
    Entity("Tenant") {
      Attribute("name", .string)
      Relationship("house", toOne: "House", inverse: "tenants")
    }
    Entity("Ghost") {
      Attribute("name", .string)
      Relationship("house", toOne: "House", inverse: "ghosts")
    }
    Entity("Deed") {
      Attribute("name", .string)
      Relationship("house", toOne: "House", inverse: "deed", deleteRule: .cascade)
    }
    Entity("Street") {
      Attribute("name", .string)
      Relationship("houses", toMany: "House", inverse: "streets")
    }
    Entity("Frame") {
      Attribute("name", .string)
      Relationship("keys", toMany: "Key", inverse: "frame", deleteRule: .cascade)
      Relationship("bolts", toMany: "Bolt", inverse: "frame", deleteRule: .cascade)
      Relationship("signs", toMany: "Sign", inverse: "frame", deleteRule: .cascade)
    }
    Entity("Key") {
      Attribute("name", .string)
      Relationship("door", toOne: "Door", inverse: "keys", deleteRule: .deny)
      Relationship("frame", toOne: "Frame", inverse: "keys")
    }
    Entity("Bolt") {
      Attribute("name", .string)
      Relationship("door", toOne: "Door", inverse: "bolt", deleteRule: .deny)
      Relationship("frame", toOne: "Frame", inverse: "bolts")
    }
    Entity("Sign") {
      Attribute("name", .string)
      Relationship("door", toOne: "Door", inverse: nil, deleteRule: .deny)
      Relationship("frame", toOne: "Frame", inverse: "signs")
    }
    Entity("Door") {
      Attribute("name", .string)
      Relationship("keys", toMany: "Key", inverse: "door")
      Relationship("bolt", toOne: "Bolt", inverse: "door")
    }
    Entity("Chain") {
      Attribute("name", .string)
      Relationship("next", toOne: "Chain", inverse: "previous", deleteRule: .cascade)
      Relationship("previous", toOne: "Chain", inverse: "next")
    }
  }
}
