import CoherenceCore
import Testing

/// The builders of models and entities, with `if` and `for`.
@Suite struct ModelBuilderTests {
  private func entity(withCode: Bool, keyed: Bool) -> Entity {
    Entity("Item") {
      Attribute("name", .string)
      if withCode { Attribute("code", .string) }
      if keyed {
        Attribute("key", .uuid)
        Attribute("rank", .int32)
      } else {
        Attribute("number", .int64)
      }
      for index in 0..<2 { Attribute("extra\(index)", .bool) }
    }
  }

  @Test func `an entity has the properties of the conditions that hold, and of every pass of a loop`() {
    let full = entity(withCode: true, keyed: true).properties.map { $0.name }
    #expect(full == ["name", "code", "key", "rank", "extra0", "extra1"])
    let short = entity(withCode: false, keyed: false).properties.map { $0.name }
    #expect(short == ["name", "number", "extra0", "extra1"])
  }

  private func model(withNotes: Bool, plain: Bool) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      if withNotes { Entity("Note") { Attribute("text", .string) } }
      if plain {
        Entity("Plain") { Attribute("name", .string) }
      } else {
        Entity("Rich") { Attribute("name", .string) }
        Entity("Richer") { Attribute("name", .string) }
      }
      for index in 0..<2 { Entity("Page\(index)") { Attribute("name", .string) } }
    }
  }

  @Test func `a model has the entities of the conditions that hold, and of every pass of a loop`() throws {
    let names = try [model(withNotes: true, plain: true), model(withNotes: false, plain: false)]
      .map { Set($0.entities.map(\.name)) }
    #expect(names == [["Note", "Plain", "Page0", "Page1"], ["Rich", "Richer", "Page0", "Page1"]])
  }

  @Test func `a renaming identifier is the latest of the former names, and replaces them when it is set`() {
    var entity = Entity("C", renamingIdentifier: "B", formerNames: ["A"])
    var attribute = Attribute("c", .string, renamingIdentifier: "b", formerNames: ["a"])
    var toOne = Relationship("c", toOne: "C", inverse: nil, renamingIdentifier: "b", formerNames: ["a"])
    var toMany = Relationship("c", toMany: "C", inverse: nil, renamingIdentifier: "b", formerNames: ["a"])
    #expect(entity.formerNames == ["B", "A"] && entity.renamingIdentifier == "B")
    #expect([attribute.formerNames, toOne.formerNames, toMany.formerNames] == [["b", "a"], ["b", "a"], ["b", "a"]])
    entity.renamingIdentifier = "X"
    attribute.renamingIdentifier = "x"
    toOne.renamingIdentifier = nil
    toMany.renamingIdentifier = "x"
    #expect(entity.formerNames == ["X"])
    #expect([attribute.formerNames, toOne.formerNames, toMany.formerNames] == [["x"], [], ["x"]])
  }

  @Test func `a relationship is optional, and has one target or any number of members`() {
    let toOne = Relationship("a", toOne: "A", inverse: nil)
    #expect(!toOne.isToMany && !toOne.isOrdered && toOne.isOptional && !toOne.infersInverse)
    #expect(toOne.minimumCount == 0 && toOne.maximumCount == 1 && toOne.deleteRule == .nullify)
    let toMany = Relationship("a", toMany: "A", inverse: nil)
    #expect(toMany.isToMany && !toMany.isOrdered && toMany.isOptional && !toMany.infersInverse)
    #expect(toMany.minimumCount == 0 && toMany.maximumCount == nil && toMany.deleteRule == .nullify)
  }
}
