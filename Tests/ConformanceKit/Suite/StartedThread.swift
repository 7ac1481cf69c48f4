import Dispatch
import Foundation
import Synchronization

/// Work on a thread of its own, which blocks no thread of the tasks.
final class StartedThread<Result: Sendable>: Sendable {
  private let ended = DispatchSemaphore(value: 0)
  private let result = Mutex<Swift.Result<Result, any Error>?>(nil)

  init(_ work: @escaping @Sendable () throws -> Result) {
    Thread.detachNewThread { [self] in
      let value = Swift.Result { try work() }
      result.withLock { $0 = value }
      ended.signal()
    }
  }

  /// Waits for the end of the work, and returns its result or throws its error. To be called once.
  @discardableResult
  func join() throws -> Result {
    ended.wait()
    return try unwrap(result.withLock { $0 }, "a result").get()
  }
}
