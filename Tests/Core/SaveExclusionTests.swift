import Synchronization
import Testing

@testable import CoherenceCore

/// Saves that repeatedly conflict with other writers.
@Suite struct SaveExclusionTests {
  @Test func `a save overtaken four times is repeated while other writers are excluded`() throws {
    let model = try ManagedObjectModel {
      Entity("Thing") {
        Attribute("name", .string)
        Attribute("count", .int64, default: 0)
      }
    }
    let coordinator = try PersistentStoreCoordinator(inMemory: model)
    let (context, other) = (
      ManagedObjectContext(coordinator: coordinator), ManagedObjectContext(coordinator: coordinator)
    )
    other.mergePolicy = .objectTrumps
    try context.performAndWait {
      let thing = try context.insertNewObject(forEntityName: "Thing")
      try thing.setValue("old", for: "name")
      try context.save()
    }
    /// Changes the record, unless the save excludes other writers.
    let overtakes = Atomic<Int>(0)
    let overtake: @Sendable () -> Void = {
      if context.lease.excludesWriters { return }
      let count = overtakes.add(1, ordering: .relaxed).newValue
      other.performAndWait {
        do {
          try other.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).first?.setValue(Int64(count), for: "count")
          try other.save()
        } catch {
          Issue.record(error)
        }
      }
    }
    context.mergePolicy = .objectTrumps
    context.mergePolicy.observer = { _, _ in overtake() }
    try context.performAndWait {
      let thing = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Thing")).first)
      overtake()
      try thing.setValue("new", for: "name")
      try context.save()
      #expect(try thing.value(for: "name", as: String.self) == "new")
      #expect(try thing.value(for: "count", as: Int64.self) == 5)
    }
    #expect(overtakes.load(ordering: .relaxed) == 5)
  }
}
