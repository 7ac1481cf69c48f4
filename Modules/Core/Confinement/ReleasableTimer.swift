import Dispatch
import Synchronization

/// A block that runs after a time. The cancellation and the release of the timer release the block, and the timer's
/// memory.
///
/// `DispatchQueue.asyncAfter` keeps its block, some 500 bytes, until its time has passed. Many short operations with a long
/// time for each would keep the memory of all of them for that time.
///
/// May be used from any thread.
final class ReleasableTimer: Sendable {
  private struct State {
    var source: (any DispatchSourceTimer)?
  }

  private let state = Mutex(State())

  deinit { cancel() }

  /// Runs a block after a time, on a global queue. A block that waits for an earlier time is cancelled.
  func start(after time: Duration, _ block: @escaping @Sendable () -> Void) {
    state.withLock { state in
      state.source?.cancel()
      let source = DispatchSource.makeTimerSource()
      source.setEventHandler { block() }
      source.schedule(deadline: .now() + time / .seconds(1))
      source.activate()
      state.source = source
    }
  }

  /// Cancels the block, unless it has begun.
  func cancel() {
    state.withLock { state in
      state.source?.cancel()
      state.source = nil
    }
  }
}
