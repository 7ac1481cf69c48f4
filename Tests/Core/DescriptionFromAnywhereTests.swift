import CoherenceCore
import Foundation
import Testing

/// Members of an object that any thread may call: its description and its context. The thread sanitizer checks them.
@Suite struct DescriptionFromAnywhereTests {
  private struct Passenger: @unchecked Sendable {
    // Sendable: the test calls only members allowed on any thread.
    let object: ManagedObject
  }

  @Test func `an object's description and context are readable while its context saves and deletes the object`()
    async throws
  {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string, default: "a") } }
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    for _ in 0..<50 {
      let passengers = try context.performAndWait {
        try (0..<20).map { _ in Passenger(object: try context.insertNewObject(forEntityName: "Thing")) }
      }
      // A new thread describes the objects without waiting, until the objects are released.
      let (ends, end) = AsyncStream.makeStream(of: Bool.self)
      Thread.detachNewThread {
        var (isGone, isDescribed) = (false, true)
        while !isGone {
          for passenger in passengers {
            isDescribed = isDescribed && passenger.object.description.hasPrefix("<Thing: x-coherence://")
            isGone = passenger.object.managedObjectContext == nil
          }
        }
        end.yield(isDescribed)
        end.finish()
      }
      try await context.perform { try context.save() }
      try await context.perform {
        for passenger in passengers { context.delete(passenger.object) }
        try context.save()
      }
      for await isDescribed in ends { #expect(isDescribed) }
    }
  }

  @Test func `an object found on another thread leads to its context for use there`() async throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string, default: "a") } }
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    let passenger = try context.performAndWait {
      Passenger(object: try context.insertNewObject(forEntityName: "Thing"))
    }
    let name = try await Task.detached {
      try passenger.object.managedObjectContext?.performAndWait {
        try passenger.object.value(for: "name", as: String.self)
      }
    }.value
    #expect(name == "a")
  }
}
