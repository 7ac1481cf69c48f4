import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Testing
import TestSupport

@Suite("Managed entities")
struct ManagedEntityTests {
  /// Returns the managed entities of a started Connect with their identifying attributes.
  private func managed(_ entities: [Entity]) throws -> [String: [String]] {
    let stack = try ConnectStack.started(try ManagedObjectModel(entities: entities))
    let managed = stack.connect.managedObjectModel.entities.filter { stack.connect.isManaged($0) }
    return Dictionary(uniqueKeysWithValues: managed.map { ($0.name, stack.connect.uniquenessAttributes(for: $0)) })
  }

  private func entity(
    _ name: String, parent: String? = nil, isAbstract: Bool = false, uniqueness: [[String]] = [],
    setting: String? = nil, attributes: [String] = ["id", "string"]
  ) -> Entity {
    var entity = Entity(
      name, parent: parent, isAbstract: isAbstract, uniqueness: uniqueness,
      userInfo: setting.map { ["uniquenessAttributes": $0] } ?? [:])
    entity.properties = parent == nil ? attributes.map { Attribute($0, .string, optional: true) } : []
    return entity
  }

  @Test func `without a setting the shortest constraint identifies the records`() throws {
    #expect(try managed([entity("A", uniqueness: [["id", "string"], ["id"]])]) == ["A": ["id"]])
  }

  @Test func `of equally short constraints the first identifies the records`() throws {
    #expect(try managed([entity("A", uniqueness: [["string"], ["id"]])]) == ["A": ["string"]])
  }

  @Test func `a setting is split at commas and trimmed`() throws {
    #expect(try managed([entity("A", setting: " id , string ")]) == ["A": ["id", "string"]])
  }

  @Test func `a setting wins over constraints`() throws {
    #expect(try managed([entity("A", uniqueness: [["id"]], setting: "string")]) == ["A": ["string"]])
  }

  @Test func `a setting with a missing attribute identifies no records and stays visible`() throws {
    let stack = try ConnectStack.started()
    let entity = try stack.entity("ConnectEntity4MissingUniquenessAttribute")
    #expect(!stack.connect.isManaged(entity))
    #expect(stack.connect.uniquenessAttributes(for: entity) == ["id", "missingAttribute"])
    #expect(stack.connect.isManaged(try stack.entity("ConnectEntity1")))
    #expect(!stack.connect.isManaged(try stack.entity("ConnectEntity3Unmanaged")))
    #expect(stack.connect.uniquenessAttributes(for: try stack.entity("ConnectEntity3Unmanaged")) == [])
  }

  @Test func `an invalid setting falls back to constraints, not to the parent`() throws {
    let entities = [
      entity("Parent", setting: "id"), entity("Child", parent: "Parent", setting: "missing"),
      entity("Constrained", uniqueness: [["string"]], setting: "missing"),
    ]
    #expect(try managed(entities) == ["Parent": ["id"], "Constrained": ["string"]])
  }

  @Test func `an entity inherits the setting of its nearest ancestor in any order of declaration`() throws {
    let entities = [
      entity("Grandparent", isAbstract: true, setting: "id"),
      entity("Parent", parent: "Grandparent", setting: "string"),
      entity("Child", parent: "Parent"), entity("Aunt", parent: "Grandparent"),
    ]
    let expected = ["Parent": ["string"], "Child": ["string"], "Aunt": ["id"]]
    #expect(try managed(entities) == expected)
    #expect(try managed(entities.reversed()) == expected)
  }

  @Test func `an abstract entity is never managed`() throws {
    #expect(try managed([entity("A", isAbstract: true, setting: "id")]).isEmpty)
  }

  @Test func `a constraint over a relationship identifies no records`() throws {
    var related = entity("A", uniqueness: [["other"]])
    related.properties.append(Relationship("other", toOne: "A", inverse: nil))
    #expect(try managed([related]).isEmpty)
  }

  @Test func `an entity is managed while a store holds the entity`() throws {
    let model = try ManagedObjectModel(
      entities: [entity("A", setting: "id"), entity("B", setting: "id")], configurations: ["OnlyA": ["A"]])
    let stack = try ConnectStack(model)
    let a = try stack.entity("A")
    let b = try stack.entity("B")
    try stack.connect.attachPersistentStore(for: StoreConfiguration(name: "OnlyA", type: .inMemory))
    #expect(!stack.connect.isManaged(a))
    try stack.connect.start()
    #expect(stack.connect.isManaged(a) && !stack.connect.isManaged(b))
    let all = try stack.connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    #expect(stack.connect.isManaged(a) && stack.connect.isManaged(b))
    try stack.connect.detach(persistentStore: all)
    #expect(stack.connect.isManaged(a) && !stack.connect.isManaged(b))
    try stack.connect.stop()
    #expect(!stack.connect.isManaged(a))
  }

  @Test func `two Connects of one model manage entities independently`() throws {
    let first = try ConnectStack.started()
    let second = try ConnectStack()
    let entity = try first.entity("ConnectEntity1")
    #expect(first.connect.isManaged(entity))
    #expect(!second.connect.isManaged(entity))
    #expect(second.connect.uniquenessAttributes(for: entity) == ["id"])
  }
}
