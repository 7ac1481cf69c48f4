import Coherence
import Foundation
import Testing

@Suite("The article about claims and signals", .timeLimit(.minutes(15)))
struct ClaimsGuideTests {
  private func coordinator() throws -> PersistentStoreCoordinator {
    let model = try ManagedObjectModel {
      Entity("Job") {
        Attribute("enqueued", .date)
        Attribute("leaseEnd", .date)
        Attribute("worker", .string, optional: true)
      }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .inMemory)
    return coordinator
  }

  private func enqueue(_ count: Int, in context: ManagedObjectContext) throws {
    for _ in 0..<count {
      let job = try context.insertNewObject(forEntityName: "Job")
      try job.setValue(Date(timeIntervalSinceReferenceDate: 0), for: "enqueued")
      try job.setValue(Date(timeIntervalSinceReferenceDate: 0), for: "leaseEnd")
    }
  }

  /// Claims jobs without a lease, and returns their number.
  private func workOff(in context: ManagedObjectContext) throws -> Int {
    try context.performAndWait {
      let now = Date(timeIntervalSinceReferenceDate: 1)
      let hasNoLease = FetchPredicate.comparison(.path(PropertyPath("leaseEnd")), .less, .value(now.attributeValue))
      let free = FetchRequest<ManagedObject>(entityName: "Job").filter(hasNoLease).sort("enqueued")
      let mine = try context.claim(free, limit: 8, set: ["worker": "w1", "leaseEnd": now.addingTimeInterval(60)])
      return mine.count
    }
  }

  @Test func `a claim takes as many records as its limit, and each once`() throws {
    let context = ManagedObjectContext(coordinator: try coordinator())
    try context.performAndWait {
      try enqueue(10, in: context)
      try context.save()
    }
    #expect(try [workOff(in: context), workOff(in: context), workOff(in: context)] == [8, 2, 0])
  }

  @Test func `a worker is woken by a save`() async throws {
    let coordinator = try coordinator()
    let context = ManagedObjectContext(coordinator: coordinator)
    let writer = Task {
      let context = ManagedObjectContext(coordinator: coordinator)
      try await context.perform {
        try enqueue(1, in: context)
        context.signalOnSave("jobs")
        try context.save()
      }
    }
    var done = 0
    for await _ in coordinator.signals("jobs") {
      done += try workOff(in: context)
      if done == 1 { break }
    }
    try await writer.value
    #expect(done == 1)
  }
}
