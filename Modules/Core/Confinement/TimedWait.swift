import Synchronization

/// The wait of one task for a time. The cancellation of the task ends the wait, and releases its memory.
///
/// A cancelled `Task.sleep` keeps its memory, some 700 bytes, until its time has passed. Many short operations with a long
/// time for each would keep the memory of all of them for that time.
package final class TimedWait: Sendable {
  private struct State {
    var continuation: CheckedContinuation<Void, Never>?
    var hasEnded = false
  }

  private let timer = ReleasableTimer()
  private let state = Mutex(State())

  init() {}

  /// Waits for a time. Returns early in a cancelled task.
  package static func wait(for time: Duration) async { await TimedWait().run(for: time) }

  func run(for time: Duration) async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { begin(time, $0) }
    } onCancel: {
      end()
    }
  }

  private func begin(_ time: Duration, _ continuation: CheckedContinuation<Void, Never>) {
    let hasEnded = state.withLock { state in
      guard !state.hasEnded else { return true }
      state.continuation = continuation
      // The timer starts under the lock, so that a cancellation meets it started.
      timer.start(after: time) { [weak self] in self?.end() }
      return false
    }
    if hasEnded { continuation.resume() }
  }

  private func end() {
    let continuation = state.withLock { state in
      state.hasEnded = true
      timer.cancel()
      return state.continuation.take()
    }
    continuation?.resume()
  }
}
