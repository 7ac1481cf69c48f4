/// The states of a live result, as ``ManagedObjectContext/values(of:sectionKeyPath:followingOtherProcesses:)`` returns
/// them.
///
/// Each iterator runs the request at the first call of `next()`, and has its own states. The iterator retains neither
/// the context nor its objects. Several tasks need an iterator each. A slow reader misses intermediate states: the next
/// element is the newest state.
public struct ResultValues<Result: ManagedObject>: AsyncSequence, Sendable {
  /// A state of the result.
  public typealias Element = ResultSnapshot<Result>
  let source: LiveSource

  public func makeAsyncIterator() -> Iterator { Iterator(reader: LiveReader(source)) }

  /// Used by one task at a time.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    let reader: LiveReader

    /// Waits for an undelivered state, and returns the newest state. `nil` after the end, and in a cancelled task.
    public mutating func next() async throws -> ResultSnapshot<Result>? {
      try await reader.next().map { ResultSnapshot($0.current) }
    }
  }
}

/// The differences between the states of a live result, as
/// ``ManagedObjectContext/changes(of:sectionKeyPath:followingOtherProcesses:)`` returns them. Otherwise as
/// ``ResultValues``.
public struct ResultChangeSequence<Result: ManagedObject>: AsyncSequence, Sendable {
  /// A difference between two states. The first element leads from the empty list to the first state.
  public typealias Element = ResultChanges<Result>
  let source: LiveSource

  public func makeAsyncIterator() -> Iterator { Iterator(reader: LiveReader(source)) }

  /// Used by one task at a time.
  public struct Iterator: AsyncIteratorProtocol, Sendable {
    let reader: LiveReader

    /// Waits for changes, and returns the difference between the last delivered state and the newest one. `nil` after
    /// the end, and in a cancelled task.
    public mutating func next() async throws -> ResultChanges<Result>? {
      while let source = try await reader.next() {
        let difference = source.difference
        // Changes that cancel each other out between two calls make no element.
        if source.former == nil || !difference.isEmpty { return ResultChanges(difference) }
      }
      return nil
    }
  }
}

/// A request, and the context for its result.
struct LiveSource: Sendable {
  let request: CheckedRequest
  let handle: ContextHandle
  let followsOtherProcesses: Bool
}

/// Begins a live result at the first call of ``next()``, and returns its states.
final class LiveReader: Sendable {
  private let source: LiveSource
  private let subscription: ResultSubscription
  private let isBegun = Locked(false)

  init(_ source: LiveSource) {
    self.source = source
    subscription = ResultSubscription(source.handle)
  }

  /// Waits for an undelivered state; `nil` after the end, and in a cancelled task. The first call begins the result.
  func next() async throws -> ResultDifferenceSource? {
    let begins = isBegun.withLock { isBegun in
      defer { isBegun = true }
      return !isBegun
    }
    if begins {
      guard let context = source.handle.context else { return nil }
      let (source, subscription) = (source, subscription)
      do {
        try await context.perform { context in try context.begin(source, for: subscription) }
      } catch {
        // Later calls must not wait for a result that never began.
        subscription.end(nil)
        if error.isCancellationOfTask { return nil }
        throw error
      }
    }
    return try await subscription.next()
  }
}

extension ManagedObjectContext {
  /// Begins a live result. Called inside the context.
  final func begin(_ source: LiveSource, for sink: any ResultSink) throws {
    guard let results = ContextLiveResults.of(self) else { return }
    try results.add(source.request, for: sink, in: self)
    guard source.followsOtherProcesses, let coordinator = persistentStoreCoordinator else { return }
    results.follow(coordinator.signals(PersistentStoreCoordinator.liveResultsChannel))
  }

  /// Checks a request for a live result.
  ///
  /// - Throws: The errors of a faulty request; ``ErrorCode/wrongContext`` for a context of a thread.
  final func liveSource<Result>(
    _ request: FetchRequest<Result>, _ sectionKeyPath: String?, _ followsOtherProcesses: Bool
  ) throws -> LiveSource {
    let checked = try CheckedRequest(request, sectionKeyPath: sectionKeyPath, in: coordinator())
    guard concurrencyType != .currentThread else {
      throw CoherenceError(
        .wrongContext,
        "The context belongs to a thread and has no queue for a stream of results; use a FetchedResultsController there, "
          + "or another context.")
    }
    guard let handle = storage.handle else {
      throw CoherenceError(.illegalState, "The context is being released.")
    }
    return LiveSource(request: checked, handle: handle, followsOtherProcesses: followsOtherProcesses)
  }
}

extension PersistentStoreCoordinator {
  /// The channel whose signals make the live results that follow other processes run their requests again.
  ///
  /// A PostgreSQL server notifies other processes only of signals: a process makes its saves visible to them by a call
  /// of ``ManagedObjectContext/signalOnSave(_:)`` with this channel. Commits to a SQLite file need no signal.
  public static var liveResultsChannel: String { "coherence.results" }
}
