import Testing

@testable import CoherenceCore

/// The parts of declarations: each initialiser hands every part on, and the hash of an entity never changes.
@Suite("Parts of declarations")
struct ModelDeclarationTests {
  private final class Known: ManagedObject {}
  private final class Unknown: ManagedObject {}

  @Test func `a relationship without a named inverse has all other parts of its declaration`() {
    let toOne = Relationship(
      "a", toOne: "A", optional: false, deleteRule: .deny, renamingIdentifier: "b", formerNames: ["c"],
      userInfo: ["k": "v"])
    #expect(toOne.infersInverse && toOne.inverse == nil && !toOne.isToMany && !toOne.isOptional)
    #expect(toOne.deleteRule == .deny && toOne.formerNames == ["b", "c"] && toOne.userInfo == ["k": "v"])
    let toMany = Relationship(
      "a", toMany: "A", ordered: true, minimumCount: 2, maximumCount: 3, deleteRule: .cascade, renamingIdentifier: "b",
      formerNames: ["c"], userInfo: ["k": "v"])
    #expect(toMany.infersInverse && toMany.inverse == nil && toMany.isToMany && toMany.isOrdered)
    #expect(toMany.minimumCount == 2 && toMany.maximumCount == 3 && toMany.deleteRule == .cascade)
    #expect(toMany.formerNames == ["b", "c"] && toMany.userInfo == ["k": "v"])
    let plain = Relationship("a", toMany: "A")
    #expect(plain.infersInverse && !plain.isOrdered && plain.minimumCount == 0 && plain.maximumCount == nil)
    #expect(Relationship("a", toOne: "A").isOptional)
  }

  @Test func `a codable attribute has all parts of its declaration`() {
    let attribute = Attribute(
      "a", codable: [String].self, default: ["x"], validation: [.maximumLength(9)], renamingIdentifier: "b",
      formerNames: ["c"], converting: { $0 }, userInfo: ["k": "v"])
    #expect(attribute.type == .codable && !attribute.isOptional && attribute.defaultValue == .string(#"["x"]"#))
    #expect(attribute.validation == [.maximumLength(9)] && attribute.formerNames == ["b", "c"])
    #expect(attribute.conversion != nil && attribute.userInfo == ["k": "v"])
    let optional = Attribute("a", codable: [String]?.self)
    #expect(optional.isOptional && optional.defaultValue == .null && optional.conversion == nil)
  }

  @Test func `each initialiser of a model hands its name, its configurations and its versions on`() throws {
    let configurations = ["Some": ["A"]]
    let models = [
      try ManagedObjectModel(name: "M", configurations: configurations, versionIdentifiers: ["1"]) { Entity("A") },
      try ManagedObjectModel(
        name: "M", entities: [Entity("A")], configurations: configurations, versionIdentifiers: ["1"]),
      try ManagedObjectModel(
        name: "M", entities: [Entity("A")], configurations: configurations, versionIdentifiers: ["1"]
      ).adding([Entity("B")]),
    ]
    for model in models {
      #expect(model.name == "M" && model.configurations == ["Some"] && model.versionIdentifiers == ["1"])
      #expect(model.entities(forConfigurationName: "Some")?.first?.name == "A")
      #expect(model.entities(forConfigurationName: "Other") == nil)
      #expect(model.entities(forConfigurationName: nil)?.count == model.entities.count)
    }
    #expect(models[2].entities(forConfigurationName: "Some")?.map(\.name) == ["A", "B"])
  }

  @Test func `adding entities keeps the warnings, adds no present entity, and refuses another class of one name`()
    throws
  {
    let model = try ManagedObjectModel(notes: ["A note."], name: nil, entities: [Entity("A")])
    #expect(model.warnings == ["A note."])
    let same = try model.adding([Entity("A")])
    #expect(same === model)
    #expect(try model.adding([Entity("A"), Entity("B")]).warnings == ["A note."])
    #expect(try model.adding([Entity("A"), Entity("B")]).entities.map(\.name) == ["A", "B"])
    let error = #expect(throws: CoherenceError.self) { try model.adding([Entity("A", class: Known.self)]) }
    #expect(error?.code == .invalidModel && error?.message.contains("'A'") == true)
  }

  @Test func `models are equal with the same entities in the same configurations`() throws {
    func model(_ configurations: [String: [String]], _ names: String...) throws -> ManagedObjectModel {
      try ManagedObjectModel(entities: names.map { Entity($0) }, configurations: configurations)
    }
    let one = try model(["Some": ["A"]], "A", "B")
    #expect(try one == model(["Some": ["A"]], "B", "A"))
    #expect(try one != model(["Some": ["B"]], "A", "B"))
    #expect(try one != model([:], "A", "B"))
    #expect(try one != model(["Some": ["A"]], "A", "B", "C"))
  }

  @Test func `the warning about a relationship without an inverse names the consequence`() throws {
    let model = try ManagedObjectModel {
      Entity("A") {
        Relationship("one", toOne: "A", inverse: nil)
        Relationship("many", toMany: "A", inverse: nil)
      }
      Entity("B", parent: "A")
    }
    // An inherited relationship is named once.
    #expect(
      model.warnings == [
        "Relationship 'A.one' has no inverse: the deletion of its target leaves a dangling reference.",
        "Relationship 'A.many' has no inverse: its members have no reference back.",
      ])
  }

  @Test func `a class of no entity and a class of several entities are refused with the entities' names`() throws {
    let model = try ManagedObjectModel(entities: [
      Entity("A", class: Known.self), Entity("B", class: Known.self), Entity("C"),
    ])
    let several = #expect(throws: CoherenceError.self) { try model.entity(for: Known.self) }
    #expect(several?.code == .unknownEntity)
    #expect(several?.message.hasSuffix("name one of them instead: A, B.") == true)
    let none = #expect(throws: CoherenceError.self) { try model.entity(for: Unknown.self) }
    #expect(none?.code == .unknownEntity)
    #expect(none?.message.hasSuffix("name one of its entities: A, B, C.") == true)
    #expect(try model.entity(for: ManagedObject.self).name == "C")
  }

  @Test func `a model without a name is not registered, and an unknown name is refused`() throws {
    let model = try ManagedObjectModel { Entity("A") }
    let nameless = #expect(throws: CoherenceError.self) { try model.register() }
    #expect(nameless?.code == .invalidModel)
    let unknown = #expect(throws: CoherenceError.self) { try ManagedObjectModel.named("ModelDeclarationTests.none") }
    #expect(unknown?.code == .modelNotFound)
    let named = try ManagedObjectModel(name: "ModelDeclarationTests.one") { Entity("A") }
    try named.register()
    #expect(try ManagedObjectModel.named("ModelDeclarationTests.one") === named)
  }

  @Test func `an entity has its own key or the nearest inherited key, and needs all attributes of the key`() throws {
    func keys(_ parent: String?, _ child: String?) throws -> (names: [String]?, key: [String]?, added: [String]?) {
      func info(_ text: String?) -> [String: String] { text.map { [EntityDescription.keySetting: $0] } ?? [:] }
      let model = try ManagedObjectModel {
        Entity("A", userInfo: info(parent)) {
          Attribute("x", .int64)
          Attribute("y", .int64)
        }
        Entity("B", parent: "A", userInfo: info(child)) { Attribute("z", .int64) }
      }
      let entity = try model.entity(named: "B")
      return (entity.keyNames, entity.keyAttributes?.map(\.name), entity.keyConstraint?.map(\.name))
    }
    let inherited = try keys(" x , ,y", nil)
    #expect(inherited.names == ["x", "y"] && inherited.key == ["x", "y"])
    let own = try keys("x", "z,z")
    #expect(own.key == ["z", "z"] && own.added == ["z"])
    let blank = try keys("x", " , ")
    #expect(blank.key == ["x"])
    let missing = try keys(nil, "x,none")
    #expect(missing.names == ["x", "none"] && missing.key == nil && missing.added == nil)
    #expect(try keys(nil, nil).names == nil)
  }

  // MARK: Hashes

  @Test(arguments: [
    ("", "6c62272e07bb014262b821756295c58d"), ("a", "d228cb696f1a8caf78912b704e4a8964"),
    ("foobar", "343e1662793c64bf6f0d3597ba446f18"), ("2436000", "0005d3df504ff78ce98c68b7cfb1a0ce"),
  ])
  func `the hash of a text is the FNV-1a hash of 128 bits, with leading zeros`(text: String, hash: String) {
    #expect(VersionHash(of: text).rawValue == hash)
  }

  @Test func `the hash of an entity is the same in every release, so that stores open without a migration`() throws {
    let model = try ManagedObjectModel {
      Entity("A") {
        Attribute("name", .string)
        Relationship("staff", toMany: "B", inverse: "boss", ordered: true)
      }
      Entity("B", parent: "A", isAbstract: true, uniqueness: [["name", "size.width"]]) {
        Attribute("tags", .codable, optional: true)
        Attribute("fold", .string, derived: .canonical("name"))
        CompositeAttribute("size", parts: [Attribute("width", .double, optional: true)])
        Relationship("boss", toOne: "A", inverse: "staff", optional: false)
      }
    }
    #expect(model.versionHashes["A"]?.rawValue == "cbcbcb9d5c1525609f329eb7e5dee961")
    #expect(model.versionHashes["B"]?.rawValue == "99dc8025943cb78dde0423d841d4fed1")
  }
}
