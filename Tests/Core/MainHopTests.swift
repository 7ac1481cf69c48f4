import CoherenceCore
import CoherenceInMemory
import Dispatch
import Foundation
import Testing

/// Work for a main-queue context that another thread waits for.
@Suite struct MainHopTests {
  @Test func `the block of a thread that waits is gone from the main queue when the thread goes on`() async throws {
    let context = try Self.context()
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

  @Test func `a main queue that is busy is waited for, however long it takes`() async {
    await #expect(processExitsWith: .success) {
      let context = try Self.context()
      // From here on it is known that somebody serves the main queue.
      await Task.detached { context.performAndWait {} }.value
      let isDone = DispatchSemaphore(value: 0)
      await MainActor.run {
        Thread.detachNewThread {
          context.performAndWait {}
          isDone.signal()
        }
        // Longer than a main queue that nobody serves is waited for.
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .seconds(12))
      }
      await Task.detached { isDone.wait() }.value
    }
  }

  private static func context() throws -> ManagedObjectContext {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try ManagedObjectModel { Entity("Thing") })
    try coordinator.addPersistentStore(type: .inMemory)
    return ManagedObjectContext(concurrencyType: .mainQueue, coordinator: coordinator)
  }
}
