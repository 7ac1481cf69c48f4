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
    hashes
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

  @CasesBuilder private static var hashes: [Case] {
    Case("a change that stores have to make changes the hash of the entity, and any other change keeps it") { _ in
      func hash(_ properties: @escaping @Sendable () -> [any PropertyDeclaration]) throws -> VersionHash? {
        let model = try ManagedObjectModel(entities: [
          Entity("A") { for property in properties() { property } },
          Entity("B") {
            Relationship("a", toOne: "A", inverse: nil)
            Relationship("all", toMany: "A", inverse: nil)
          },
          Entity("C"),
        ])
        return model.versionHashes["A"]
      }
      let base = try hash { [Attribute("x", .string), Relationship("b", toOne: "B", inverse: nil)] }
      let different: [@Sendable () -> [any PropertyDeclaration]] = [
        { [Attribute("x", .int32), Relationship("b", toOne: "B", inverse: nil)] },
        { [Attribute("x", .string, optional: true), Relationship("b", toOne: "B", inverse: nil)] },
        { [Attribute("x", .string), Relationship("c", toOne: "B", inverse: nil)] },
        { [Attribute("x", .string), Relationship("b", toOne: "C", inverse: nil)] },
        { [Attribute("x", .string), Relationship("b", toMany: "B", inverse: nil)] },
        { [Attribute("x", .string), Relationship("b", toOne: "B", inverse: nil, optional: false)] },
        { [Attribute("x", .string)] },
      ]
      for (index, properties) in different.enumerated() {
        try expect(try hash(properties) != base, "another hash for change \(index)")
      }
      let list = try hash { [Relationship("b", toMany: "B", inverse: nil)] }
      try expect(
        try hash { [Relationship("b", toMany: "B", inverse: nil, ordered: true)] } != list, "another hash for an order")
      let same: [@Sendable () -> [any PropertyDeclaration]] = [
        { [Relationship("b", toOne: "B", inverse: nil), Attribute("x", .string)] },
        { [Attribute("x", .string, default: "d"), Relationship("b", toOne: "B", inverse: nil)] },
        { [Attribute("x", .string), Relationship("b", toOne: "B", inverse: nil, deleteRule: .deny)] },
      ]
      for (index, properties) in same.enumerated() {
        try expectEqual(try hash(properties), base, "the hash of equal model \(index)")
      }
    }
    Case("another inverse changes the hashes of both entities") { _ in
      func hashes(_ inverse: String?) throws -> [String: VersionHash] {
        try ManagedObjectModel(entities: [
          Entity("A") { Relationship("b", toOne: "B", inverse: inverse) },
          Entity("B") { Relationship("list", toMany: "A", inverse: inverse == nil ? nil : "b") },
        ]).versionHashes
      }
      let (with, without) = (try hashes("list"), try hashes(nil))
      try expect(with["A"] != without["A"] && with["B"] != without["B"], "other hashes")
    }
  }

  private static func faulty(_ what: String, _ word: String, _ entities: @escaping @Sendable () -> [Entity]) -> Case {
    Case("\(what) is a fault of a model") { _ in
      let error = try expectThrows(.invalidModel) { try ManagedObjectModel(entities: entities()) }
      try expect(error.message.contains(word), "the message to name '\(word)'")
    }
  }
}
