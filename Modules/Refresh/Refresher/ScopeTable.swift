import CoherenceCore
import Synchronization

/// The registered refreshes of a refresher, and the observer of the fetches of their entities.
final class ScopeTable: FetchObserver {
  private struct State {
    var lists: [(name: StatusName, scope: ScopeRefresher)] = []
    /// The removed lists whose last attempt may still run.
    var endingLists: [ScopeRefresher] = []
    var reads: [String: RefreshRegistration] = [:]
    /// The running reads, by their names.
    var runningReads: [StatusName: RunningRead] = [:]
    /// The lists that refresh records of an entity, by the entity's name; a cache that the first fetch of an entity
    /// fills.
    var byEntity: [String: [ScopeRefresher]] = [:]
    var isStarted = false
  }

  /// The scope of a read, and the number of calls that use the scope.
  private struct RunningRead {
    let scope: ScopeRefresher
    var callCount = 0
  }

  private let state = Mutex(State())

  // MARK: Registering

  /// Adds a list.
  ///
  /// - Returns: Whether the refresher is started, so that the caller has to start the list.
  /// - Throws: ``ErrorCode/invalidRefresh`` for a second list of a scope.
  func add(_ scope: ScopeRefresher, _ name: StatusName) throws -> Bool {
    try state.withLock { state in
      guard !state.lists.contains(where: { $0.name == name }) else { throw Self.registeredTwice(name.entity) }
      state.lists.append((name, scope))
      state.byEntity = [:]
      return state.isStarted
    }
  }

  /// Removes a list. A stop finds its attempt until ``noteEnd(of:)`` is called.
  ///
  /// - Throws: ``ErrorCode/invalidRefresh`` for a scope without a list.
  func remove(list name: StatusName) throws -> ScopeRefresher {
    try state.withLock { state in
      guard let index = state.lists.firstIndex(where: { $0.name == name }) else { throw name.unregisteredError }
      state.byEntity = [:]
      let scope = state.lists.remove(at: index).scope
      state.endingLists.append(scope)
      return scope
    }
  }

  /// Notes the end of the last attempt of a removed list.
  func noteEnd(of scope: ScopeRefresher) {
    state.withLock { state in state.endingLists.removeAll { $0 === scope } }
  }

  /// Adds the read of an entity.
  ///
  /// - Throws: ``ErrorCode/invalidRefresh`` for a second read of an entity.
  func add(read registration: RefreshRegistration) throws {
    try state.withLock { state in
      guard state.reads[registration.entity.name] == nil else { throw Self.registeredTwice(registration.entity) }
      state.reads[registration.entity.name] = registration
    }
  }

  private static func registeredTwice(_ entity: EntityDescription) -> CoherenceError {
    CoherenceError(
      .invalidRefresh,
      "A refresh of '\(entity.name)' with the same scope is registered already; give the second refresh another scope.")
  }

  // MARK: Using

  /// The scopes of all lists.
  var lists: [ScopeRefresher] { state.withLock { $0.lists.map(\.scope) } }

  /// The scopes of all lists, of removed lists whose last attempt may still run, and of the running reads.
  var all: [ScopeRefresher] {
    state.withLock { $0.lists.map(\.scope) + $0.endingLists + $0.runningReads.values.map(\.scope) }
  }

  /// Whether the refresher is started.
  var isStarted: Bool { state.withLock { $0.isStarted } }

  /// Changes whether the refresher is started. Returns the lists to start, or the lists and running reads to stop; none
  /// if the state is the same.
  func setStarted(_ isStarted: Bool) -> [ScopeRefresher] {
    state.withLock { state in
      guard state.isStarted != isStarted else { return [] }
      state.isStarted = isStarted
      let lists = state.lists.map(\.scope)
      return isStarted ? lists : lists + state.runningReads.values.map(\.scope)
    }
  }

  /// Returns a registered list.
  ///
  /// - Throws: ``ErrorCode/invalidRefresh`` for a scope without a list.
  func list(_ name: StatusName) throws -> ScopeRefresher {
    let scope = state.withLock { state in state.lists.first { $0.name == name }?.scope }
    if let scope { return scope }
    throw name.unregisteredError
  }

  /// Runs a block with the scope of a read, which concurrent reads of one key share.
  ///
  /// - Throws: ``ErrorCode/invalidRefresh`` for an entity without a read.
  func reading<T: Sendable>(
    _ name: StatusName, in stack: RefreshStack, _ body: (ScopeRefresher) async throws -> T
  ) async throws -> T {
    let scope = try state.withLock { state in
      guard let registration = state.reads[name.entity.name] else {
        throw CoherenceError(
          .invalidRefresh, "No read of '\(name.entity.name)' is registered; register a read with `register(read:)`.")
      }
      var running =
        state.runningReads[name] ?? RunningRead(scope: ScopeRefresher(registration, scope: name.scope, in: stack))
      running.callCount += 1
      state.runningReads[name] = running
      return running.scope
    }
    // The last call to end removes the scope: a stop has to find the attempt of each call.
    defer {
      state.withLock { state in
        state.runningReads[name]?.callCount -= 1
        if state.runningReads[name]?.callCount == 0 { state.runningReads[name] = nil }
      }
    }
    return try await body(scope)
  }

  // MARK: Fetches

  func willFetch(_ entity: EntityDescription) {
    for scope in scopes(of: entity) { scope.noteFetch() }
  }

  private func scopes(of entity: EntityDescription) -> [ScopeRefresher] {
    state.withLock { state in
      guard state.isStarted else { return [] }
      if let cached = state.byEntity[entity.name] { return cached }
      let scopes = state.lists.filter { $0.name.entity.isKind(of: entity) || entity.isKind(of: $0.name.entity) }
        .map(\.scope)
      state.byEntity[entity.name] = scopes
      return scopes
    }
  }
}
