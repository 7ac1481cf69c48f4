import Dispatch

// The queue of a context: blocks, jobs and waiting threads, run one at a time in the order of their arrival.
//
// A context is idle, ready, or running. One thread holds a running context: a worker of the pool, or a thread in
// `performAndWait`. A ready context has entries and waits in the pool for a worker. So the pool knows every context
// that needs a thread, and no context ever needs two.

enum QueueState { case idle, ready, running }

/// One piece of work for a context.
enum QueueEntry {
  case block(@Sendable () -> Void)
  /// A part of a task, up to its next suspension.
  case job(UnownedJob)
  /// A thread that waits to hold the context.
  case thread(WaitingThread)
}

extension Confinement {
  /// Queues a block to run in the context.
  func submit(_ block: @escaping @Sendable () -> Void) {
    guard !isMain else { return DispatchQueue.main.async(execute: block) }
    enqueue(.block(block))
  }

  func enqueue(_ entry: QueueEntry) {
    lock.lock()
    entries.append(entry)
    let isReady = state == .idle
    if isReady { state = .ready }
    lock.unlock()
    if isReady { pool.add(self) }
  }

  /// Runs a block on the calling thread after all earlier entries. The thread holds the context during the block.
  ///
  /// - Parameter servesMain: Whether a calling thread that holds the main actor runs, during its wait, the main-actor
  ///   blocks of the thread that holds the context.
  func owning<T>(servesMain: Bool = true, _ body: () throws -> T) rethrows -> T {
    acquire(servesMain: servesMain)
    defer { handToNextEntry() }
    return try body()
  }

  /// Has the calling thread hold the context: at once if the context is idle, otherwise after all earlier entries.
  private func acquire(servesMain: Bool) {
    lock.lock()
    guard state == .idle else {
      let thread = WaitingThread(for: self, servesMain: servesMain)
      entries.append(.thread(thread))
      lock.unlock()
      // The thread that holds the context hands the context over to this thread.
      return pool.wait(thread)
    }
    state = .running
    lock.unlock()
  }

  /// Hands the context over to the next entry.
  private func handToNextEntry() {
    lock.lock()
    if let thread = entries.popThread() {
      lock.unlock()
      pool.wake(thread)
    } else if entries.isEmpty {
      state = .idle
      lock.unlock()
    } else {
      state = .ready
      lock.unlock()
      pool.add(self)
    }
  }

  /// The number of entries that a worker runs in one context before the next ready context has its turn.
  private static let entriesPerTurn = 16

  /// Runs the entries. Called by a worker that took the context out of the pool.
  func run() {
    var count = 0
    lock.lock()
    state = .running
    while true {
      // The thread holds the lock and the context at this point.
      guard let entry = entries.popFirst() else {
        state = .idle
        lock.unlock()
        return
      }
      if count == Self.entriesPerTurn, !entry.isThread {
        entries.putBack(entry)
        state = .ready
        lock.unlock()
        return pool.add(self)
      }
      lock.unlock()
      switch consume entry {
      case .thread(let thread):
        pool.wake(thread)
        return
      // `consume` releases the block's references, which may include the last reference to the context, before the
      // context is handed over.
      case .block(let block): block()
      case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
      }
      count += 1
      lock.lock()
    }
  }
}

/// A first-in, first-out list. Most contexts never have a second entry, so that the first entry is stored in place.
struct EntryList {
  private var first: QueueEntry?
  /// The entries after the first, from index `head` on.
  private var later: [QueueEntry] = []
  private var head = 0

  var isEmpty: Bool { first == nil }

  mutating func append(_ entry: QueueEntry) {
    if first == nil { first = entry } else { later.append(entry) }
  }

  mutating func popFirst() -> QueueEntry? {
    let entry = first.take()
    guard head < later.count else {
      if head > 0 { (later, head) = ([], 0) }
      return entry
    }
    first = later[head]
    // The entry moved to `first`; the vacated index must not retain the entry's references.
    later[head] = .nothing
    head += 1
    if head >= 64, head * 2 >= later.count {
      later.removeFirst(head)
      head = 0
    }
    return entry
  }

  /// Removes and returns the first entry if it is a waiting thread.
  mutating func popThread() -> WaitingThread? {
    guard case .thread(let thread)? = first else { return nil }
    _ = popFirst()
    return thread
  }

  /// Puts back the entry that `popFirst` returned last.
  mutating func putBack(_ entry: QueueEntry) {
    if let second = first.take() {
      if head > 0 {
        head -= 1
        later[head] = second
      } else {
        later.insert(second, at: 0)
      }
    }
    first = entry
  }
}

extension QueueEntry {
  /// An entry in place of a removed one.
  static var nothing: QueueEntry { .block({}) }
  var isThread: Bool { if case .thread = self { true } else { false } }
}
