import CoherenceRuntime
public import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A recursive lock with parallel reads.
///
/// It is based on the system's plain mutex, because the thread sanitizer knows this mutex. The recursive mutex of the
/// system looks up its owner in a way that takes as long as the rest of a short operation.
///
/// Reads are shared as in a biased lock (BRAVO, Dice and Kogan 2019). While `isShared` is set, a reader only writes
/// itself into a slot and checks the flag again. A thread that takes the mutex clears the flag and waits until the
/// slots are free. Only the owner changes the flag, and sets it just before it releases the mutex; so no thread reads
/// partial changes. The reader writes its slot before it reads the flag, and the owner writes the flag before it reads
/// the slots, all in one total order: at least one of the two sees the other.
///
/// Clearing the flag costs a read of each slot. So the flag is set again only after many reads with the mutex:
/// alternating reads and writes rarely set it. A shared read takes longer than an uncontended mutex; so the flag stays
/// clear until a thread has found the mutex taken.
// Sendable because the pointers never change and their targets are made for use by many threads; `depth`,
// `readsUntilShared` and `isContended` are touched by the owner only.
@usableFromInline
final class BiasedLock: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  /// The number of the thread that owns the lock, or 0. Only the owner writes its own number. So a thread that reads
  /// its own number owns the lock, in any order of the memory accesses.
  private let owner = Atomic<UInt>(0)
  /// The number of times that the owner has taken the lock.
  @exclusivity(unchecked) private(set) var depth = 0
  private let readers = ReaderSlots()
  /// Whether reads need no mutex.
  @usableFromInline let isShared = Atomic<Bool>(false)
  /// The number of further reads with the mutex until reads are shared.
  @exclusivity(unchecked) private var readsUntilShared = BiasedLock.readsBeforeSharing

  /// Whether a thread has found the mutex taken. Until then no thread waits, and a shared read would only cost more
  /// than the mutex. Changed by the owner.
  @exclusivity(unchecked) @usableFromInline private(set) var isContended = false

  /// The number of reads with the mutex before reads are shared: large enough that clearing the flag costs little in
  /// comparison, and small enough that a burst of reads profits.
  private static let readsBeforeSharing = 64

  init() {
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
    readers.deallocate()
  }

  /// Takes the lock, and ends shared reads. Waits for other owners and for readers.
  func lock() {
    let thread = coherence_current_thread()
    if owner.load(ordering: .relaxed) == thread {
      depth += 1
      return
    }
    if pthread_mutex_trylock(mutex) != 0 {
      pthread_mutex_lock(mutex)
      isContended = true
    }
    owner.store(thread, ordering: .relaxed)
    depth = 1
    if isShared.load(ordering: .relaxed) { endSharing(thread) }
  }

  /// Releases the lock, and lets reads be shared after enough reads with the mutex.
  func unlock() {
    depth -= 1
    guard depth == 0 else { return }
    owner.store(0, ordering: .relaxed)
    if readsUntilShared == 0 { isShared.store(true, ordering: .releasing) }
    pthread_mutex_unlock(mutex)
  }

  // MARK: Reads

  /// Whether a shared read is worth an attempt: without contention, the flag is clear, and a read with the mutex needs
  /// no more than this load of one byte. ``beginReading()`` decides.
  @inlinable var mayShareReads: Bool { isShared.load(ordering: .relaxed) }

  /// Begins a shared read, which never waits.
  /// - Returns: The slot, which ends the read; `nil` when the read needs the lock, as within an operation of the same
  ///   thread.
  func beginReading() -> ReaderSlot? {
    guard mayShareReads, let slot = readers.enter(coherence_current_thread()) else { return nil }
    if isShared.load(ordering: .sequentiallyConsistent) { return slot }
    slot.leave()
    return nil
  }

  /// Allows shared reads, as if a thread had found the mutex taken. Called by the owner; for tests.
  func noteContention() { isContended = true }

  /// Counts the present operation as a read that could have been shared. Called by the owner.
  func noteRead() {
    if isContended, readsUntilShared > 0 { readsUntilShared -= 1 }
  }

  private func endSharing(_ thread: UInt) {
    isShared.store(false, ordering: .sequentiallyConsistent)
    readsUntilShared = Self.readsBeforeSharing
    // Readers run no code that waits, so this loop takes long only if the system has suspended a reader.
    readers.wait(from: thread) { sched_yield() }
  }
}
