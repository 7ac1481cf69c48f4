import Dispatch
import Foundation
import Testing

@testable import CoherenceCore

/// Work for a main-queue context that another thread waits for.
@Suite struct MainHopTests {
  @Test func `the block of a waiting thread is removed from the main queue when the thread continues`() async throws {
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

  @Test(arguments: [true, false])
  func `a hop waits for a busy main queue without a limit, also at the first hop`(isFirst: Bool) async {
    await #expect(processExitsWith: .success) { [isFirst = isFirst as Bool] in
      ProcessLimit.begin()
      let context = try Self.context()
      if !isFirst { await Task.detached { context.performAndWait {} }.value }
      let isDone = DispatchSemaphore(value: 0)
      await MainActor.run {
        Thread.detachNewThread {
          context.performAndWait {}
          isDone.signal()
        }
        // Longer than a main queue that shows no sign of life was once waited for.
        _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .seconds(12))
      }
      await Task.detached { isDone.wait() }.value
    }
  }

  @Test func `a context created on the main actor knows that the main queue is served`() async {
    await #expect(processExitsWith: .success) {
      ProcessLimit.begin()
      try await MainActor.run {
        #expect(!MainQueue.isServed)
        _ = try Self.context()
        #expect(MainQueue.isServed)
      }
    }
  }

  @Test func `a thread that waits for a busy main queue reports the wait and continues to wait`() throws {
    MainQueue.noteServed()
    let hop = MainHop<Int> { .success(1) }
    var said: [Double] = []
    let result = hop.wait(limits: MainQueue.WaitLimits(warning: 0.001, limit: 0.002)) { seconds in
      said.append(seconds)
      // The main queue responds again after three reports that it is blocked.
      if said.count == 3 { hop.run() }
    }
    #expect(try result.get() == 1)
    #expect(said == [0.001, 0.002, 0.004])
  }

  @Test func `a system clock that is set forward does not count as time in which the main queue is blocked`() throws {
    let hop = MainHop<Int> { .success(1) }
    var looks = 0
    var said: [Double] = []
    let limits = MainQueue.WaitLimits(warning: 0.001, limit: 0.001)
    let result = hop.wait(
      limits: limits, noteBlocked: { said.append($0) },
      elapsed: { _ in
        looks += 1
        // The thread has waited for three dates.
        if looks == 4 { DispatchQueue.global().async { hop.run() } }
        return .zero
      })
    #expect(try result.get() == 1)
    #expect(said.isEmpty)
  }

  @Test func `a hop to an unserved main queue fails with an instruction`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ProcessLimit.begin()
      // A block outside the main queue behaves as a block in an unserved queue.
      _ = MainHop<Void> { .success(()) }.wait(limits: MainQueue.WaitLimits(warning: 0.001, limit: 0.002)) { _ in }
    }
    let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(said.contains("Run the main queue"))
  }

  private static func context() throws -> ManagedObjectContext {
    ManagedObjectContext(
      concurrencyType: .mainQueue,
      coordinator: try PersistentStoreCoordinator(inMemory: ManagedObjectModel { Entity("Thing") }))
  }
}
