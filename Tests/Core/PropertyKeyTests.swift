import Testing

@testable import CoherenceCore

/// The indexes that property keys remember.
@Suite struct PropertyKeyTests {
  /// A key that counts its lookups by name.
  private final class CountingKey: PropertyKey, @unchecked Sendable {
    // Sendable: a test uses the key on one thread.
    var lookups = 0

    override func location(in entity: EntityDescription) -> Location? {
      lookups += 1
      return super.location(in: entity)
    }
  }

  /// A hierarchy in which two siblings declare properties of one name in different slots.
  private func makeModel() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Disc", parent: "Release") {
        Attribute("side", .int64)
        Attribute("code", .string)
        Relationship("notes", toMany: "Note", inverse: nil)
        Relationship("marks", toMany: "Note", inverse: nil)
      }
      Entity("Note") { Attribute("text", .string) }
      Entity("Release") {
        Attribute("title", .string)
        Relationship("comments", toMany: "Note", inverse: nil)
      }
      Entity("Single", parent: "Release") { Attribute("code", .string) }
      Entity("Remix", parent: "Single") { Relationship("marks", toMany: "Note", inverse: nil) }
    }
  }

  private func slot(_ name: String, _ entity: EntityDescription) -> Int {
    entity.attribute(named: name)?.slot ?? -1
  }

  @Test func `a key looks an inherited property up once for all entities of a hierarchy`() throws {
    let model = try makeModel()
    let key = CountingKey("title")
    for _ in 0..<3 {
      for name in ["Release", "Disc", "Remix", "Single"] {
        let entity = try model.entity(named: name)
        #expect(key.slot(in: entity) == slot("title", entity))
      }
    }
    #expect(key.lookups == 1)
  }

  @Test func `a key used with two models in turn looks the property up once for each`() throws {
    let models = [try makeModel(), try makeModel()]
    let key = CountingKey("title")
    for _ in 0..<3 {
      for model in models {
        for name in ["Disc", "Remix"] { #expect(key.slot(in: try model.entity(named: name)) == 0) }
      }
    }
    #expect(key.lookups == 2)
  }

  @Test func `a key finds properties of one name in different slots of siblings and of many models`() throws {
    let models = try (0..<4).map { _ in try makeModel() }
    let key = AttributeKey<String>("code")
    for _ in 0..<3 {
      for model in models {
        for entity in model.entities { #expect(key.slot(in: entity) == slot("code", entity), "in \(entity.name)") }
      }
    }
  }

  @Test func `a key of a to-many relationship finds the relationship in every subentity`() throws {
    let model = try makeModel()
    for name in ["comments", "notes", "marks", "title"] {
      let key = ToManyKey<ManagedObject>(name)
      for entity in model.entities + model.entities.reversed() {
        let index = key.slot(in: entity)
        let found = index < 0 ? nil : entity.relationships[index]
        #expect(found == entity.relationship(named: name), "'\(name)' in \(entity.name)")
      }
    }
  }

  @Test func `a composite has the slots of its own parts only, despite attributes with names like parts`() throws {
    let model = try ManagedObjectModel {
      Entity("Parcel") {
        Attribute("size.z", .double)
        CompositeAttribute("size", parts: [Attribute("x", .double), Attribute("y", .double)])
      }
      Entity("Letter", parent: "Parcel") { CompositeAttribute("place", parts: [Attribute("x", .double)]) }
    }
    let letter = try model.entity(named: "Letter")
    #expect(letter.composites == ["size": 1..<3, "place": 3..<4])
    #expect(letter.slots[letter.composites["size"]!].map(\.name) == ["size.x", "size.y"])
  }

  @Test func `a model refuses an attribute with the name of a part of a composite`() {
    let error = #expect(throws: CoherenceError.self) {
      try ManagedObjectModel {
        Entity("Parcel") {
          Attribute("size.x", .double)
          CompositeAttribute("size", parts: [Attribute("x", .double)])
        }
      }
    }
    #expect(error?.code == .invalidModel)
    #expect(error?.message.contains("'size.x'") == true)
  }

  @Test func `the tokens of an entity and its descendants are a range of their own`() throws {
    let entities = try makeModel().entities + makeModel().entities
    #expect(Set(entities.map(\.token)).count == entities.count)
    for entity in entities {
      let tokens = entity.hierarchy.map(\.token)
      let count = UInt32(entity.hierarchyCount)
      #expect(tokens == Array(entity.token..<entity.token + count))
    }
  }
}
