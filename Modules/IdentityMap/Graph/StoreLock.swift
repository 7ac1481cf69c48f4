import CoherenceRuntime
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A lock that its owner can take again, so that what runs under it can come back to the store.
///
/// Below it is the system's plain mutex, because the thread sanitizer knows that one. The system has one that can be
/// taken again too, but asks the owner of it each time in a way that takes as long as the rest of a short operation.
// Sendable because the pointer never changes and what it points to is made for use by many threads; `depth` is touched
// by the owner only.
final class StoreLock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  /// The thread that has the lock; 0 when none has. What others read of it is never their own thread.
  private let owner = Atomic<UInt>(0)
  /// How often the owner has taken the lock.
  @exclusivity(unchecked) private(set) var depth = 0

  init() {
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  func lock() {
    let thread = coherence_current_thread()
    if owner.load(ordering: .relaxed) == thread {
      depth += 1
      return
    }
    pthread_mutex_lock(mutex)
    owner.store(thread, ordering: .relaxed)
    depth = 1
  }

  func unlock() {
    depth -= 1
    guard depth == 0 else { return }
    owner.store(0, ordering: .relaxed)
    pthread_mutex_unlock(mutex)
  }
}
