import Foundation

/// Runs each job on a new thread, which may block.
package final class ThreadExecutor: TaskExecutor {
  package init() {}

  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedTaskExecutor()
    Thread.detachNewThread { job.runSynchronously(on: executor) }
  }
}

/// Runs a block that waits for other processes on a new thread, so that it blocks no thread of concurrent tests. The
/// block is part of the calling test.
package func onOwnThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await Task(executorPreference: ThreadExecutor()) { try body() }.value
}
