import CoherenceStrategies
import Testing
import TestSupport

@testable import CoherenceCore

@Suite("Threads of background tasks")
struct BackgroundTaskThreadTests {
  /// Runs in a new process, in which no other test uses contexts.
  @Test(.timeLimit(.minutes(15)))
  func `thousands of background tasks leave no more than the maximum of idle threads`() async {
    await #expect(processExitsWith: .success) {
      ProcessLimit.begin()
      for backend in Backend.available {
        let stack = try Stack(.mixed, on: backend)
        let container = stack.container
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<64 {
            group.addTask {
              for _ in 0..<50 {
                let count = try await container.performBackgroundTask { context in
                  try context.count(for: FetchRequest(ContainerUser.self))
                }
                #expect(count == 0)
              }
            }
          }
          try await group.waitForAll()
        }
      }
      let pool = WorkerPool.shared
      while !pool.isIdle { await Task.yield() }
      #expect(pool.threadCount <= max(pool.limit, WorkerPool.maximumIdle))
    }
  }
}
