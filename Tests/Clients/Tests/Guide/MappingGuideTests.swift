import Coherence
import CoherenceIdentityMap
import CoherenceMapping
import CoherenceModelMacros
import Foundation
import Testing

struct Visitor: Codable, Sendable, Equatable, Identifiable {
  let id: UUID
  var name: String
  var age: Int?
  var tags: [String]
}

extension Visitor {
  static let mapping = Mapping<Visitor>("Visitor", uid: \.id) {
    Field("id", \.id)
    Field("name", \.name)
    Field("age", \.age)
    Field("tags", json: \.tags)
  }
}

struct Guest: CoreModel, Equatable {
  let guestId: String
  var name: String
  var uid: String { guestId }
}

@Entity final class GuestRecord: ManagedObject {
  var id: String
  var name: String
}

extension GuestRecord: RecordFromModel, RecordToModel {
  typealias ModelType = Guest
  static var uidKey: String { "id" }
  var uid: String { id }

  func fromModel(_ model: Guest) {
    id = model.guestId
    name = model.name
  }

  func toModel() -> Guest { Guest(guestId: id, name: name) }
}

struct Size: Codable, Sendable, Equatable {
  var width: Int
}

struct Member: Codable, Sendable {
  let id: UUID
  var fullName: String
  var visits: Int
  var size: Size
}

let members = Mapping<Member>("Member", renamedFrom: "Person", uid: \.id) {
  Field("id", \.id)
  Field("fullName", \.fullName, renamedFrom: "label", "name")
  Field("visits", \.visits)  // was an Int32, and is an Int
  Field("size", json: \.size, converting: { old in Size(width: Int(attributeValue: old) ?? 0) })  // was a number
}

@Suite("The articles about mappings")
struct MappingGuideTests {
  @Test func `structures are saved and fetched by a mapping`() async throws {
    let inMemory = [StoreConfiguration(type: .inMemory)]
    let manager = PersistenceManager(
      name: "Visitors", model: try ManagedObjectModel { Visitor.mapping }, storeConfigurations: inMemory)
    try await manager.load()
    let ada = Visitor(id: UUID(), name: "Ada", age: 36, tags: ["first"])
    let bea = Visitor(id: UUID(), name: "Bea", age: nil, tags: [])
    try await manager.save(Visitor.mapping, models: [ada, bea], shouldOverwrite: false)
    let visitors = Visitor.mapping
    let adults = try await manager.fetchModels(
      visitors, where: visitors[\.age] >= 18, sort: [visitors.order(\.name)])
    #expect(adults == [ada])
    var isRefused = false
    do {
      try await manager.save(visitors, models: [ada, ada], shouldOverwrite: false, duplicates: .refused)
    } catch ErrorCode.duplicateUid {
      isRefused = true  // and nothing was saved
    }
    #expect(isRefused)
    #expect(try await manager.fetchModel(visitors, uid: bea.id) == bea)
  }

  @Test func `models are saved and fetched by a class of records`() throws {
    let inMemory = [StoreConfiguration(type: .inMemory)]
    let manager = PersistenceManager(
      name: "Guests", model: try ManagedObjectModel(GuestRecord.self), storeConfigurations: inMemory)
    try manager.load()
    try manager.save(
      entity: GuestRecord.self, models: [Guest(guestId: "a", name: "Ada")], shouldOverwrite: false)
    let guests = try manager.fetchModels(entity: GuestRecord.self)
    #expect(guests == [Guest(guestId: "a", name: "Ada")])
  }

  @Test func `a mapping with former names is a model`() throws {
    let entity = try ManagedObjectModel { members }.entity(named: "Member")
    #expect(entity.formerNames == ["Person"])
    #expect(entity.attribute(named: "fullName")?.formerNames == ["label", "name"])
  }
}
