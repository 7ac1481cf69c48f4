import Synchronization

/// The threads with shared reads, each in a slot of its own.
///
/// A reader only writes into its slot, which no other reader writes; so readers on different processors do not contend
/// for memory. The slots belong to one ``BiasedLock``, which frees the memory.
///
/// Invariant, see ``checkInvariants()``: only the first word of each slot is ever written, and a slot is written by the
/// thread that it belongs to until that thread leaves.
struct ReaderSlots {
  /// 0 in a free slot, else the number of the reading thread.
  private let threads: UnsafeMutablePointer<Atomic<UInt>>

  /// The number of slots: more than most machines have processors, because only threads that run at the same time need
  /// different slots.
  private static let count = 32
  /// The distance of two slots: two cache lines, because processors fetch lines in pairs.
  private static let distance = 128 / MemoryLayout<Atomic<UInt>>.stride

  init() {
    let words = Self.count * Self.distance
    threads = .allocate(capacity: words)
    for index in 0..<words { (threads + index).initialize(to: Atomic(0)) }
  }

  func deallocate() {
    threads.deinitialize(count: Self.count * Self.distance)
    threads.deallocate()
  }

  /// Writes a thread into a free slot.
  /// - Returns: `nil` when the slots in which the thread may be are taken.
  func enter(_ thread: UInt) -> ReaderSlot? {
    // The numbers of threads are addresses. The upper bits of the product depend on all bits of an address.
    let first = Int((thread &* 0x9E37_79B9_7F4A_7C15) >> 59)
    let preferred = slot(first)
    if preferred.take(for: thread) { return preferred }
    let other = slot(first ^ 1)
    return other.take(for: thread) ? other : nil
  }

  /// The threads in the slots, once for each slot. For tests.
  var readers: [UInt] {
    (0..<Self.count).map { (threads + $0 * Self.distance).pointee.load(ordering: .sequentiallyConsistent) }
      .filter { $0 != 0 }
  }

  /// Ends a debug build if an invariant of the slots does not hold.
  func checkInvariants() {
    for word in 0..<Self.count * Self.distance where word % Self.distance != 0 {
      let thread = (threads + word).pointee.load(ordering: .relaxed)
      assert(thread == 0, "Readers write only the first word of a slot.")
    }
  }

  /// Waits until the present readers of other threads have left their slots, and calls a closure repeatedly during the
  /// wait. The caller prevents new shared reads first, because a free slot is not checked again.
  func wait(from thread: UInt, yielding yield: () -> Void) {
    for index in 0..<Self.count {
      let slot = slot(index)
      while !slot.isFree(for: thread) { yield() }
    }
  }

  private func slot(_ index: Int) -> ReaderSlot { ReaderSlot(thread: threads + index * Self.distance) }
}

/// The slot of a reader, from the beginning of the read to its end.
@usableFromInline
struct ReaderSlot {
  fileprivate let thread: UnsafeMutablePointer<Atomic<UInt>>

  fileprivate func take(for thread: UInt) -> Bool {
    self.thread.pointee.compareExchange(expected: 0, desired: thread, ordering: .sequentiallyConsistent).exchanged
  }

  fileprivate func isFree(for thread: UInt) -> Bool {
    let reader = self.thread.pointee.load(ordering: .sequentiallyConsistent)
    return reader == 0 || reader == thread
  }

  func leave() {
    thread.pointee.store(0, ordering: .releasing)
  }
}
