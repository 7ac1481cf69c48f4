import Foundation
import Synchronization
import Testing

@testable import CoherenceCore

/// Participants of saves: their registration, and their effect on the cost of a save. The conformance suite has the
/// other tests.
@Suite struct SaveParticipantTests {
  private let coordinator: PersistentStoreCoordinator

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Vehicle", isAbstract: true) { Attribute("name", .string) }
      Entity("Car", parent: "Vehicle")
      Entity("Bicycle", parent: "Vehicle")
      Entity("Entry") {
        Attribute("text", .string)
        Attribute("savedAt", .date, derived: .now)
      }
    }
    coordinator = try PersistentStoreCoordinator(inMemory: model)
  }

  /// Adds an entry for each change of the observed entities.
  private final class Registrar: SaveParticipant {
    let names: Set<String>
    let questions = Mutex<[String]>([])
    let calls = Atomic<Int>(0)

    init(_ names: String...) { self.names = Set(names) }

    func observes(_ entity: EntityDescription) -> Bool {
      questions.withLock { $0.append(entity.name) }
      return names.contains(entity.name)
    }

    func participate(in save: inout SaveParticipation) throws {
      calls.add(1, ordering: .relaxed)
      let entry = try save.model.entity(named: "Entry")
      for change in save.changes {
        var values = entry.defaultValues
        values[0] = .string("\(change.kind) \(change.entity.name)")
        try save.insert(entry, values)
      }
    }
  }

  private func insert(_ names: String..., in context: ManagedObjectContext? = nil) throws {
    let context = context ?? ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      for name in names { try context.insertNewObject(forEntityName: name).setValue("A", for: "name") }
      try context.save()
    }
  }

  private func entries() throws -> [String] {
    let context = ManagedObjectContext(coordinator: coordinator)
    return try context.performAndWait {
      let entries = try context.fetch(FetchRequest<ManagedObject>(entityName: "Entry"))
      return try entries.map { try $0.value(for: "text", as: String.self) }.sorted()
    }
  }

  @Test func `a participant is asked once for each entity of the model, and not again by saves`() throws {
    let registrar = Registrar("Car")
    coordinator.addSaveParticipant(registrar)
    try insert("Car", "Bicycle")
    try insert("Car")
    #expect(registrar.questions.withLock { $0.sorted() } == ["Bicycle", "Car", "Entry", "Vehicle"])
    #expect(try entries() == ["inserted Car", "inserted Car"])
  }

  @Test func `a participant that is added a second time is not asked again`() throws {
    let registrar = Registrar("Car")
    for _ in 1...2 { coordinator.addSaveParticipant(registrar) }
    #expect(registrar.questions.withLock { $0.sorted() } == ["Bicycle", "Car", "Entry", "Vehicle"])
    coordinator.removeSaveParticipant(registrar)
    coordinator.addSaveParticipant(registrar)
    #expect(registrar.questions.withLock { $0.count } == 8)
    try insert("Car")
    #expect(try entries() == ["inserted Car"])
  }

  @Test func `an entity is observed by itself, not by the entity above it`() throws {
    let registrar = Registrar("Vehicle")
    coordinator.addSaveParticipant(registrar)
    try insert("Car", "Bicycle")
    #expect(registrar.calls.load(ordering: .relaxed) == 0)
  }

  @Test func `a coordinator retains a participant until the participant is removed`() throws {
    weak var retained: Registrar?
    do {
      let registrar = Registrar("Car")
      retained = registrar
      coordinator.addSaveParticipant(registrar)
    }
    #expect(retained != nil)
    if let registrar = retained { coordinator.removeSaveParticipant(registrar) }
    #expect(retained == nil)
    #expect(coordinator.participants.isEmpty)
    try insert("Car")
    #expect(try entries() == [])
  }

  @Test func `a save without participants is not recorded, nor one of a context that records nothing`() throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    #expect(context.recordsChanges && context.transactionAuthor == nil)
    #expect(SaveRecording(of: context, in: coordinator) == nil)
    coordinator.addSaveParticipant(Registrar("Car"))
    #expect(SaveRecording(of: context, in: coordinator) != nil)
    context.recordsChanges = false
    #expect(SaveRecording(of: context, in: coordinator) == nil)
  }

  @Test func `a record of a participant has the derived values of its entity`() throws {
    coordinator.addSaveParticipant(Registrar("Car"))
    let start = Date()
    try insert("Car")
    let context = ManagedObjectContext(coordinator: coordinator)
    let savedAt = try context.performAndWait {
      let entry = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Entry")).first)
      return try entry.value(for: "savedAt", as: Date.self)
    }
    #expect(savedAt.timeIntervalSince(start) > -1)
  }

  @Test func `keys of participants are allocated in growing numbers, and none twice`() throws {
    let store = try #require(coordinator.persistentStores.first)
    let entity = try coordinator.managedObjectModel.entity(named: "Entry")
    let supplies = (KeySupply(of: store), KeySupply(of: store))
    var keys: [Int64] = []
    for _ in 0..<5_000 {
      keys.append(try supplies.0.nextID(in: entity.root).key)
      keys.append(try supplies.1.nextID(in: entity.root).key)
    }
    #expect(Set(keys).count == 10_000)
    let ofOne = stride(from: 0, to: 10_000, by: 2).map { keys[$0] }
    #expect(ofOne == ofOne.sorted())
  }
}
