import Synchronization

/// Reads the records of one iteration of a stream.
///
/// The reads happen in a private context of the stream, whose parent is the streamed context: it sees the unsaved changes
/// of that context, reads on threads of its own, and keeps its readers, and with them one state of each store, until
/// the stream ends. The streamed context is entered once, for the delete rules, and a second time if temporary
/// identifiers are shown.
final class StreamReader: @unchecked Sendable {
  // Sendable: `state`, `lastRead`, `isAwaited` and `observation` are used in `streamContext` alone.

  typealias Planner = @Sendable (ManagedObjectContext) throws -> FetchPlan

  /// The state of the iteration.
  private enum State {
    /// The fetch has not begun.
    case new
    case open(StreamedFetch)
    case ended
    case failed(any Error)
  }

  let context: ManagedObjectContext
  /// The private context of the stream.
  private let streamContext: ManagedObjectContext
  private let subject: String
  private let plan: Planner
  private let unreadLimit: Duration
  private var state = State.new
  private var lastRead = ContinuousClock.now
  /// Whether a read is under way, which may take as long as it needs.
  private var isAwaited = false
  private var observation: (any StackObservation)?
  private let unreadTimer = ReleasableTimer()

  /// - Parameters:
  ///   - subject: The name of the entity, in reports to observers.
  ///   - unreadLimit: The time after which an unread stream ends.
  ///   - plan: Makes the plan of the stream in a given context.
  init(
    in context: ManagedObjectContext, subject: String, unreadLimit: Duration, plan: @escaping Planner
  ) {
    self.context = context
    self.subject = subject
    self.unreadLimit = unreadLimit
    self.plan = plan
    streamContext = context.makeStreamContext()
  }

  // MARK: Reading

  /// Reads the next batch with a block, which returns `nil` at the end of the fetch.
  ///
  /// After an error or the end, no reader is open.
  func next<T: Sendable>(_ read: @escaping @Sendable (StreamedFetch) throws -> T?) async throws -> T? {
    do {
      try Task.checkCancellation()
      if try await streamContext.perform({ self.noteCall() }) { try await begin() }
      return try await streamContext.perform { try self.advance(read) }
    } catch {
      let failure = Self.typed(error)
      await fail(failure)
      throw failure
    }
  }

  /// Ends the stream, also in a cancelled task, and returns when its readers are released.
  func fail(_ error: any Error) async {
    await withCheckedContinuation { continuation in
      streamContext.perform(onError: { _ in }) {
        self.finish(.failed(error))
        continuation.resume()
      }
    }
  }

  /// The error of a failed read, with a code for a cancellation.
  private static func typed(_ error: any Error) -> any Error {
    error is CancellationError ? CoherenceError(.cancelled, "The task was cancelled during a stream.") : error
  }

  /// Notes that a read begins.
  ///
  /// - Returns: Whether the fetch has to begin first.
  private func noteCall() -> Bool {
    isAwaited = true
    return if case .new = state { true } else { false }
  }

  /// Reads the next batch of the open fetch, and ends the stream after the last one.
  private func advance<T>(_ read: (StreamedFetch) throws -> T?) throws -> T? {
    switch state {
    case .failed(let error): throw error
    case .ended, .new: return nil
    case .open(let fetch):
      do {
        let batch = try read(fetch)
        if batch == nil { finish(.ended) }
        isAwaited = false
        lastRead = .now
        return batch
      } catch {
        finish(.failed(error))
        throw error
      }
    }
  }

  /// Ends the stream from any thread, without waiting. Does nothing after its end.
  func abandon() { streamContext.perform(onError: { _ in }) { self.finish(.failed(Self.abandoned)) } }

  private static let abandoned = CoherenceError(.cancelled, "The iteration of the stream was given up.")

  /// Ends the fetch and releases the readers.
  private func finish(_ end: State) {
    context.persistentStoreCoordinator?.lastingReaders.remove(self)
    switch state {
    case .ended, .failed: return
    case .new: report(0, end)
    case .open(let fetch):
      fetch.close()
      report(fetch.count, end)
    }
    state = end
    unreadTimer.cancel()
    streamContext.lease.endLasting()
  }

  /// Reports the end to the stack's observer.
  private func report(_ count: Int, _ end: State) {
    guard let observation else { return }
    self.observation = nil
    var outcome = StackOutcome(records: ContextActivity.fetch(records: count).records)
    if case .failed(let error) = end { outcome.error = error }
    observation.ended(outcome)
  }

  // MARK: Beginning

  /// The greatest number of attempts to begin between two saves of the streamed context.
  private static let greatestAttemptCount = 100

  /// Begins the fetch with the unsaved changes and the state of the stores of one moment.
  ///
  /// The unsaved records are taken first and the stores are read next. A save of the streamed context in between would
  /// show its records twice, as unsaved and as saved ones: then the fetch begins again.
  private func begin() async throws {
    for _ in 0..<Self.greatestAttemptCount {
      let formerIDs = try await context.perform { context in
        try context.refusePinnedStream()
        return try context.preparingRead { context.storage.formerIDs }
      }
      let number = saveNumbers
      let temporaryIDs = try await streamContext.perform { try self.open(formerIDs) }
      guard let temporaryIDs else { return }
      if !temporaryIDs.isEmpty {
        try await context.perform { context in for id in temporaryIDs { context.exposeTemporaryID(id) } }
      }
      if let number, number == saveNumbers { return }
      try await streamContext.perform { self.reset() }
    }
    throw CoherenceError(
      .storeBusy, "The stream could not begin, because the context saved all the time; read the stream again.",
      isRetryable: true)
  }

  /// The numbers of saves of the streamed context and its parents; `nil` during a save.
  private var saveNumbers: [Int]? {
    var numbers: [Int] = []
    var current: ManagedObjectContext? = context
    while let context = current {
      guard let number = context.storage.saveNumber.value else { return nil }
      numbers.append(number)
      current = context.parent
    }
    return numbers
  }

  /// Begins the fetch in the private context.
  ///
  /// - Returns: The temporary identifiers that the stream shows; `nil` when no unsaved record takes part.
  private func open(_ formerIDs: FormerIdentifiers) throws -> Set<ManagedObjectID>? {
    // Another block has ended the stream.
    guard case .new = state else { return nil }
    let storage = streamContext.storage
    storage.withPending { storage.formerIDs = formerIDs }
    // Before the first read: a detachment from now on ends the stream after this block.
    context.persistentStoreCoordinator?.lastingReaders.add(self, release: storeRelease)
    if observation == nil { observation = context.persistentStoreCoordinator?.observer?.began(operation) }
    let fetch = try streamContext.inOneState { try StreamedFetch(try plan(streamContext), in: streamContext) }
    state = .open(fetch)
    lastRead = .now
    watch(for: unreadLimit)
    return fetch.hasUnsaved ? fetch.temporaryIDs : nil
  }

  /// Ends the stream before the detachment or erasure of a store that it reads.
  private var storeRelease: @Sendable (any PersistentStore) -> Void {
    { [weak self] store in
      guard let self else { return }
      streamContext.perform(onError: { _ in }) { self.end(before: store) }
    }
  }

  /// Ends the stream if it has a reader of a store that is being detached or erased.
  private func end(before store: any PersistentStore) {
    guard case .open = state, streamContext.lease.hasReader(of: store) else { return }
    finish(
      .failed(
        CoherenceError(
          .storeDetached,
          "A store of the stream of '\(subject)' was detached or erased, and the stream has released its connection; attach "
            + "the store, and stream the records again.")))
  }

  private var operation: StackOperation { StackOperation(.fetch, subject) }

  /// Ends a fetch that a save has overtaken, so that another fetch can begin.
  private func reset() {
    guard case .open(let fetch) = state else { return }
    fetch.close()
    streamContext.lease.restartLasting()
    state = .new
  }

  // MARK: Unread streams

  /// Looks after a time whether the stream was read in the meantime.
  private func watch(for duration: Duration) {
    unreadTimer.start(after: duration) { [weak self] in
      guard let self else { return }
      streamContext.perform(onError: { _ in }) { self.endIfUnread() }
    }
  }

  /// Ends the stream if it was not read for its limit, and looks again later otherwise.
  private func endIfUnread() {
    guard case .open = state else { return }
    let remaining = isAwaited ? unreadLimit : unreadLimit - (ContinuousClock.now - lastRead)
    if remaining > .zero { return watch(for: remaining) }
    finish(
      .failed(
        CoherenceError(
          .streamExpired,
          "The stream of '\(subject)' was not read for \(unreadLimit), and has released its connection; read it faster, "
            + "or give it a longer `unreadLimit`.")))
  }
}

extension ManagedObjectContext {
  /// Makes the context in which a stream of this context reads.
  final func makeStreamContext() -> ManagedObjectContext {
    let context = ManagedObjectContext(concurrencyType: .privateQueue)
    // The parent does not count the context as its child: the stream shows the unsaved changes of its beginning, and
    // follows no save.
    context.settings.withLock { $0.parent = self }
    context.reportsFetches = reportsFetches
    context.lease.beginLasting()
    context.name = name.map { "stream of \($0)" } ?? "stream"
    return context
  }
}
