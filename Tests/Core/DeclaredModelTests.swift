import CoherenceCore
import Testing

/// Models from classes that declare their entities, and inverses that one side declares.
@Suite struct DeclaredModelTests {
  private typealias Track = DeclaredMusic.Track
  private typealias Release = DeclaredMusic.Release
  private typealias Single = DeclaredMusic.Single
  private typealias Maxi = DeclaredMusic.Maxi

  private func fault(_ build: () throws -> ManagedObjectModel) -> String {
    let error = #expect(throws: CoherenceError.self) { _ = try build() }
    #expect(error?.code == .invalidModel)
    return error?.message ?? ""
  }

  private func fault(_ first: [any PropertyDeclaration], _ second: [any PropertyDeclaration]) -> String {
    fault {
      var entities = [Entity("A"), Entity("B")]
      entities[0].properties = first
      entities[1].properties = second
      return try ManagedObjectModel(entities: entities)
    }
  }

  @Test func `a model of classes has their entities, hierarchy, configurations and names`() throws {
    let model = try DeclaredMusic.makeModel()
    #expect(model.name == "Declared" && model.versionIdentifiers == ["1"])
    #expect(model.entities.map(\.name) == ["Track", "Release", "Single", "Maxi"])
    #expect(model.entities(forConfigurationName: "Tracks")?.map(\.name) == ["Track"])
    #expect(try model.entity(for: Maxi.self).superentity?.name == "Single")
    #expect(try model.entity(for: Maxi.self).root.name == "Release")
  }

  @Test func `a model of classes equals the model of the same declarations with both inverses`() throws {
    let declared = try ManagedObjectModel(classes: [Track.self, Release.self])
    let spelled = try ManagedObjectModel {
      Entity("Track", class: Track.self) {
        Attribute("title", .string)
        Attribute("length", .int64, optional: true)
        Relationship("release", toOne: "Release", inverse: "tracks")
      }
      Entity("Release", class: Release.self) {
        Attribute("name", .string)
        Relationship("tracks", toMany: "Track", inverse: "release", ordered: true, deleteRule: .cascade)
      }
    }
    #expect(declared == spelled)
    #expect(declared.warnings.isEmpty)
    let inverse = declared.entitiesByName["Release"]?.relationship(named: "tracks")?.inverse
    #expect(inverse?.name == "release")
  }

  @Test func `an inverse inside of one entity is found`() throws {
    let single = try DeclaredMusic.makeModel().entity(named: "Single")
    #expect(single.relationship(named: "covers")?.inverse?.name == "cover")
    #expect(single.relationship(named: "cover")?.inverse?.name == "covers")
  }

  private func inverse(of name: String, in entity: String = "A", _ model: ManagedObjectModel) -> String? {
    model.entitiesByName[entity]?.relationship(named: name)?.inverse?.name
  }

  @Test func `two relationships that lead to each other are inverses, though neither names the other`() throws {
    let silent = try ManagedObjectModel {
      Entity("A") { Relationship("b", toOne: "B") }
      Entity("B") { Relationship("as", toMany: "A", ordered: true) }
    }
    let spelled = try ManagedObjectModel {
      Entity("A") { Relationship("b", toOne: "B", inverse: "as") }
      Entity("B") { Relationship("as", toMany: "A", inverse: "b", ordered: true) }
    }
    #expect(silent == spelled)
    #expect(silent.warnings.isEmpty)
  }

  @Test func `a relationship without one that leads back has no inverse, and the model warns`() throws {
    let model = try ManagedObjectModel {
      Entity("A") {
        Relationship("b", toOne: "B")
        Relationship("c", toOne: "B")
      }
      Entity("B") { Relationship("as", toMany: "A", inverse: nil) }
    }
    #expect(model.entities.flatMap(\.relationships).allSatisfy { $0.inverse == nil })
    #expect(model.warnings.count == 3)
  }

  @Test func `a parent and children of one entity are inverses`() throws {
    let model = try ManagedObjectModel {
      Entity("A") {
        Relationship("parent", toOne: "A")
        Relationship("children", toMany: "A")
      }
    }
    #expect(inverse(of: "parent", model) == "children" && inverse(of: "children", model) == "parent")
  }

  @Test func `two references of an entity to itself are no inverses`() throws {
    let model = try ManagedObjectModel {
      Entity("A") {
        Relationship("mother", toOne: "A")
        Relationship("father", toOne: "A")
      }
    }
    #expect(inverse(of: "mother", model) == nil && inverse(of: "father", model) == nil)
  }

  @Test func `a relationship whose inverse another one names is left out of the pairs`() throws {
    let model = try ManagedObjectModel {
      Entity("A") {
        Relationship("author", toOne: "B", inverse: "as")
        Relationship("reviewer", toOne: "B")
      }
      Entity("B") { Relationship("as", toMany: "A") }
    }
    #expect(inverse(of: "as", in: "B", model) == "author")
    #expect(inverse(of: "reviewer", model) == nil)
  }

  @Test func `a relationship that may be the inverse of several is refused with their names`() {
    let message = fault(
      [Relationship("author", toOne: "B"), Relationship("reviewer", toOne: "B")], [Relationship("as", toMany: "A")])
    #expect(
      message.contains(
        "The inverse of 'B.as' may be 'A.author' or 'A.reviewer'; name one of them as the inverse, or declare 'inverse: nil'."
      ))
  }

  @Test func `a relationship declared with no inverse does not take the inverse that the other side names`() {
    let message = fault(
      [Relationship("b", toOne: "B", inverse: "as")], [Relationship("as", toMany: "A", inverse: nil)])
    #expect(message == "The inverse of 'A.b', 'B.as', does not point back: it has no inverse.")
  }

  @Test func `two relationships that name the same inverse are refused by their names`() {
    let message = fault(
      [Relationship("b", toOne: "B", inverse: "as"), Relationship("c", toOne: "B", inverse: "as")],
      [Relationship("as", toMany: "A")])
    #expect(message.contains("'A.b' and 'A.c' name the same inverse, 'B.as'"))
  }

  @Test func `two sides that name different inverses are refused by their names`() {
    let message = fault(
      [Relationship("b", toOne: "B", inverse: "as"), Relationship("c", toOne: "B")],
      [Relationship("as", toMany: "A", inverse: "c")])
    #expect(message == "The inverse of 'A.b', 'B.as', does not point back: its inverse is 'A.c'.")
  }

  @Test func `an inverse that leads to another entity is refused by its names`() {
    let message = fault(
      [Relationship("b", toOne: "B", inverse: "bs")], [Relationship("bs", toMany: "B")])
    #expect(message == "The inverse of 'A.b', 'B.bs', does not point back: it leads to 'B'.")
  }

  @Test func `a parent or a destination outside of the list is named`() {
    #expect(fault { try ManagedObjectModel(Track.self) }.contains("'Track.release' leads to 'Release', which"))
    let parent = fault { try ManagedObjectModel(Track.self, Release.self, Maxi.self) }
    #expect(parent.contains("'Maxi' inherits from 'Single', which the model does not have"))
  }

  @Test func `a class without its own declaration is refused`() {
    final class Tape: DeclaredMusic.Release {}
    #expect(fault { try ManagedObjectModel(Track.self, Release.self, Tape.self) }.contains("'Tape' needs an"))
    final class Disc: DeclaredMusic.Release {
      override class var entityDeclaration: Entity { Entity("Disk", class: Disc.self, parent: "Release") }
    }
    #expect(fault { try ManagedObjectModel(Track.self, Release.self, Disc.self) }.contains("names it 'Disk'"))
  }
}
