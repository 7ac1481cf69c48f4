import Coherence
import CoherenceMapping
import Foundation
import Newcomer
import Testing

/// First code of a user of another wrapper of records, with public API only.
@Suite("First steps with models")
struct NewcomersFirstStepsTests {
  @MainActor @Test func `a program written for another wrapper runs`() async throws {
    try registerMyModel()
    let coordinator = AppCoordinator()
    await withCheckedContinuation { continuation in coordinator.configure { continuation.resume() } }
    try use(People(coordinator.persistenceManager))
  }

  private func use(_ people: People) throws {
    let (ada, bea, cid) = (
      Person(personId: "a", name: "Ada"), Person(personId: "b", name: "Bea"), Person(personId: "c", name: "Cid")
    )
    try people.save(people: [ada, bea, cid])
    #expect(try people.fetchPerson(uid: "b") == bea)
    #expect(try people.fetchPeople(uids: ["a", "c", "x"]) == [ada, cid])
    try people.deletePeople(by: ["a"])
    try people.delete(person: bea)
    #expect(try people.fetchPeople(uids: ["a", "b", "c"]) == [cid])
    try people.delete(people: [cid])
    try people.save(people: [ada])
    #expect(try people.fetchPeople(uids: ["a", "b", "c"]) == [ada])
  }
}

/// A structure without a record class.
@Suite("First steps with mappings")
struct MappingFirstStepsTests {
  struct Visitor: Codable, Sendable, Equatable {
    let id: UUID
    var name: String
    var age: Int?
    var tags: [String]
  }

  private let visitors = Mapping<Visitor>("Visitor", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
    Field("age", \.age)
    Field("tags", json: \.tags)
  }

  @Test func `structures are saved and fetched`() async throws {
    let manager = PersistenceManager(
      name: "Visitors", model: try ManagedObjectModel { visitors },
      storeConfigurations: [StoreConfiguration(type: .inMemory)])
    try await manager.load()
    let ada = Visitor(id: UUID(), name: "Ada", age: 36, tags: ["first"])
    let bea = Visitor(id: UUID(), name: "Bea", age: nil, tags: [])
    try await manager.save(visitors, models: [bea, ada], shouldOverwrite: true)
    let adults = try await manager.fetchModels(
      visitors, where: visitors[\.age] >= 18, sort: [visitors.order(\.name)])
    #expect(adults == [ada])
    #expect(try await manager.fetchModel(visitors, uid: bea.id) == bea)
  }
}
