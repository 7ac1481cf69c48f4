import CoherenceCore
import CoherenceInMemory
import Dispatch
import Foundation
import Testing

/// Work for a main-queue context that another thread waits for.
@Suite struct MainHopTests {
  @Test func `the block of a thread that waits is gone from the main queue when the thread goes on`() async throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel { Entity("Thing") })
    try coordinator.addPersistentStore(type: .inMemory)
    let context = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: coordinator)
    // The runtime ends the process when a block outlives the call that it was given to.
    let sum = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var sum = 0
        for number in 1...5_000 { context.performAndWait { sum += number } }
        continuation.resume(returning: sum)
      }
    }
    #expect(sum == 5_000 * 5_001 / 2)
  }
}
