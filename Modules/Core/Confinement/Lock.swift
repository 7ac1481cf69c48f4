#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A lock for state that many contexts share.
///
/// On Linux the standard library's `Mutex` spins for a long time and then hands the lock to the longest sleeping
/// thread. With more threads than processors, all other threads wait until that thread is scheduled. This lock is free
/// as soon as it is released: a running thread takes it, and a sleeping thread tries again when it wakes. State without
/// contention stays in a `Mutex`, whose fast path is shorter.
///
/// Not re-entrant.
package struct Lock: ~Copyable, @unchecked Sendable {
  // Sendable: the address is constant, and the memory at it is the operating system's lock.
  #if canImport(Darwin)
    private let address: UnsafeMutablePointer<os_unfair_lock>
  #else
    private let address: UnsafeMutablePointer<pthread_mutex_t>
  #endif

  package init() {
    #if canImport(Darwin)
      address = .allocate(capacity: 1)
      address.initialize(to: os_unfair_lock())
    #else
      address = .allocate(capacity: 1)
      var attributes = pthread_mutexattr_t()
      pthread_mutexattr_init(&attributes)
      #if canImport(Glibc)
        // An adaptive lock tries a few times before the thread sleeps: the protected sections take some nanoseconds.
        pthread_mutexattr_settype(&attributes, CInt(PTHREAD_MUTEX_ADAPTIVE_NP))
      #endif
      pthread_mutex_init(address, &attributes)
      pthread_mutexattr_destroy(&attributes)
    #endif
  }

  deinit {
    #if !canImport(Darwin)
      pthread_mutex_destroy(address)
    #endif
    address.deallocate()
  }

  @inline(__always) package borrowing func lock() {
    #if canImport(Darwin)
      os_unfair_lock_lock(address)
    #else
      pthread_mutex_lock(address)
    #endif
  }

  /// Takes the lock if it becomes free within a time. On Linux a change of the system's clock shortens or extends the
  /// wait.
  ///
  /// - Returns: Whether the lock was taken.
  package borrowing func lock(within duration: Duration) -> Bool {
    #if canImport(Darwin)
      let deadline = ContinuousClock.now + duration
      while !os_unfair_lock_trylock(address) {
        guard ContinuousClock.now < deadline else { return false }
        usleep(1_000)
      }
      return true
    #else
      var time = timespec()
      clock_gettime(CLOCK_REALTIME, &time)
      let (seconds, attoseconds) = duration.components
      let nanoseconds = Int(time.tv_nsec) + Int(attoseconds / 1_000_000_000)
      time.tv_sec += Int(seconds) + nanoseconds / 1_000_000_000
      time.tv_nsec = nanoseconds % 1_000_000_000
      return pthread_mutex_timedlock(address, &time) == 0
    #endif
  }

  @inline(__always) package borrowing func unlock() {
    #if canImport(Darwin)
      os_unfair_lock_unlock(address)
    #else
      pthread_mutex_unlock(address)
    #endif
  }

  @inline(__always) package borrowing func withLock<T>(_ body: () throws -> T) rethrows -> T {
    lock()
    defer { unlock() }
    return try body()
  }
}

/// A value behind a ``Lock``.
package final class Locked<Value>: @unchecked Sendable {
  // Sendable: `value` is used under `lock` only.
  private let lock = Lock()
  // Safety of `@exclusivity(unchecked)`: `lock` is not re-entrant, so that no second access begins.
  @exclusivity(unchecked) private var value: Value

  package init(_ value: Value) { self.value = value }

  @inline(__always) package func withLock<T>(_ body: (inout Value) throws -> T) rethrows -> T {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
