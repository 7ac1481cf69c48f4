import CoherenceCore

/// A model with relationships that are their own inverses.
enum Acquaintances {
  static let model = soundModel {
    Entity("Person") {
      Attribute("name", .string)
      Relationship("friends", toMany: "Person", inverse: "friends")
      Relationship("spouse", toOne: "Person", inverse: "spouse")
    }
  }

  /// Makes people of the names.
  static func people(_ context: ManagedObjectContext, _ names: String...) throws -> [ManagedObject] {
    try names.map { try context.make("Person", ["name": $0]) }
  }

  /// The friends of each person, by name.
  static func friends(_ context: ManagedObjectContext) throws -> [String] {
    try context.all("Person", sort: [SortKey("name")]).map { person in
      "\(try person.label): \(try person.labels(of: "friends").joined(separator: " "))"
    }
  }

  /// The spouse of each person, by name.
  static func spouses(_ context: ManagedObjectContext) throws -> [String] {
    try context.all("Person", sort: [SortKey("name")]).map { person in
      "\(try person.label): \(try person.object(for: "spouse")?.label ?? "")"
    }
  }
}
