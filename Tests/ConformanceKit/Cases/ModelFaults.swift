import CoherenceCore

extension ConformanceSubject {
  static let modelFaults = ConformanceSubject("Faults of models") {
    faulty("two entities of one name", "A") { [Entity("A"), Entity("A")] }
    faulty("an entity without a name", "name") { [Entity("")] }
    faulty("an unknown superentity", "Nowhere") { [Entity("A", parent: "Nowhere")] }
    faulty("an entity that inherits from itself", "itself") { [Entity("A", parent: "B"), Entity("B", parent: "A")] }
    faulty("two properties of one name", "x") {
      [
        Entity("A") {
          Attribute("x", .string); Attribute("x", .int32)
        }
      ]
    }
    faulty("a property of an inherited name", "x") {
      [Entity("A") { Attribute("x", .string) }, Entity("B", parent: "A") { Attribute("x", .string) }]
    }
    faulty("a default of another type", "x") { [Entity("A") { Attribute("x", .int32, default: "one") }] }
    faulty("a relationship that leads nowhere", "Nowhere") {
      [Entity("A") { Relationship("b", toOne: "Nowhere", inverse: nil) }]
    }
    faulty("an inverse that does not exist", "a") {
      [Entity("A") { Relationship("b", toOne: "B", inverse: "a") }, Entity("B")]
    }
    faulty("an inverse that does not point back", "back") {
      [
        Entity("A") { Relationship("b", toOne: "B", inverse: "a") },
        Entity("B") { Relationship("a", toOne: "A", inverse: nil) },
      ]
    }
    faulty("a constraint on an unknown property", "y") {
      [Entity("A", uniqueness: [["y"]]) { Attribute("x", .string) }]
    }
    faulty("an index on a to-many relationship", "to-many") {
      [Entity("A", indexes: [["as"]]) { Relationship("as", toMany: "A", inverse: nil) }]
    }
    faulty("a composite without parts", "c") { [Entity("A") { CompositeAttribute("c", parts: []) }] }
    Case("every fault of a model is named") { _ in
      let error = try expectThrows(.invalidModel) {
        try ManagedObjectModel(entities: [
          Entity("A") {
            Attribute("x", .int32, default: "one"); Relationship("b", toOne: "B", inverse: nil)
          }
        ])
      }
      try expect(error.message.contains("'A.x'") && error.message.contains("'B'"), "both faults to be named")
    }
    Case("an entity cannot be renamed from an entity that the model still has") { _ in
      let error = try expectThrows(.invalidModel) {
        _ = try ManagedObjectModel {
          Entity("A") { Attribute("name", .string) }
          Entity("B", renamingIdentifier: "A") { Attribute("name", .string) }
          Entity("C", renamingIdentifier: "Z") { Attribute("name", .string) }
          Entity("D", renamingIdentifier: "Z") { Attribute("name", .string) }
        }
      }
      try expect(error.message.contains("still has"), "the entity that is still there")
      try expect(error.message.contains("'Z'"), "the former name that two entities claim")
    }
    Case("a configuration of an unknown entity is a fault") { _ in
      let error = try expectThrows(.invalidModel) {
        try ManagedObjectModel(entities: [Entity("A")], configurations: ["one": ["B"]])
      }
      try expect(error.message.contains("'one'") && error.message.contains("'B'"), "both names")
    }
    Case("a relationship without inverse is allowed, with a warning") { _ in
      let model = try ManagedObjectModel(entities: [Entity("A") { Relationship("b", toOne: "A", inverse: nil) }])
      try expectEqual(model.warnings.count, 1, "the number of warnings")
    }
    Case("the order of declaration does not change a model") { _ in
      let one = try ManagedObjectModel(entities: [
        Entity("A") {
          Attribute("x", .string); Attribute("y", .int32)
        }, Entity("B"),
      ])
      let other = try ManagedObjectModel(entities: [
        Entity("B"),
        Entity("A") {
          Attribute("y", .int32); Attribute("x", .string)
        },
      ])
      try expectEqual(one.versionHashes, other.versionHashes)
      try expect(one == other, "the models to be equal")
    }
  }

  private static func faulty(_ what: String, _ word: String, _ entities: @escaping @Sendable () -> [Entity]) -> Case {
    Case("\(what) is a fault of a model") { _ in
      let error = try expectThrows(.invalidModel) { try ManagedObjectModel(entities: entities()) }
      try expect(error.message.contains(word), "the message to name '\(word)'")
    }
  }
}
