import CoherenceCore
import CoherenceInMemory
import Foundation
import Synchronization
import Testing

/// Signals on a store in memory, which calls its listeners before the signalling call returns.
@Suite struct SignalTests {
  private let coordinator: PersistentStoreCoordinator
  private let store: any StoreSignaling

  init() throws {
    let model = try ManagedObjectModel {
      Entity("Job", uniqueness: [["name"]]) {
        Attribute("name", .string)
        Attribute("state", .int16, default: 0)
      }
      Entity("Entry") { Attribute("text", .string) }
    }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    store = try #require(try coordinator.addPersistentStore(type: .inMemory) as? any StoreSignaling)
  }

  /// Counts the calls of a listener.
  private final class Counter: Sendable {
    private let calls = Atomic<Int>(0)
    var count: Int { calls.load(ordering: .relaxed) }
    func rise() { calls.add(1, ordering: .relaxed) }
  }

  private func listen(to channel: String) throws -> (Counter, SignalListening) {
    let counter = Counter()
    return (counter, try store.listen(to: channel) { counter.rise() })
  }

  private func save(_ context: ManagedObjectContext, _ name: String) throws {
    try context.insertNewObject(forEntityName: "Job").setValue(name, for: "name")
    try context.save()
  }

  @Test func `a signal calls the listeners of its channel alone, until their listening is cancelled`() throws {
    let (jobs, listening) = try listen(to: "jobs")
    let (others, otherListening) = try listen(to: "others")
    #expect(jobs.count == 1)
    try coordinator.signal("jobs")
    #expect(jobs.count == 2)
    #expect(others.count == 1)
    listening.cancel()
    listening.cancel()
    try coordinator.signal("jobs")
    try coordinator.signal("others")
    #expect(jobs.count == 2)
    #expect(others.count == 2)
    withExtendedLifetime(otherListening) {}
  }

  @Test func `a released listener receives no more signals`() throws {
    let counter = try listen(to: "jobs").0
    try coordinator.signal("jobs")
    #expect(counter.count == 1)
  }

  @Test func `only a save that reaches the store signals, and it signals once`() throws {
    let (jobs, listening) = try listen(to: "jobs")
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      context.signalOnSave("jobs")
      context.signalOnSave("jobs")
      try context.save()
      #expect(jobs.count == 1)
      try save(context, "a")
      #expect(jobs.count == 2)
      try save(context, "b")
      #expect(jobs.count == 2)
    }
    withExtendedLifetime(listening) {}
  }

  @Test func `a signal that an observer of a save asks for is sent with the next save`() throws {
    let (jobs, listening) = try listen(to: "jobs")
    let context = ManagedObjectContext(coordinator: coordinator)
    let token = NotificationCenter.default.addObserver(
      forName: .managedObjectContextDidSave, object: context, queue: nil
    ) { notification in
      (notification.object as? ManagedObjectContext)?.signalOnSave("jobs")
    }
    try context.performAndWait { try save(context, "a") }
    NotificationCenter.default.removeObserver(token)
    #expect(jobs.count == 1)
    try context.performAndWait { try save(context, "b") }
    #expect(jobs.count == 2)
    withExtendedLifetime(listening) {}
  }

  @Test func `a refused save sends no signal`() throws {
    let (jobs, listening) = try listen(to: "jobs")
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      try save(context, "a")
      context.signalOnSave("jobs")
      #expect(throws: CoherenceError.self) { try save(context, "a") }
      #expect(jobs.count == 1)
    }
    withExtendedLifetime(listening) {}
  }

  @Test(arguments: [true, false])
  func `a rollback and a reset drop the signals of the next save`(isRollback: Bool) throws {
    let (jobs, listening) = try listen(to: "jobs")
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      context.signalOnSave("jobs")
      if isRollback { context.rollback() } else { context.reset() }
      try save(context, "a")
    }
    #expect(jobs.count == 1)
    withExtendedLifetime(listening) {}
  }

  /// Adds an entry and a signal to each save of jobs.
  private final class Reporter: SaveParticipant {
    func observes(_ entity: EntityDescription) -> Bool { entity.name == "Job" }

    func participate(in save: inout SaveParticipation) throws {
      let entry = try save.model.entity(named: "Entry")
      for change in save.changes { try save.insert(entry, [.string("\(change.kind)")]) }
      save.signal("entries")
    }
  }

  @Test func `a participant signals with the transaction of the save`() throws {
    coordinator.addSaveParticipant(Reporter())
    let (entries, listening) = try listen(to: "entries")
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait { try save(context, "a") }
    #expect(entries.count == 2)
    withExtendedLifetime(listening) {}
  }

  @Test func `a claim of observed records is shown to participants, and takes each record once`() throws {
    let context = ManagedObjectContext(coordinator: coordinator)
    try context.performAndWait {
      for name in ["b", "a", "c"] { try save(context, name) }
      coordinator.addSaveParticipant(Reporter())
      let (entries, listening) = try listen(to: "entries")
      let free = FetchRequest<ManagedObject>(entityName: "Job")
        .filter(.comparison(.path(PropertyPath("state")), .equal, .value(.int(0)))).sort("name")
      let first = try context.claim(free, limit: 2, set: ["state": 1])
      #expect(
        try first.map { try context.existingObject(with: $0).value(for: "name") } == [.string("a"), .string("b")])
      #expect(try context.claim(free, limit: 2, set: ["state": 1]).count == 1)
      #expect(try context.claim(free, limit: 2, set: ["state": 1]).isEmpty)
      let texts = try context.fetch(FetchRequest<ManagedObject>(entityName: "Entry")).map { try $0.value(for: "text") }
      #expect(texts == Array(repeating: .string("updated"), count: 3))
      #expect(entries.count == 3)
      withExtendedLifetime(listening) {}
    }
  }
}
