public import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Synchronization

/// Keeps the records of entities up to date with their source, by registered refreshes that run automatically.
///
/// ```swift
/// let refresher = try Refresher(connect)
/// try refresher.register(list: Song.self, schedule: .every(.seconds(3600), jitter: .seconds(60))) { request in
///   let songs = try await service.songs()
///   try await request.context.perform {
///     try request.context.merge(records: songs, for: request.entity, options: .replaceAll)
///   }
/// }
/// await refresher.start()
/// ```
///
/// A list refreshes the records of a scope:
///
/// - when the refresher starts and the records are stale,
/// - at the dates of its schedule,
/// - after a fetch of stale records, which itself returns the stored records at once,
/// - and when the ``Connectivity`` is online again and the records are stale or the last attempt failed.
///
/// A failed attempt is repeated after a delay that grows with each failure. A read refreshes a single record when the
/// program calls it.
///
/// Attempts are entity actions of the Connect, which must be started. In all processes with the store, each scope has
/// at most one running attempt. The ``RefreshStatus`` of each scope is a record in the store with the entity.
///
/// Between attempts, a refresher has at most one sleeping task for each list. May be used from any thread. The release
/// of a refresher ends its automatic attempts.
public final class Refresher: Sendable {
  /// The tasks of a started refresher.
  private struct FollowingTasks {
    /// Triggers the lists when the connectivity is online again.
    var connectivity: Task<Void, Never>?
    /// Resumes the lists when the Connect ends a suspension.
    var suspensions: Task<Void, Never>?
  }

  let stack: RefreshStack
  let scopes = ScopeTable()
  /// The lock is held during the change between started and stopped, so that a concurrent start and stop never leave a
  /// started refresher without its tasks and its observer of fetches.
  private let followingTasks = Mutex(FollowingTasks())

  /// Makes a refresher without registered refreshes, which runs no automatic attempt before ``start()``.
  ///
  /// - Parameters:
  ///   - connect: The Connect whose stores have the records, of a model with
  ///     `ManagedObjectModel.addingRefreshStatus()`.
  ///   - connectivity: The state of the network. While it is offline, no automatic attempt begins. While it is
  ///     online, the refresher reports to it each attempt that finds the server unavailable.
  ///   - options: The common settings.
  /// - Throws: ``ErrorCode/invalidModel`` for a model without the entity of the statuses.
  public init(
    _ connect: any Connect & ActionManager, connectivity: any Connectivity = .alwaysOnline,
    options: RefreshOptions = RefreshOptions()
  ) throws {
    stack = try RefreshStack(connect, connectivity: connectivity, options: options)
  }

  deinit {
    for scope in endAutomaticAttempts() { Task { await scope.cancel { false } } }
  }

  // MARK: Starting and stopping

  /// Begins the automatic attempts of all present and later lists, without waiting for the attempts. Does nothing for a
  /// started refresher. A start during a stop begins new attempts after the end of the cancelled ones.
  public func start() async {
    for scope in beginAutomaticAttempts() { await scope.start { [scopes] in scopes.isStarted } }
  }

  /// Ends the automatic attempts, cancels running attempts, and waits for their end, also for an attempt that ignores
  /// its cancellation. The running attempts include those that calls of the program have begun, with or without a
  /// start. A call during another stop waits for the same attempts. A call by an attempt waits for no attempt, and a call
  /// by an action, by a handler of an outbox or by a persisted action does not wait for an attempt that waits for the
  /// caller. The stores keep the statuses.
  public func stop() async {
    _ = endAutomaticAttempts()
    var attempts: [(scope: ScopeRefresher, task: Task<ScopeRefresher.Outcome, any Error>)] = []
    // All attempts are cancelled before the first wait, because an attempt may wait for the attempt of another scope.
    for scope in scopes.all {
      if let attempt = await scope.cancel(unless: { [scopes] in scopes.isStarted }) {
        attempts.append((scope, attempt))
      }
    }
    for attempt in attempts { _ = await attempt.scope.waitForEnd(of: attempt.task) }
  }

  /// Allows automatic attempts.
  ///
  /// - Returns: The lists, which the caller starts; none for a started refresher.
  private func beginAutomaticAttempts() -> [ScopeRefresher] {
    followingTasks.withLock { tasks in
      let lists = scopes.setStarted(true)
      stack.connect.persistentStoreCoordinator.addFetchObserver(scopes)
      if tasks.connectivity == nil { tasks.connectivity = followConnectivity() }
      if tasks.suspensions == nil { tasks.suspensions = followSuspensions() }
      return lists
    }
  }

  private func followConnectivity() -> Task<Void, Never> {
    let (scopes, changes) = (scopes, stack.connectivity.changes)
    return Task {
      var wasOnline: Bool?
      for await isOnline in changes {
        if isOnline, wasOnline == false { for scope in scopes.lists { await scope.trigger(.online) } }
        wasOnline = isOnline
      }
    }
  }

  /// Returns `nil` for a Connect that does not report its suspensions.
  private func followSuspensions() -> Task<Void, Never>? {
    guard let reporting = stack.connect as? any SuspensionReporting else { return nil }
    let (scopes, changes) = (scopes, reporting.suspensions)
    return Task {
      // `resume` reads the present state of the Connect, because two quick changes may arrive here in either order.
      for await _ in changes { for scope in scopes.lists { await scope.resume() } }
    }
  }

  /// Prevents further automatic attempts.
  ///
  /// - Returns: The lists and running reads; none for a stopped refresher.
  private func endAutomaticAttempts() -> [ScopeRefresher] {
    let (stopped, former) = followingTasks.withLock { tasks in
      let stopped = scopes.setStarted(false)
      stack.connect.persistentStoreCoordinator.removeFetchObserver(scopes)
      defer { tasks = FollowingTasks() }
      return (stopped, tasks)
    }
    // After the lock: the cancellation ends a stream, for which a connectivity of the program may have a handler.
    former.connectivity?.cancel()
    former.suspensions?.cancel()
    return stopped
  }

  /// Whether automatic attempts may begin; `true` by default. Setting `false` does not cancel running attempts. Setting
  /// `true` refreshes the stale lists of a started refresher. Calls of
  /// ``refresh(_:entityName:scope:onlyIfStale:)`` are always allowed.
  public var isEnabled: Bool {
    get { stack.isEnabled }
    set {
      stack.isEnabled = newValue
      guard newValue else { return }
      for scope in scopes.lists { Task { await scope.trigger(.start) } }
    }
  }
}
