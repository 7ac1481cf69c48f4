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
  let stack: RefreshStack
  let scopes = ScopeTable()
  /// The task that triggers the lists when the connectivity is online again.
  private let onlineTask = Mutex<Task<Void, Never>?>(nil)
  /// The task that resumes the lists when the Connect ends a suspension.
  private let suspensionTask = Mutex<Task<Void, Never>?>(nil)

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
    for scope in endAutomaticAttempts() { Task { await scope.stop() } }
  }

  // MARK: Starting and stopping

  /// Begins the automatic attempts of all present and later lists, without waiting for the attempts. Does nothing for a
  /// started refresher.
  public func start() async {
    let lists = scopes.setStarted(true)
    stack.connect.persistentStoreCoordinator.addFetchObserver(scopes)
    onlineTask.withLock { task in
      // A concurrent `stop` may have finished already; it would never cancel the task below.
      guard task == nil, scopes.isStarted else { return }
      let (scopes, changes) = (scopes, stack.connectivity.changes)
      task = Task {
        var wasOnline: Bool?
        for await isOnline in changes {
          if isOnline, wasOnline == false { for scope in scopes.lists { await scope.trigger(.online) } }
          wasOnline = isOnline
        }
      }
    }
    followSuspensions()
    for scope in lists { await scope.start { [scopes] in scopes.isStarted } }
  }

  /// Starts the ``suspensionTask``, if the Connect reports its suspensions.
  private func followSuspensions() {
    guard let reporting = stack.connect as? any SuspensionReporting else { return }
    suspensionTask.withLock { task in
      guard task == nil, scopes.isStarted else { return }
      let (scopes, changes) = (scopes, reporting.suspensions)
      task = Task {
        // `resume` reads the present state of the Connect, because two quick changes may arrive here in either order.
        for await _ in changes { for scope in scopes.lists { await scope.resume() } }
      }
    }
  }

  /// Ends the automatic attempts, cancels running attempts, and waits for their end, also for an attempt that ignores
  /// its cancellation. A call by an attempt waits for no attempt. The stores keep the statuses.
  public func stop() async {
    let scopes = endAutomaticAttempts()
    // Before the first wait, because an attempt may wait for the attempt of another scope.
    for scope in scopes { await scope.cancel() }
    for scope in scopes { await scope.stop() }
  }

  /// Prevents further automatic attempts.
  ///
  /// - Returns: The lists and running reads to stop, which the caller stops; none for a stopped refresher.
  private func endAutomaticAttempts() -> [ScopeRefresher] {
    let stopped = scopes.setStarted(false)
    stack.connect.persistentStoreCoordinator.removeFetchObserver(scopes)
    onlineTask.withLock { task in
      task?.cancel()
      task = nil
    }
    suspensionTask.withLock { task in
      task?.cancel()
      task = nil
    }
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
