import CoherenceRuntime
import Dispatch
import Foundation

/// The threads that run contexts: a small number, for any number of contexts. Threads of Swift's cooperative pool are
/// not used, because stores block.
///
/// Ready contexts wait in a queue. A worker takes the first context, runs some of its entries, and takes the next
/// context. A worker that waits for another context in `performAndWait` is not active during the wait. If no active
/// worker remains, the pool wakes or starts a worker, so that contexts may wait for each other to any depth. A worker
/// that stays in one context while other contexts are queued is stuck: it waits for an event that the pool does not
/// know. After two checks the pool stops counting a stuck worker as active.
///
/// The number of threads follows the work: at most ``maximumIdle`` workers, or ``limit`` if it is greater, stay idle,
/// and an idle worker ends after five seconds.
final class WorkerPool: @unchecked Sendable {
  // Sendable: everything mutable is used under `lock`.

  static let shared = WorkerPool(limit: max(4, 2 * ProcessInfo.processInfo.activeProcessorCount))

  /// The largest number of active workers.
  let limit: Int
  /// The largest number of workers, including stuck workers and workers that wait for a server. The pool exceeds it
  /// only when no worker is active.
  private let maximum: Int
  /// The number of idle workers to keep, for contexts that wait for servers in parallel.
  static let maximumIdle = 16
  /// The time after which an idle worker ends; `nil` for never.
  private let idleTimeout: DispatchTimeInterval?
  /// The interval of the checks for stuck workers. A worker counts as stuck after two checks in the same context. `nil`
  /// for no checks.
  private let checkInterval: DispatchTimeInterval?

  /// The state of one of the pool's threads.
  final class Worker {
    let semaphore = DispatchSemaphore(value: 0)
    /// The value of `checkCount` when the worker took its context, or last ended a wait in it; `nil` without a context.
    var begin: UInt?
    /// Whether the worker waits for another context, or for the main actor.
    var isWaiting = false
    /// Whether the worker is not active because it stays in one context, or waits for an event outside of the process.
    var isStuck = false
    /// Whether the worker counts as active.
    var isActive: Bool { !isWaiting && !isStuck }
  }

  private let lock = Lock()
  private var ready = ContextQueue()
  /// The workers without a context. The most recent is last and is woken first, because its memory is still in the
  /// processor's caches.
  private var idle: [Worker] = []
  /// All workers by their threads.
  private var workers: [UInt: Worker] = [:]
  /// The number of workers, including workers whose threads are about to start.
  private var count = 0
  /// The number of active workers, including workers about to start.
  private var activeCount = 0
  private var stuckCount = 0
  private var checkCount: UInt = 0
  private var isWatched = false
  /// Whether the thread of the checks has been started. It never ends, and sleeps unless `isWatched`.
  private var watchIsStarted = false
  private let watchSignal = DispatchSemaphore(value: 0)
  private var mainWaits = MainWaits()

  init(
    limit: Int, maximum: Int = 64, checkInterval: DispatchTimeInterval? = .milliseconds(50),
    idleTimeout: DispatchTimeInterval? = .seconds(5)
  ) {
    self.limit = limit
    self.maximum = max(maximum, limit)
    self.checkInterval = checkInterval
    self.idleTimeout = idleTimeout
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

  /// Queues a ready context.
  func add(_ context: Confinement) {
    lock.lock()
    ready.append(context)
    let action = nextAction(mayWatch: true)
    lock.unlock()
    perform(action)
  }

  // MARK: Waiting

  /// Waits until the calling thread holds a context.
  ///
  /// A thread that holds the main actor runs main-actor blocks during the wait, without which it would wait forever;
  /// see ``MainWaits``.
  func wait(_ thread: WaitingThread) {
    let holdsMain = Confinement.isOnMain
    lock.lock()
    // The context moves to the front, because the entries before the caller's entry must run first.
    ready.moveToFront(thread.context)
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

  /// Wakes the thread to which a context was handed over. A worker counts as active from this call on, not only from
  /// the moment when its thread is scheduled: until then the pool would seem to have no active worker and would start
  /// another one each time.
  func wake(_ thread: WaitingThread) {
    lock.withLock {
      thread.isAwake = true
      mainWaits.end(thread)
      resume(thread.worker)
    }
    thread.semaphore.signal()
  }

  /// Runs a block that waits for an event inside the process that may need workers, such as the end of another save.
  /// The calling worker is not active during the wait.
  func blocking<T>(_ wait: () throws -> T) rethrows -> T {
    lock.lock()
    let worker = workers[currentThread]
    let action = suspend(worker)
    lock.unlock()
    perform(action)
    defer { if let worker { lock.withLock { resume(worker) } } }
    return try wait()
  }

  /// Runs a block that waits until the main actor has run another block.
  ///
  /// The main actor may wait, directly or through other waiting threads, for a context that the calling thread holds.
  /// Then the thread that holds the main actor runs the other block during its wait.
  ///
  /// - Parameter hop: The other block. Several threads may call it; it runs once.
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

  /// Runs a block that waits for an event outside of the process. Another worker may run in place of the calling
  /// worker.
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
    defer { lock.withLock { countAsActive(worker) } }
    return try wait()
  }

  /// Counts a stuck worker as active again. Called under the lock.
  private func countAsActive(_ worker: Worker) {
    guard worker.isStuck else { return }
    worker.isStuck = false
    stuckCount -= 1
    activeCount += 1
    if worker.begin != nil { worker.begin = checkCount }
  }

  /// Stops counting a waiting worker as active. Called under the lock.
  private func suspend(_ worker: Worker?) -> Action {
    guard let worker else { return .nothing }
    if worker.isActive { activeCount -= 1 }
    worker.isWaiting = true
    return nextAction(mayWatch: true)
  }

  /// Counts a worker that ended its wait as active again. Called under the lock.
  private func resume(_ worker: Worker?) {
    guard let worker, worker.isWaiting else { return }
    worker.isWaiting = false
    if worker.begin != nil { worker.begin = checkCount }
    if worker.isActive { activeCount += 1 }
  }

  // MARK: Workers

  private enum Action {
    case nothing, wake(Worker), start, watch
  }

  /// The action that the next queued context needs. Called under the lock.
  private func nextAction(mayWatch: Bool) -> Action {
    guard !ready.isEmpty else { return .nothing }
    if activeCount < limit, let worker = idle.popLast() {
      worker.begin = checkCount
      activeCount += 1
      return .wake(worker)
    }
    // Waiting workers count here, because a substitute for each of them would make a thread for each waiting context.
    // Without any active worker the queue would stand still, so that the pool then starts a worker beyond the limits.
    if activeCount == 0 || (count - stuckCount < limit && count < maximum) {
      count += 1
      activeCount += 1
      return .start
    }
    guard mayWatch, checkInterval != nil, !isWatched else { return .nothing }
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
    // As much stack as the main thread has: cascades and predicates recurse deeply.
    thread.stackSize = 8 << 20
    thread.start()
  }

  private func work() {
    let worker = Worker()
    lock.withLock { workers[currentThread] = worker }
    while let context = next(worker) { context.run() }
  }

  /// Waits for the next queued context. Returns `nil`, and the worker ends, if the pool has enough idle workers or the
  /// worker was idle for too long.
  private func next(_ worker: Worker) -> Confinement? {
    lock.lock()
    countAsActive(worker)
    while true {
      worker.begin = nil
      // Active workers may exceed the limit for a while, when stuck workers become active again.
      if activeCount <= limit, let context = ready.popFirst() {
        worker.begin = checkCount
        lock.unlock()
        return context
      }
      activeCount -= 1
      // The active workers take the queued contexts, unless these workers are stuck, which the watch detects.
      let action = nextAction(mayWatch: true)
      if idle.count >= max(limit, Self.maximumIdle) { return end(action) }
      idle.append(worker)
      lock.unlock()
      perform(action)
      guard waitUntilWoken(worker) else { return nil }
      lock.lock()
    }
  }

  /// Waits until the calling idle worker is woken.
  ///
  /// - Returns: Whether the worker was woken. `false` after the idle timeout: the worker was removed and must end.
  private func waitUntilWoken(_ worker: Worker) -> Bool {
    guard let idleTimeout else {
      worker.semaphore.wait()
      return true
    }
    if worker.semaphore.wait(timeout: .now() + idleTimeout) == .success { return true }
    let isRemoved = lock.withLock {
      guard let index = idle.firstIndex(where: { $0 === worker }) else { return false }
      idle.remove(at: index)
      count -= 1
      workers[currentThread] = nil
      return true
    }
    // Another thread took the worker from the idle list after the timeout, and is about to signal it.
    if !isRemoved { worker.semaphore.wait() }
    return !isRemoved
  }

  /// Ends the calling worker. Called under the lock, which this function releases.
  private func end(_ action: Action) -> Confinement? {
    count -= 1
    workers[currentThread] = nil
    lock.unlock()
    perform(action)
    return nil
  }

  // MARK: Watching

  /// Detects stuck workers while contexts are queued.
  private func watch() {
    guard let checkInterval else { return }
    while true {
      _ = watchSignal.wait(timeout: .now() + checkInterval)
      lock.lock()
      checkCount += 1
      for worker in workers.values {
        guard let begin = worker.begin, worker.isActive, checkCount &- begin >= 2 else { continue }
        worker.isStuck = true
        stuckCount += 1
        activeCount -= 1
      }
      var actions: [Action] = []
      // A context needs one worker at the most.
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
