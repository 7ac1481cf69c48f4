import Dispatch
import Foundation
import Logging
import Synchronization

extension ManagedObjectContext {
  /// Runs a block in the context, on the calling thread, and waits for it.
  ///
  /// The outermost call is a unit of work. Its reads see one state of each store, as long as the store has spare
  /// connections (see ``withSnapshot(_:)``) and no parent of the context saves. The context reads each record that
  /// relationships lead to once and keeps it until the block ends, at most some 30,000 records beside those of the last
  /// read. Beyond that, rows may stay in the coordinator's row cache, see ``RowCachePolicy``.
  ///
  /// Calls nest. On the main actor, a call for a main-queue context is a part of the turn: the turn is the unit of
  /// work. Off the main actor, a main-queue context runs the block on the main queue. The call waits for a busy main
  /// queue without a limit, and logs after ten seconds that the queue is blocked. If the main queue has never run a
  /// block, and runs none within thirty seconds, the call ends the process with a sentence instead of waiting forever.
  /// A context that belongs to a thread may only be used on that thread.
  ///
  /// While the main actor waits for a context, it runs the blocks that the context's own block performs in main-queue
  /// contexts. So the two do not wait for each other forever.
  ///
  /// Inside the `sync` of another queue, a plain block of the main queue does not count as the main actor; a job of the
  /// main actor does.
  @discardableResult
  public final func performAndWait<T>(_ body: () throws -> T) rethrows -> T {
    if storage.confinement.isEntered { return try inside(body) }
    if storage.confinement.isMain {
      guard Confinement.isOnMain else { return try hopToMain(body) }
      turn.requestChanges()
      return try inside(body)
    }
    if storage.confinement.isOfThread {
      storage.confinement.check("The \(label)")
      return try inside(body)
    }
    return try storage.confinement.owning { try inside(body) }
  }

  /// Runs a block in the context without blocking the caller.
  ///
  /// The block is synchronous, so that no other work of the context runs in the middle of it. Its result must be
  /// `Sendable`: identifiers and values, not objects.
  ///
  /// The block is part of the calling task: it has the task's local values, and a cancellation of the task stops a
  /// running fetch with ``ErrorCode/cancelled``.
  ///
  /// - Throws: The block's error; `CancellationError` when the task was cancelled before the block began, also during
  ///   the wait for earlier blocks; ``ErrorCode/wrongContext`` for a context that belongs to a thread.
  @discardableResult
  public final func perform<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
    try Task.checkCancellation()
    try checkHasQueue()
    guard storage.confinement.isMain else {
      return try await ConfinedTurn(storage.confinement).run {
        // The task may have been cancelled during its wait. The check precedes the unit of work: in a cancelled task
        // the context could not read the records that other contexts have changed.
        try Task.checkCancellation()
        return try self.inside(body)
      }
    }
    let wait = MainDemand.begin()
    return try await ConfinedTurn(storage.confinement).run {
      wait.end()
      try Task.checkCancellation()
      return try self.insideAlone(body)
    }
  }

  /// Runs a block in the context without blocking the caller, and passes the context to the block. The recommended
  /// form.
  ///
  /// The block captures no context, and the compiler refuses objects as captures and as results. The result is
  /// `Sendable` and not `sending`, because the compiler would accept a fetched object as a `sending` result.
  ///
  /// ```swift
  /// let count = try await context.perform { context in try context.count(for: FetchRequest(Track.self)) }
  /// ```
  ///
  /// - Throws: As the form without a parameter.
  @discardableResult
  public final func perform<T: Sendable>(
    _ body: @escaping @Sendable (ManagedObjectContext) throws -> T
  ) async throws -> T {
    try await perform { try body(self) }
  }

  /// Runs a block in the context, on the calling thread, and passes the context to the block; see
  /// the form without a parameter.
  @discardableResult
  public final func performAndWait<T>(_ body: (ManagedObjectContext) throws -> T) rethrows -> T {
    try performAndWait { try body(self) }
  }

  /// Runs a block in the context without blocking the caller, and passes an error to a handler in the context.
  ///
  /// Blocks run one after the other, in the order of their submission from one thread. The context lives until the
  /// block has returned.
  ///
  /// - Parameter onError: Called once with the error of the block, and at once, on the calling thread, with
  ///   ``ErrorCode/wrongContext`` for a context that belongs to a thread. Not called after a success.
  public final func perform(
    onError: @escaping @Sendable (any Error) -> Void, _ body: @escaping @Sendable () throws -> Void
  ) {
    do { try checkHasQueue() } catch { return onError(error) }
    storage.confinement.submit {
      self.insideAlone {
        do { try body() } catch { onError(error) }
      }
    }
  }

  private final func checkHasQueue() throws(CoherenceError) {
    guard storage.confinement.isOfThread else { return }
    throw CoherenceError(
      .wrongContext, "The context belongs to a thread and has no queue: use it on its thread, or another context.")
  }

  /// Runs a block on a thread that may use the context. The outermost entry is a unit of work: the inbox is processed
  /// before the block, and after it changes are posted and the readers released. On the main actor, the entry may be a
  /// part of a longer ``MainTurn``.
  @inline(__always) final func inside<T>(_ body: () throws -> T) rethrows -> T {
    let isOutermost = storage.confinement.enter()
    if isOutermost { beginBlock() }
    defer {
      if isOutermost { endBlock() }
      storage.confinement.leave()
    }
    return isOutermost ? try measured(nil, ifFailed: .block, body) { _ in .block } : try body()
  }

  @inline(__always) private final func beginBlock() {
    if storage.confinement.isMain { return continueMainTurn() }
    inbox.noteUse()
    processInbox()
    if let turnObserver { turnObserver.turnBegan(in: self) }
  }

  @inline(__always) private final func endBlock() {
    awakenLoaded()
    if storage.recordsUndo { endUndoBlock() }
    postChanges()
    let isObserved = storage.tracksTouched.load(ordering: .relaxed)
    if storage.confinement.isMain {
      if turn.isLasting, turn.isCurrent(lease) {
        if isObserved { continueObservedTurn() }
      } else {
        if isObserved { endObservedTurn() }
        closeMainUnit()
      }
      return
    }
    if isObserved { endObservedTurn() }
    lease.end()
    endUnit()
  }

  /// Brings live results up to date with the context's own changes in the middle of a turn of the main queue, after a
  /// block or a call of `processPendingChanges`. Other operations leave this to the end of the turn: an object that an
  /// operation inserted lacks the values that the code is about to assign.
  @inline(never) private final func continueObservedTurn() {
    sendTouched()
    guard let turnObserver else { return }
    if turn.takeRequestedChanges() {
      turnObserver.turnContinues(in: self)
      postChanges()
      sendTouched()
    }
    turnObserver.turnEnded(in: self)
  }

  /// Brings live results up to date with the changes of the turn.
  @inline(never) private final func endObservedTurn() {
    sendTouched()
    if let turnObserver {
      turnObserver.turnEnds(in: self)
      // Posts the objects that entered a result, and changes made by observers of results.
      postChanges()
      sendTouched()
      turnObserver.turnEnded(in: self)
    }
  }

  /// Runs a public operation. If the caller is outside of a block, as code on the main actor may be, the operation
  /// enters the context: checks are then quick, and the operation's reads share one lease.
  @inline(__always) final func operating<T>(_ body: () throws -> T) rethrows -> T {
    if storage.confinement.isEntered { return try body() }
    storage.confinement.check("The \(label)")
    return try inside(body)
  }

  /// Runs a load on access to an object. Outside of a block, the load enters the context without processing the inbox,
  /// so that objects do not change while the caller reads them. It then releases the readers, unless a ``MainTurn``
  /// keeps them.
  @inline(__always) final func loading<T>(_ body: () throws -> T) rethrows -> T {
    if storage.confinement.isEntered { return try inOneState(body) }
    storage.confinement.check("The \(label)")
    _ = storage.confinement.enter()
    if storage.confinement.isMain { beginMainLoad() }
    defer {
      if storage.confinement.isMain { endMainLoad() } else { lease.end() }
      storage.confinement.leave()
      // A hook of a loaded object may have saved another context.
      if storage.tracksTouched.load(ordering: .relaxed) { turnObserver?.turnEnded(in: self) }
    }
    return try inOneState(body)
  }

  /// Runs a block on the main queue, and waits for it.
  private final func hopToMain<T>(_ body: () throws -> T) rethrows -> T {
    // The block does not escape, because this thread waits for its end. The hop's condition passes the result from
    // thread to thread. A rethrowing function cannot throw the error of a `Result`; its closure argument `fail` can.
    func run(_ body: () throws -> T, _ fail: (any Error) throws -> Never) rethrows -> T {
      let wait = MainDemand.begin()
      let result: Result<T, any Error> = withoutActuallyEscaping({ () -> Result<T, any Error> in
        wait.end()
        return Result { try self.insideAlone(body) }
      }) { work in
        let box = MainHop(work: work)
        DispatchQueue.main.async { box.run() }
        return WorkerPool.shared.hopping(box.run) { box.wait { self.noteBlocked($0) } }
      }
      switch result {
      case .success(let value): return value
      case .failure(let error): try fail(error)
      }
    }
    return try run(body) { throw $0 }
  }
}

extension ManagedObjectContext {
  private final func noteBlocked(_ seconds: Double) {
    logger.warning(
      "The main queue is blocked: `performAndWait` on a main-queue context waits for it.",
      metadata: ["context": "\(name ?? "unnamed")", "seconds": "\(Int(seconds))"])
  }

  /// Whether the caller runs on the main actor, where main-queue contexts are used.
  package static var isOnMain: Bool { Confinement.isOnMain }

  /// The log for failures that no caller receives.
  final var logger: Logger { persistentStoreCoordinator?.logger ?? Logger(label: "coherence") }
}

// MARK: - Executor

/// A context is an executor. An actor with `nonisolated var unownedExecutor: UnownedSerialExecutor {
/// context.asUnownedSerialExecutor() }` runs in the context and uses its objects without `perform`.
extension ManagedObjectContext: SerialExecutor {
  /// Queues a job of the Swift runtime.
  ///
  /// - Precondition: The context does not belong to a thread.
  public final func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    Misuse.check(!storage.confinement.isOfThread, "A context that belongs to a thread cannot be an actor's executor.")
    storage.confinement.submit { self.insideAlone { job.runSynchronously(on: executor) } }
  }

  /// The context as an executor, for an actor's `unownedExecutor`. The actor must retain the context.
  public final func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// Ends the process with a sentence if the calling thread may not use the context.
  public final func checkIsolated() { storage.confinement.check("The \(label)") }

  /// `nil` if the calling thread may not use the context, so that the runtime calls ``checkIsolated()``, which fails
  /// with a sentence.
  public final func isIsolatingCurrentContext() -> Bool? { storage.confinement.isInside ? true : nil }
}
