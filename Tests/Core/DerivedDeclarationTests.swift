import CoherenceCore
import Testing

/// The faults of derived attributes and of defaults that cannot be stored, and the descriptions of both.
@Suite struct DerivedDeclarationTests {
  private func fault(_ properties: [any PropertyDeclaration]) -> String? {
    var entity = Entity("Track")
    entity.properties = [Attribute("name", .string), Attribute("length", .int64)] + properties
    do {
      _ = try ManagedObjectModel(entities: [entity])
      return nil
    } catch {
      return (error as? CoherenceError)?.message
    }
  }

  @Test func `a derived attribute needs a text of its own entity`() {
    #expect(fault([Attribute("fold", .string, derived: .canonical("name"))]) == nil)
    let path = fault([Attribute("fold", .string, derived: .canonical("artist.name"))])
    #expect(path?.contains("'artist.name'") == true)
    #expect(path?.contains("counts and sums are not supported") == true)
    #expect(fault([Attribute("fold", .string, derived: .lowercase("length"))])?.contains("no text") == true)
    let chain = fault([
      Attribute("fold", .string, derived: .canonical("name")), Attribute("big", .string, derived: .uppercase("fold")),
    ])
    #expect(chain?.contains("derived itself") == true)
  }

  @Test func `a derived attribute has the type of its rule and nothing that an assigned value needs`() {
    #expect(fault([Attribute("fold", .date, derived: .canonical("name"))])?.contains("of type string") == true)
    #expect(fault([Attribute("saved", .string, derived: .now)])?.contains("of type date") == true)
    #expect(fault([Attribute("fold", .string, default: "x", derived: .canonical("name"))])?.contains("default") == true)
    let part = Attribute("fold", .string, derived: .canonical("name"))
    #expect(fault([CompositeAttribute("size", parts: [part])])?.contains("'Track.size.fold'") == true)
  }

  @Test func `the rule of a derived attribute is a part of the version hash`() throws {
    func hash(_ rule: Derivation?) throws -> VersionHash {
      try ManagedObjectModel {
        Entity("Track") {
          Attribute("name", .string)
          Attribute("fold", .string, optional: true, derived: rule)
        }
      }.entities[0].versionHash
    }
    let hashes = try [hash(nil), hash(.canonical("name")), hash(.lowercase("name")), hash(.uppercase("name"))]
    #expect(Set(hashes).count == 4)
    #expect(try hash(.canonical("name")) == hashes[1])
  }

  @Test func `a default that cannot be encoded is a fault of the model`() {
    #expect(fault([Attribute("numbers", codable: [Double].self, default: [.nan])])?.contains("'Track.numbers'") == true)
    #expect(fault([Attribute("numbers", codable: [Double].self, default: [1])]) == nil)
  }

  @Test func `the type of a codable attribute decides whether it is optional`() throws {
    let model = try ManagedObjectModel {
      Entity("Track") {
        Attribute("tags", codable: [String].self)
        Attribute("notes", codable: [String]?.self)
      }
    }
    let attributes = model.entities[0].attributes
    #expect(attributes.map(\.isOptional) == [false, true])
    #expect(attributes.map(\.type) == [.codable, .codable])
  }
}
