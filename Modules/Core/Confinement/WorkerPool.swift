import CoherenceRuntime
import Dispatch
import Foundation

/// The threads that contexts work on: few, for any number of contexts. The cooperative pool's threads are not used,
/// because stores block.
///
/// Contexts with work wait in line. A worker takes the first, works in it for a while, and takes the next.
/// A worker that waits for another context, by `performAndWait`, does not count while it waits: when no worker is left, one
/// more is started, so that contexts may wait for each other however deep. A worker that stays at one context while others
/// are in line, because it waits for something that the pool knows nothing of, is counted out after a moment.
///
/// The number of threads is that of the work and not of its history: at most `mostIdle` workers, or the limit where that is
/// higher, stay without work, and each of them ends when it had none for five seconds.
final class WorkerPool: @unchecked Sendable {
  // Sendable: everything mutable is used under `lock`.

  static let shared = WorkerPool(limit: max(4, 2 * ProcessInfo.processInfo.activeProcessorCount))

  /// The number of workers, without the waiting ones.
  let limit: Int
  /// The most workers, including workers stuck at one context or waiting for a server.
  private let maximum: Int
  /// The number of idle workers that stay for the next time, where contexts wait for servers.
  static let mostIdle = 16
  /// How long an idle worker stays; `nil` for ever.
  private let linger: DispatchTimeInterval?
  /// How long a worker may stay at one context while others are in line: two of these. `nil` for ever.
  private let tick: DispatchTimeInterval?

  final class Worker {
    let semaphore = DispatchSemaphore(value: 0)
    /// The number of the tick in which the worker took its context; `nil` without a context.
    var begin: UInt?
    /// Whether the worker waits for another context, or for the main actor.
    var isWaiting = false
    /// Whether the worker is counted out.
    var isStuck = false
    /// Whether it takes part in the work.
    var isActive: Bool { !isWaiting && !isStuck }
  }

  private let lock = Lock()
  private var ready = ContextLine()
  /// The workers without a context, the one that slept last at the end: its memory is in the processor's caches still.
  private var idle: [Worker] = []
  /// All workers by their threads.
  private var workers: [UInt: Worker] = [:]
  /// Workers, those included whose threads are about to start.
  private var count = 0
  /// Workers that take part in the work, or are about to.
  private var activeCount = 0
  private var stuckCount = 0
  private var ticks: UInt = 0
  private var isWatched = false
  private var watchIsStarted = false
  private let watchSignal = DispatchSemaphore(value: 0)
  private var mainWaits = MainWaits()

  init(
    limit: Int, maximum: Int = 64, tick: DispatchTimeInterval? = .milliseconds(50),
    linger: DispatchTimeInterval? = .seconds(5)
  ) {
    self.limit = limit
    self.maximum = max(maximum, limit)
    self.tick = tick
    self.linger = linger
  }

  /// The number of threads. For tests.
  var threadCount: Int { lock.withLock { count } }

  /// Whether no worker has a context, or is about to take one. For tests.
  var isIdle: Bool { lock.withLock { ready.isEmpty && idle.count == count } }

  /// Whether the main actor waits for a context. For tests.
  var isMainWaiting: Bool { lock.withLock { mainWaits.isMainWaiting } }

  /// The number of blocks for the main actor that threads wait for. For tests.
  var hopCount: Int { lock.withLock { mainWaits.hopCount } }

  // MARK: Contexts

  /// Puts a context in line, which is ready.
  func add(_ context: Confinement) {
    lock.lock()
    ready.append(context)
    let action = nextAction(mayWatch: true)
    lock.unlock()
    perform(action)
  }

  // MARK: Waiting

  /// Waits until the calling thread is given a context.
  ///
  /// A thread that holds the main actor runs, while it waits, the blocks for main without which it would wait forever.
  func wait(_ thread: WaitingThread) {
    let holdsMain = Confinement.isOnMain
    lock.lock()
    // The entries before the caller's are worked off next.
    ready.bringForward(thread.context)
    var action = Action.nothing
    var handover: MainWaits.Handover?
    if !thread.isAwake {
      thread.worker = workers[currentThread]
      mainWaits.begin(thread, holdsMain: holdsMain)
      handover = mainWaits.handOver()
      action = suspend(thread.worker)
    }
    lock.unlock()
    perform(action)
    handover?.run()
    thread.semaphore.wait()
    guard holdsMain else { return }
    while let hop = lock.withLock({ thread.hop.take() }) {
      hop.run()
      thread.semaphore.wait()
    }
  }

  /// Wakes the thread to which a context was handed over. A worker counts again from here on, not only from its scheduling:
  /// until then the pool would seem to be without workers, and would start another one each time.
  func wake(_ thread: WaitingThread) {
    lock.withLock {
      thread.isAwake = true
      mainWaits.end(thread)
      resume(thread.worker)
    }
    thread.semaphore.signal()
  }

  /// Runs a block that waits for an event which may need workers: the main actor's turn, for instance.
  func blocking<T>(_ wait: () throws -> T) rethrows -> T {
    lock.lock()
    let worker = workers[currentThread]
    let action = suspend(worker)
    lock.unlock()
    perform(action)
    defer { if let worker { lock.withLock { resume(worker) } } }
    return try wait()
  }

  /// Runs a block that waits for the main actor to run another one.
  ///
  /// The main actor may wait for a context that the calling thread holds, or whose holder waits for one that the calling
  /// thread holds, and so on. Then the thread that holds the main actor runs the other block at once.
  ///
  /// - Parameter hop: The other block. It is called by more than one, and runs once.
  func hopping<T>(_ hop: @escaping () -> Void, _ wait: () throws -> T) rethrows -> T {
    let hop = PendingHop(sender: currentThread, run: hop)
    lock.lock()
    mainWaits.add(hop)
    let handover = mainWaits.handOver()
    let worker = workers[currentThread]
    let action = suspend(worker)
    lock.unlock()
    perform(action)
    handover?.run()
    defer {
      lock.withLock {
        mainWaits.remove(hop)
        resume(worker)
      }
    }
    return try wait()
  }

  /// Runs a block that waits for an event outside of the process. Another worker takes the caller's place.
  func waitingOutside<T>(_ wait: () throws -> T) rethrows -> T {
    lock.lock()
    guard let worker = workers[currentThread], worker.isActive else {
      lock.unlock()
      return try wait()
    }
    worker.isStuck = true
    stuckCount += 1
    activeCount -= 1
    let action = nextAction(mayWatch: true)
    lock.unlock()
    perform(action)
    defer { lock.withLock { countIn(worker) } }
    return try wait()
  }

  /// Counts a stuck worker in. Called under the lock.
  private func countIn(_ worker: Worker) {
    guard worker.isStuck else { return }
    worker.isStuck = false
    stuckCount -= 1
    activeCount += 1
    if worker.begin != nil { worker.begin = ticks }
  }

  /// Counts a worker out that waits. Called under the lock.
  private func suspend(_ worker: Worker?) -> Action {
    guard let worker else { return .nothing }
    if worker.isActive { activeCount -= 1 }
    worker.isWaiting = true
    return nextAction(mayWatch: true)
  }

  /// Counts a waiting worker in. Called under the lock.
  private func resume(_ worker: Worker?) {
    guard let worker, worker.isWaiting else { return }
    worker.isWaiting = false
    if worker.begin != nil { worker.begin = ticks }
    if worker.isActive { activeCount += 1 }
  }

  // MARK: Workers

  private enum Action {
    case nothing, wake(Worker), start, watch
  }

  /// The action that a context in line needs. Called under the lock.
  private func nextAction(mayWatch: Bool) -> Action {
    guard !ready.isEmpty else { return .nothing }
    if activeCount < limit, let worker = idle.popLast() {
      worker.begin = ticks
      activeCount += 1
      return .wake(worker)
    }
    // Workers that wait count here: to give each its substitute would make a thread for each context that waits for one.
    // Without any active worker the line would stand still.
    if activeCount == 0 || (count - stuckCount < limit && count < maximum) {
      count += 1
      activeCount += 1
      return .start
    }
    guard mayWatch, tick != nil, !isWatched else { return .nothing }
    isWatched = true
    return .watch
  }

  private func perform(_ action: Action) {
    switch action {
    case .nothing: return
    case .wake(let worker): worker.semaphore.signal()
    case .start: start { $0.work() }
    case .watch:
      let isFirst = lock.withLock {
        defer { watchIsStarted = true }
        return !watchIsStarted
      }
      if isFirst { start { $0.watch() } } else { watchSignal.signal() }
    }
  }

  private func start(_ body: @escaping @Sendable (WorkerPool) -> Void) {
    let thread = Thread { body(self) }
    thread.name = "coherence.context"
    // As much as the main thread has: cascades and predicates go deep.
    thread.stackSize = 8 << 20
    thread.start()
  }

  private func work() {
    let worker = Worker()
    lock.withLock { workers[currentThread] = worker }
    while let context = next(worker) { context.run() }
  }

  /// Waits for the next context in line; `nil` when the pool has workers enough, or no work for long.
  private func next(_ worker: Worker) -> Confinement? {
    lock.lock()
    countIn(worker)
    while true {
      worker.begin = nil
      // For a while the workers may exceed the limit: stuck workers came back.
      if activeCount <= limit, let context = ready.popFirst() {
        worker.begin = ticks
        lock.unlock()
        return context
      }
      activeCount -= 1
      // The active workers take the contexts in line, unless the workers are stuck, which the watch finds out.
      let action = nextAction(mayWatch: true)
      if idle.count >= max(limit, Self.mostIdle) { return end(action) }
      idle.append(worker)
      lock.unlock()
      perform(action)
      guard isWoken(worker) else { return nil }
      lock.lock()
    }
  }

  /// Waits until the calling worker, which is idle, is woken.
  ///
  /// - Returns: Whether it was. Otherwise it was idle for so long that it is no worker any more.
  private func isWoken(_ worker: Worker) -> Bool {
    guard let linger else {
      worker.semaphore.wait()
      return true
    }
    if worker.semaphore.wait(timeout: .now() + linger) == .success { return true }
    let isUnwanted = lock.withLock {
      guard let index = idle.firstIndex(where: { $0 === worker }) else { return false }
      idle.remove(at: index)
      count -= 1
      workers[currentThread] = nil
      return true
    }
    // Taken out of the list at the last moment: the signal is on its way.
    if !isUnwanted { worker.semaphore.wait() }
    return !isUnwanted
  }

  /// Ends the calling worker. Called under the lock, which is given back.
  private func end(_ action: Action) -> Confinement? {
    count -= 1
    workers[currentThread] = nil
    lock.unlock()
    perform(action)
    return nil
  }

  // MARK: Watching

  /// Counts out, while contexts are in line, the workers that stay where they are.
  private func watch() {
    guard let tick else { return }
    while true {
      _ = watchSignal.wait(timeout: .now() + tick)
      lock.lock()
      ticks += 1
      for worker in workers.values {
        guard let begin = worker.begin, worker.isActive, ticks &- begin >= 2 else { continue }
        worker.isStuck = true
        stuckCount += 1
        activeCount -= 1
      }
      var actions: [Action] = []
      // A context has one worker at the most.
      for _ in 0..<min(limit, ready.count) {
        let action = nextAction(mayWatch: false)
        if case .nothing = action { break }
        actions.append(action)
      }
      let isDone = ready.isEmpty
      if isDone { isWatched = false }
      lock.unlock()
      for action in actions { perform(action) }
      if isDone { watchSignal.wait() }
    }
  }
}

/// Contexts in line.
private struct ContextLine {
  private var contexts: [Confinement?] = []
  private var head = 0

  var isEmpty: Bool { head == contexts.count }
  var count: Int { contexts.count - head }

  mutating func append(_ context: Confinement) { contexts.append(context) }

  mutating func popFirst() -> Confinement? {
    guard head < contexts.count else { return nil }
    let context = contexts[head].take()
    head += 1
    if head == contexts.count {
      contexts.removeAll(keepingCapacity: contexts.capacity <= 1024)
      head = 0
    } else if head >= 256, head * 2 >= contexts.count {
      contexts.removeFirst(head)
      head = 0
    }
    return context
  }

  /// Brings a context, if it is in line, to the front.
  mutating func bringForward(_ context: Confinement) {
    guard let index = contexts[head...].firstIndex(where: { $0 === context }), index > head else { return }
    contexts.remove(at: index)
    contexts.insert(context, at: head)
  }
}

/// How many contexts work at once, for stores that keep something for each.
package enum ContextThreads {
  package static var count: Int { WorkerPool.shared.limit }

  /// Runs a block that waits for an event outside of the process, a server's reply for instance. Other contexts get the
  /// caller's place.
  package static func waiting<T>(_ wait: () throws -> T) rethrows -> T { try WorkerPool.shared.waitingOutside(wait) }
}
