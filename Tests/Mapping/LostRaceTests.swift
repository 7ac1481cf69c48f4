import CoherenceCore
import CoherenceMapping
import CoherenceStrategies
import Synchronization
import Testing
import TestSupport

/// Other writers save the same uids between the plan and the commit of a save.
@Suite("Saves of models under races", .timeLimit(.minutes(15)))
struct LostRaceTests {
  /// Groceries with a uniqueness constraint on the uid.
  private func uniqueGroceries() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("GroceryRecord", class: GroceryRecord.self, uniqueness: [["id"]]) {
        Attribute("id", .string)
        Attribute("name", .string)
        Attribute("points", .int64, default: 0)
        Attribute("details", .string, optional: true)
      }
    }
  }

  private func interfere(_ stack: MappingStack, times: Int = 1, _ work: @escaping @Sendable () throws -> Void) {
    stack.manager.container.persistentStoreCoordinator.observer = SaveInterference(
      times: times, reportingTo: { Issue.record($0) }, work)
  }

  @Test(arguments: Backend.available)
  func `a save updates the record that another writer inserts with its uid before the commit`(
    backend: Backend
  ) throws {
    for policy in [MergePolicy.error, .objectTrumps, .storeTrumps] {
      let stack = try MappingStack(backend, model: uniqueGroceries(), mergePolicy: policy)
      let stranger = try stack.makeStranger()
      interfere(stack) {
        let theirs = GroceryProduct(id: "1", name: "Theirs")
        try stranger.save(entity: GroceryRecord.self, models: [theirs], shouldOverwrite: false)
      }
      let result = try stack.manager.save(
        entity: GroceryRecord.self, models: [.banana, .mango], shouldOverwrite: false)
      #expect(result.inserted == 1 && result.updated == 1)
      #expect(try stack.products() == [.banana, .mango])
    }
  }

  @Test(arguments: Backend.available)
  func `a save through a mapping is planned again when another writer inserts a uid before the commit`(
    backend: Backend
  ) throws {
    let people = Person.mapping
    let stack = try MappingStack(backend, model: ManagedObjectModel { people })
    let stranger = try stack.makeStranger()
    interfere(stack) {
      try stranger.save(people, models: [Person(id: 1, name: "Theirs", age: 1)], shouldOverwrite: false)
    }
    let ours = [Person(id: 1, name: "Ada", age: 36), Person(id: 2, name: "Grace", age: 85)]
    let result = try stack.manager.save(people, models: ours, shouldOverwrite: false)
    #expect(result.inserted == 1 && result.updated == 1)
    #expect(try stack.manager.fetchModels(people, sort: [people.order(\.id)]) == ours)
  }

  @Test(arguments: Backend.available)
  func `a save that lost every earlier race succeeds while other writers are kept out`(backend: Backend) throws {
    let stack = try MappingStack(backend, model: uniqueGroceries())
    try stack.insert(GroceryRecord.self, [.banana])
    let stranger = try stack.makeStranger()
    let edits = Atomic<Int>(0)
    interfere(stack, times: 3) {
      var theirs = GroceryProduct.banana
      theirs.points = edits.add(1, ordering: .relaxed).newValue
      try stranger.save(entity: GroceryRecord.self, models: [theirs], shouldOverwrite: false)
    }
    var ours = GroceryProduct.banana
    ours.name = "Plantain"
    let result = try stack.manager.save(entity: GroceryRecord.self, models: [ours, .lime], shouldOverwrite: false)
    #expect(edits.load(ordering: .relaxed) == 3)
    #expect(result.updated == 1 && result.inserted == 1)
    #expect(try stack.products() == [ours, .lime])
  }

  @Test(arguments: Backend.available)
  func `an overwriting save deletes a record that another writer inserts before the commit`(
    backend: Backend
  ) throws {
    let stack = try MappingStack(backend, model: uniqueGroceries())
    let stranger = try stack.makeStranger()
    interfere(stack) {
      try stranger.save(entity: GroceryRecord.self, models: [.banana, .durian], shouldOverwrite: false)
    }
    let result = try stack.manager.save(entity: GroceryRecord.self, models: [.banana], shouldOverwrite: true)
    #expect(result.unchanged == 1 && result.deleted == 1)
    #expect(try stack.products() == [.banana])
  }

  @Test(arguments: Backend.available)
  func `a deletion by another writer before the commit stays if the record equals its model`(backend: Backend) throws {
    let stack = try MappingStack(backend, model: uniqueGroceries())
    try stack.insert(GroceryRecord.self, [.banana])
    let stranger = try stack.makeStranger()
    interfere(stack) { try stranger.delete(entity: GroceryRecord.self, uid: "1") }
    let result = try stack.manager.save(
      entity: GroceryRecord.self, models: [.banana, .lime], shouldOverwrite: false)
    #expect(result.unchanged == 1 && result.inserted == 1)
    #expect(try stack.products() == [.lime])
  }

  @Test func `a transaction is not repeated after a lost race`() throws {
    let stack = try MappingStack(model: uniqueGroceries())
    let stranger = try stack.makeStranger()
    interfere(stack) {
      try stranger.save(entity: GroceryRecord.self, models: [.banana], shouldOverwrite: false)
    }
    var runs = 0
    let error = #expect(throws: CoherenceError.self) {
      try stack.manager.transaction { transaction in
        runs += 1
        try transaction.save(entity: GroceryRecord.self, models: [.banana], shouldOverwrite: false)
      }
    }
    #expect(runs == 1 && error?.code == .uniquenessViolated)
  }
}
