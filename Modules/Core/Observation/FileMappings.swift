#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The files that the process has mapped into its memory.
///
/// A search for the binary images of the program reads the first bytes of each mapped file, and the process would end if
/// another thread unmapped one of them in between. The close of a SQLite connection unmaps the index of the log. Files that
/// the program itself unmaps are not guarded.
///
/// May be used from any thread.
package enum FileMappings {
  #if os(Linux)
    // Safety of `nonisolated(unsafe)`: the address is constant, and the memory at it is the operating system's lock.
    private nonisolated(unsafe) static let lock = {
      let lock = UnsafeMutablePointer<pthread_rwlock_t>.allocate(capacity: 1)
      pthread_rwlock_init(lock, nil)
      return lock
    }()

    /// Runs a block that may unmap files. Waits for the end of a search; several threads unmap files at a time.
    package static func unmapping(_ body: () -> Void) {
      pthread_rwlock_rdlock(lock)
      defer { pthread_rwlock_unlock(lock) }
      body()
    }

    /// Runs a search through the mapped files. Waits for the threads that unmap files, and lets no other begin.
    static func searching<T>(_ body: () -> T) -> T {
      pthread_rwlock_wrlock(lock)
      defer { pthread_rwlock_unlock(lock) }
      return body()
    }
  #else
    package static func unmapping(_ body: () -> Void) { body() }
  #endif
}
