import CoherenceCore
import Synchronization
import Testing

/// The batches of objects of a stream.
@Suite struct StreamBatchTests {
  private let context: ManagedObjectContext
  private var notes: FetchRequest<ManagedObject> { FetchRequest<ManagedObject>(entityName: "Note").sort("title") }

  init() throws {
    let model = try ManagedObjectModel { Entity("Note") { Attribute("title", .string) } }
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    self.context = context
    try context.performAndWait {
      for title in ["a", "b", "c"] {
        try context.insertNewObject(forEntityName: "Note").setValue(title, for: "title")
      }
      try context.save()
    }
  }

  @Test(arguments: [-1, 0, 1, 2, 3, Int.max])
  func `a batch has as many objects as its size, but one at least`(size: Int) async throws {
    let sizes = Mutex<[Int]>([])
    try await context.forEachBatch(of: notes, batchSize: size) { objects in
      sizes.withLock { $0.append(objects.count) }
    }
    let expected = size < 2 ? [1, 1, 1] : size == 2 ? [2, 1] : [3]
    let found = sizes.withLock { $0 }
    #expect(found == expected)
  }

  @Test func `a batch whose objects were all deleted since is left out, and the next one follows`() async throws {
    let titles = Mutex<[String]>([])
    let request = notes
    try await context.forEachBatch(of: request, batchSize: 1) { objects in
      for object in objects {
        let title = try object.value(for: "title", as: String.self)
        titles.withLock { $0.append(title) }
        guard title == "a", let context = object.managedObjectContext else { continue }
        context.delete(try context.fetch(request)[1])
      }
    }
    let found = titles.withLock { $0 }
    #expect(found == ["a", "c"])
  }
}
