import CoherenceInMemory
import CoherenceModelMacros
import Testing

/// The model that the macros declare, compared with the same model declared in code.
@Suite struct DeclaredModelTests {
  private static let macros = Result {
    try ManagedObjectModel(Track.self, Genre.self, Release.self, Single.self, Maxi.self, Compilation.self)
  }
  private static let code = Result { try ManagedObjectModel(entities: handwrittenMusic) }

  /// Everything that the description of an attribute has but its type, whose cases have no order in a text.
  private static func text(_ attribute: AttributeDescription) -> String {
    let facts: [Any] = [
      attribute.name, attribute.isOptional, attribute.defaultValue, attribute.validation,
      attribute.formerNames, attribute.derivation as Any, attribute.userInfo.sorted { $0.key < $1.key }, attribute.slot,
    ]
    return facts.map { "\($0)" }.joined(separator: " | ")
  }

  /// Everything that the description of a relationship has.
  private static func text(_ relationship: RelationshipDescription) -> String {
    let facts: [Any] = [
      relationship.name, relationship.destination.name, relationship.inverse?.name as Any, relationship.isToMany,
      relationship.isOrdered, relationship.isOptional, relationship.deleteRule, relationship.minimumCount,
      relationship.maximumCount as Any, relationship.formerNames, relationship.userInfo,
    ]
    return facts.map { "\($0)" }.joined(separator: " | ")
  }

  @Test func `the version hashes equal those of the same model in code`() throws {
    #expect(try Self.macros.get().versionHashes == Self.code.get().versionHashes)
  }

  @Test(arguments: ["Track", "Style", "Release", "Single", "Maxi", "Compilation"])
  func `the description of an entity equals that of the same entity in code`(name: String) throws {
    let declared = try Self.macros.get().entity(named: name)
    let expected = try Self.code.get().entity(named: name)
    #expect(declared.objectClass == expected.objectClass)
    #expect(declared.isAbstract == expected.isAbstract)
    #expect(declared.superentity?.name == expected.superentity?.name)
    #expect(declared.formerNames == expected.formerNames)
    #expect(declared.userInfo == expected.userInfo)
    #expect(declared.properties.map(\.name) == expected.properties.map(\.name))
    #expect(
      declared.uniquenessConstraints.map { $0.map(\.name) } == expected.uniquenessConstraints.map { $0.map(\.name) })
    #expect(declared.indexes.map { $0.map(\.name) } == expected.indexes.map { $0.map(\.name) })
    #expect(declared.attributes.map(\.type) == expected.attributes.map(\.type))
    #expect(declared.attributes.map(Self.text) == expected.attributes.map(Self.text))
    #expect(declared.relationships.map(Self.text) == expected.relationships.map(Self.text))
  }
}
