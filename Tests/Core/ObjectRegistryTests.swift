import TestRandom
import Testing

@testable import CoherenceCore

/// The registry of a context's objects, compared with a simple model, and the objects that a unit of work retains.
@Suite("The registry of objects")
struct ObjectRegistryTests {
  private let context: ManagedObjectContext
  private let staff: StaffModel

  init() throws {
    staff = try StaffModel()
    let model = try ManagedObjectModel { Entity("Unused") { Attribute("name", .string, optional: true) } }
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  private func object(_ id: ManagedObjectID) -> ManagedObject {
    ManagedObject(ObjectBirth(entity: staff.firm, id: id, storage: context.storage))
  }

  /// A registry and two objects, which the steps of a test register, give other identifiers, and remove.
  private struct Stage {
    let test: ObjectRegistryTests
    let registry: ObjectRegistry
    private(set) var objects: [ManagedObject?] = [nil, nil]
    /// Every identifier that an object has had.
    private var ids: Set<ManagedObjectID> = []
    private var lastKey: Int64 = 0

    init(_ test: ObjectRegistryTests) {
      self.test = test
      registry = test.context.storage.registry
    }

    /// A new identifier, of the entities `firm` and `club` by turns.
    private mutating func nextID() -> ManagedObjectID {
      lastKey += 1
      return test.staff.id(lastKey % 2 == 0 ? test.staff.firm : test.staff.club, lastKey)
    }

    /// Operations 0 to 7 concern one object; 8 and 9 move both, and 10 looks all up.
    mutating func run(_ operation: Int) {
      let slot = operation % 2
      switch operation {
      case 0, 1: create(slot, .temporary(for: test.staff.firm), isFresh: true)
      case 2, 3: create(slot, nextID(), isFresh: false)
      case 4, 5: move([slot])
      case 6, 7: objects[slot] = nil
      case 8: move([0, 1])
      case 9: move([1, 0])
      default: _ = registry.all
      }
    }

    private mutating func create(_ slot: Int, _ id: ManagedObjectID, isFresh: Bool) {
      guard objects[slot] == nil else { return }
      let object = test.object(id)
      if isFresh { registry.insert(new: object) } else { registry.insert(object) }
      ids.insert(id)
      objects[slot] = object
    }

    private mutating func move(_ slots: [Int]) {
      var moves: [ObjectRegistry.Move] = []
      for slot in slots {
        guard let object = objects[slot] else { continue }
        let id = nextID()
        moves.append(ObjectRegistry.Move(object, to: id))
      }
      registry.move(moves)
      for object in objects { if let object { ids.insert(object.recordID) } }
    }

    /// Whether the registry finds the objects by their present identifiers alone, and forgets them with their last
    /// references.
    mutating func agreesAndReleases() -> Bool {
      registry.checkInvariants()
      for id in ids {
        let expected = objects.compactMap { $0 }.first { $0.recordID == id }
        if registry.object(for: id) !== expected { return false }
      }
      registry.checkInvariants()
      guard Set(registry.all) == Set(objects.compactMap { $0 }) else { return false }
      objects = [nil, nil]
      return registry.all.isEmpty
    }
  }

  @Test func `the registry finds each object by its present identifier after every sequence of up to four operations`()
  {
    var different: [[Int]] = []
    forEachSequence(of: 11, upTo: 4) { sequence in
      var stage = Stage(self)
      for operation in sequence { stage.run(operation) }
      if !stage.agreesAndReleases() { different.append(sequence) }
    }
    #expect(different.isEmpty)
  }

  @Test(arguments: 1...7)
  func `new objects that get their identifiers in parts, in the order of their insertion, are found by them`(
    count: Int
  ) {
    let registry = context.storage.registry
    let objects = (0..<12).map { _ in object(.temporary(for: staff.firm)) }
    for object in objects { registry.insert(new: object) }
    for start in stride(from: 0, to: objects.count, by: count) {
      let part = objects.indices[start..<min(start + count, objects.count)]
      registry.move(part.map { ObjectRegistry.Move(objects[$0], to: staff.id(staff.firm, Int64($0 + 1))) })
      registry.checkInvariants()
    }
    for (index, object) in objects.enumerated() {
      #expect(registry.object(for: staff.id(staff.firm, Int64(index + 1))) === object)
    }
    #expect(Set(registry.all) == Set(objects))
  }

  @Test(arguments: 1...11)
  func `a look-up finds the new objects that remain after some have got their identifiers`(count: Int) {
    let registry = context.storage.registry
    let objects = (0..<12).map { _ in object(.temporary(for: staff.firm)) }
    for object in objects { registry.insert(new: object) }
    registry.move((0..<count).map { ObjectRegistry.Move(objects[$0], to: staff.id(staff.firm, Int64($0 + 1))) })
    for object in objects { #expect(registry.object(for: object.recordID) === object) }
    registry.checkInvariants()
    #expect(Set(registry.all) == Set(objects))
  }

  @Test(arguments: SeededRandom.seeds)
  func `the memory of a unit of work retains every target that it returns`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var random = SeededRandom(seed: seed)
    let reads = RetainedReads()
    var last: [ManagedObject] = []
    for round in 0..<24 {
      // Together more objects than the memory retains, so that it releases the earliest ones.
      let count = Int.random(in: 1..<4_000, using: &random)
      let objects = (0..<count).map { _ in object(staff.id(staff.firm, .random(in: 0..<40_000, using: &random))) }
      switch round % 3 {
      case 0: reads.retain(objects)
      case 1: reads.retain(targets: objects)
      default: for object in objects { reads.retain(target: object) }
      }
      for object in last where random.isTrue(0.1) { reads.removeTarget(object) }
      last = objects
      reads.checkInvariants()
      for key in Int64(0)..<100 {
        let id = staff.id(staff.firm, key)
        #expect(reads.target(id).map { $0.recordID == id } != false)
      }
      if random.isTrue(0.05) { reads.removeAll() }
    }
    reads.removeAll()
    reads.checkInvariants()
    #expect(reads.isEmpty)
  }
}
