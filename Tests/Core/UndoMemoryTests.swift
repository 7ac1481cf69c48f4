import Testing

@testable import CoherenceCore

/// The objects that an undo history retains.
@Suite struct UndoMemoryTests {
  /// An object that the test does not retain.
  private struct WeakObject { weak var object: ManagedObject? }

  private let context: ManagedObjectContext

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
  }

  @Test func `many undone deletes release the objects that no step of the history needs any more`() throws {
    try context.performAndWait {
      let history = UndoHistory(groupLimit: 2)
      context.undoHistory = history
      var objects: [WeakObject] = []
      for number in 0..<200 {
        let thing = try context.insertNewObject(forEntityName: "Thing")
        try thing.setValue("\(number)", for: "name")
        try context.save()
        context.delete(thing)
        try context.save()
        try history.undo()
        #expect(!thing.isDeleted)
        try context.save()
        objects.append(WeakObject(object: thing))
      }
      #expect(objects.count { $0.object != nil } < 130)
    }
    let count = try context.performAndWait { try context.count(for: FetchRequest<ManagedObject>(entityName: "Thing")) }
    #expect(count == 200)
  }
}
