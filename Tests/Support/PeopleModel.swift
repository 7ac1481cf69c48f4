package import CoherenceCore

/// The model of people with unique addresses, for tests of stores: a hierarchy in an order, and links.
package enum PeopleModel {
  package static func make() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Person", uniqueness: [["email"]]) {
        Attribute("name", .string, optional: true)
        Attribute("email", .string, optional: true)
        Relationship("boss", toOne: "Person", inverse: "staff")
        Relationship("staff", toMany: "Person", inverse: "boss", ordered: true)
        Relationship("friends", toMany: "Person", inverse: "friends")
      }
    }
  }

  /// The model of a later version of the program, with an attribute more, and without the addresses and the friends.
  package static func makeLater() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Person") {
        Attribute("name", .string, optional: true)
        Attribute("age", .int16, default: 7)
        Relationship("boss", toOne: "Person", inverse: "staff")
        Relationship("staff", toMany: "Person", inverse: "boss", ordered: true)
      }
    }
  }
}
