import CoherenceCore
import CoherenceMapping
import TestSupport
import Testing

@Suite("Fields of derived attributes")
struct DerivedFieldTests {
  private struct Album: Codable, Sendable, Hashable {
    var id: Int
    var title: String
    var folded: String

    static let mapping = Mapping<Album>("Album", uid: \.id) {
      Field("id", \.id)
      Field("folded", \.folded)
      Field("title", \.title)
    }

    /// A mapping with the derived attribute as its uid.
    static let mappingByDerived = Mapping<Album>("Album", uid: \.folded) {
      Field("id", \.id)
      Field("folded", \.folded)
      Field("title", \.title)
    }
  }

  private func stack(_ backend: Backend) throws -> MappingStack {
    try MappingStack(
      backend,
      model: ManagedObjectModel {
        Entity("Album", uniqueness: [["id"]]) {
          Attribute("id", .int64)
          Attribute("title", .string)
          Attribute("folded", .string, derived: .canonical("title"))
        }
      })
  }

  @Test(arguments: Backend.available, [true, false])
  func `a field of a derived attribute is fetched, and left out of saves`(
    backend: Backend, shouldOverwrite: Bool
  ) throws {
    let stack = try stack(backend)
    func save(_ models: [Album]) throws -> SaveResult {
      try stack.manager.save(Album.mapping, models: models, shouldOverwrite: shouldOverwrite)
    }
    func stored() throws -> [Album] {
      try stack.manager.fetchModels(Album.mapping, sort: [Album.mapping.order(\.id)])
    }
    #expect(
      try save([Album(id: 1, title: "Éclat", folded: ""), Album(id: 2, title: "Été", folded: "wrong")]).inserted == 2)
    let first = Album(id: 1, title: "Éclat", folded: "eclat")
    #expect(try stored() == [first, Album(id: 2, title: "Été", folded: "ete")])
    // The first model differs from its record in the derived value alone.
    let result = try save([Album(id: 1, title: "Éclat", folded: "wrong"), Album(id: 2, title: "Ça", folded: "ete")])
    #expect(result.unchanged == 1 && result.updated == 1)
    #expect(try stored() == [first, Album(id: 2, title: "Ça", folded: "ca")])
    let found = try stack.manager.fetchModels(Album.mapping, where: Album.mapping[\.folded] == "ca")
    #expect(found.map(\.id) == [2])
  }

  @Test(arguments: Backend.available)
  func `a save by a derived uid is refused before anything is saved, and a fetch by it is not`(
    backend: Backend
  ) throws {
    let stack = try stack(backend)
    let album = Album(id: 1, title: "Éclat", folded: "eclat")
    try stack.manager.save(Album.mapping, models: [album], shouldOverwrite: false)
    let other = Album(id: 2, title: "Été", folded: "ete")
    #expect {
      try stack.manager.save(Album.mappingByDerived, models: [other], shouldOverwrite: true)
    } throws: { error in
      let text = String(describing: error)
      return ErrorCode.modelDoesNotFit ~= error && text.contains("'folded' is a derived attribute")
    }
    #expect(try stack.manager.fetchModels(Album.mappingByDerived, uids: ["eclat"]) == [album])
    #expect(try stack.manager.fetchModels(Album.mapping) == [album])
  }
}
