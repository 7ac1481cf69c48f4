import CoherenceInMemory
import Testing

@testable import CoherenceCore

/// The errors of saves and batch requests that one of several stores refuses.
@Suite struct SaveOutcomesTests {
  private struct Refusal: Error {}

  private let coordinator: PersistentStoreCoordinator
  private let stores: [any PersistentStore]
  private let entity: EntityDescription

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string, optional: true) } }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    for _ in 1...3 { try coordinator.addPersistentStore(type: .inMemory) }
    stores = coordinator.persistentStores
    entity = try model.entity(named: "Thing")
  }

  private func units(_ records: [PendingRecord] = []) -> [StoreUnit] {
    stores.map { store in
      var unit = UnitOfWork(of: RecordKeeper(records))
      for record in records { unit.append(RecordChange(record)) }
      return StoreUnit(store: store, unit: unit)
    }
  }

  private func outcomes(_ outcomes: [SaveOutcome]) -> [StoreIdentifier: SaveOutcome] {
    Dictionary(uniqueKeysWithValues: zip(stores.map(\.identifier), outcomes))
  }

  // MARK: Saves

  @Test func `the refusal of the first store is the error of the save, with the outcome of every store`() throws {
    let refusal = CoherenceError(.connectionLost, "Lost.", outcome: .unknown, isRetryable: true)
    let error = try #require(SaveOutcomes(of: units()).failure(refusal, of: stores[1]) as? CoherenceError)
    #expect(error.code == .connectionLost)
    #expect(error.outcomes == outcomes([.notApplied, .unknown, .notApplied]))
    #expect(error.isRetryable)
  }

  @Test func `a refusal after a commit is a partial save with the refusal's own outcome`() throws {
    var saved = SaveOutcomes(of: units())
    saved.noteCommit(in: stores[0])
    let refusal = CoherenceError(.connectionLost, "The server left.", outcome: .unknown, isRetryable: true)
    let error = try #require(saved.failure(refusal, of: stores[1]) as? CoherenceError)
    #expect(error.code == .partialSave)
    #expect(error.outcome == .unknown)
    #expect(error.outcomes == outcomes([.applied, .unknown, .notApplied]))
    #expect(error.isRetryable)
    #expect((error.underlying as? CoherenceError)?.code == .connectionLost)
    #expect(error.message.contains("The server left."))
  }

  @Test func `an error of another kind is an error of the store's input and output`() throws {
    let error = try #require(SaveOutcomes(of: units()).failure(Refusal(), of: stores[0]) as? CoherenceError)
    #expect(error.code == .inputOutput)
    #expect(error.underlying is Refusal)
  }

  @Test func `a refused record is named by the identifier that its object still has`() throws {
    let id = ManagedObjectID(space: stores[0].spaces[entity], key: 7)
    let record = PendingRecord(
      inserting: .temporary(for: entity), Row.make(id: id, entity: entity, version: 1, values: [.null]))
    record.reservedID = id
    let other = ManagedObjectID(space: stores[0].spaces[entity], key: 8)
    var refusal = CoherenceError(.uniquenessViolated, "Taken.")
    refusal.objectIDs = [id, other]
    let error = try #require(SaveOutcomes(of: units([record])).failure(refusal, of: stores[0]) as? CoherenceError)
    #expect(error.objectIDs == [record.id, other])
  }

  @Test func `a failure after a partial save stays partial, and an applied store stays applied`() throws {
    var earlier = CoherenceError(.partialSave, "Some stores were saved.")
    earlier.outcomes = outcomes([.applied, .notApplied, .notApplied])
    var last = CoherenceError(.connectionLost, "Lost.", outcome: .unknown)
    last.outcomes = outcomes([.notApplied, .unknown, .notApplied])
    let error = try #require(SaveOutcomes.failure(last, after: earlier) as? CoherenceError)
    #expect(error.code == .partialSave)
    #expect(error.outcomes == outcomes([.applied, .unknown, .notApplied]))
    #expect((error.underlying as? CoherenceError)?.code == .connectionLost)
    var partial = CoherenceError(.partialSave, "Again.", underlying: last)
    partial.outcomes = outcomes([.notApplied, .applied, .unknown])
    let again = try #require(SaveOutcomes.failure(partial, after: earlier) as? CoherenceError)
    #expect(again.outcomes == outcomes([.applied, .applied, .unknown]))
    #expect((again.underlying as? CoherenceError)?.code == .connectionLost)
    let foreign = try #require(SaveOutcomes.failure(Refusal(), after: earlier) as? CoherenceError)
    #expect((foreign.underlying as? CoherenceError)?.code == .inputOutput)
  }

  // MARK: Batch requests

  @Test func `a batch request ends at the first store that fails`() throws {
    var asked = 0
    let refusal = CoherenceError(.connectionLost, "Lost.", outcome: .unknown)
    let batch = BatchOutcomes(in: stores) { store in
      asked += 1
      if store === stores[1] { throw refusal }
    }
    #expect(asked == 2)
    let error = try #require(batch.failure(hasChanges: true) as? CoherenceError)
    #expect(error.code == .partialSave)
    #expect(error.outcome == .unknown)
    #expect(error.outcomes == outcomes([.applied, .unknown, .notApplied]))
    #expect((batch.failure(hasChanges: false) as? CoherenceError)?.code == .connectionLost)
  }

  @Test func `a batch request without a failure has no error, and a foreign error is an error of the store`() throws {
    #expect(BatchOutcomes(in: stores) { _ in }.failure(hasChanges: true) == nil)
    let batch = BatchOutcomes(in: stores) { store in if store === stores[2] { throw Refusal() } }
    #expect(batch.failure(hasChanges: false) is Refusal)
    let error = try #require(batch.failure(hasChanges: true) as? CoherenceError)
    #expect((error.underlying as? CoherenceError)?.code == .inputOutput)
    #expect(error.outcomes == outcomes([.applied, .applied, .notApplied]))
  }
}
