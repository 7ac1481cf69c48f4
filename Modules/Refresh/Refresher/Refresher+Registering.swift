public import CoherenceActions
public import CoherenceCore
import CoherenceStrategies

extension Refresher {
  /// Registers the refresh of all records of an entity, or of a part of them.
  ///
  /// - Parameters:
  ///   - type: The class of the entity's objects.
  ///   - entityName: The name of the entity, for an entity without its own class.
  ///   - scope: The name of the part, for example of a project's records; `nil` for all records. Each scope of an entity has
  ///     a registration and a status of its own.
  ///   - stalenessInterval: The time after which the records are stale; by default the entity's `stalenessInterval`, or
  ///     else the interval of the options.
  ///   - schedule: The dates of regular attempts; `nil` for attempts by other reasons only.
  ///   - timeLimit: The time after which an attempt is cancelled; by default the limit of the options.
  ///   - body: Loads the records and merges them in the context of the request. Called in a task of its own. A thrown
  ///     error fails the attempt.
  /// - Throws: ``ErrorCode/unknownEntity``; ``ErrorCode/unmanagedEntity`` for an abstract entity or an entity without a
  ///   key; ``ErrorCode/invalidRefresh`` when the scope has a registration.
  public func register(
    list type: ManagedObject.Type, entityName: String? = nil, scope: String? = nil,
    stalenessInterval: Duration? = nil, schedule: Schedule? = nil, timeLimit: Duration? = nil,
    _ body: @escaping @Sendable (RefreshRequest) async throws -> Void
  ) throws {
    let entity = try entity(type, entityName)
    let registration = registration(.list, entity, scope, stalenessInterval, schedule, timeLimit, body)
    let list = ScopeRefresher(registration, scope: scope, in: stack)
    if try scopes.add(list, StatusName(entity, .list, scope: scope)) {
      Task { [scopes] in await list.start { scopes.isStarted } }
    }
  }

  /// Registers the refresh of an entity by pages of its changes since a cursor.
  ///
  /// An attempt loads and merges pages until the last one. One transaction saves each page and its cursor; with several
  /// writable stores of the entity, the cursor is saved after the transactions of all stores. After a failure, the next
  /// attempt continues with the last saved cursor. A page with a next page, and with the cursor of an earlier page of
  /// the attempt, fails the attempt with ``ErrorCode/invalidRefresh``.
  ///
  /// A page that takes a unique value of a stored record, or links to a missing record, waits for the next pages and is
  /// saved together with them, at most 64 pages in one transaction. Without an end of the reason, the attempt fails.
  /// After three attempts in one store that fail because of links to missing records, the fourth merges the pages
  /// without these links, as `MergeOptions.MissingTargetPolicy.leaveOut` says, and reports an
  /// ``ErrorCode/objectNotFound`` to the error handler of the Connect. With this policy in `mergeOptions`, the first
  /// attempt does so.
  ///
  /// ```swift
  /// try refresher.register(changesOf: Song.self) { request in
  ///   let reply = try await service.changes(since: request.cursor)
  ///   return DeltaPage(
  ///     records: reply.songs, tombstones: reply.deleted.map { MergeKey($0) }, cursor: reply.cursor,
  ///     hasMore: reply.hasMore)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - subsetFilter: Limits the deletion of a complete page to the records of the scope.
  ///   - condition: Protects stored records that do not satisfy the condition, as in
  ///     ``RefreshRequest/merge(_:subsetFilter:condition:options:)``.
  ///   - mergeOptions: The options of the merges. The refresher sets the beginning of the request for each page.
  ///   - source: Loads and returns the page after the request's cursor.
  /// - Throws: As ``register(list:entityName:scope:stalenessInterval:schedule:timeLimit:_:)``.
  public func register(
    changesOf type: ManagedObject.Type, entityName: String? = nil, scope: String? = nil,
    stalenessInterval: Duration? = nil, schedule: Schedule? = nil, timeLimit: Duration? = nil,
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    mergeOptions: MergeOptions = MergeOptions(),
    _ source: @escaping @Sendable (RefreshRequest) async throws -> DeltaPage
  ) throws {
    let merger = ChangeMerger(
      subsetFilter: subsetFilter, condition: condition, options: mergeOptions,
      reportError: { [connect = stack.connect] in connect.errorHandler($0) })
    try register(
      list: type, entityName: entityName, scope: scope, stalenessInterval: stalenessInterval, schedule: schedule,
      timeLimit: timeLimit
    ) { request in
      try await merger.merge(source, for: request)
    }
  }

  /// Takes the registration of a list back, for example when the user signs out or closes a project.
  ///
  /// The method ends the automatic attempts of the list, cancels a running attempt, waits for the end of the attempt,
  /// and deletes the status with its cursor. A call by an attempt, or by an action that the list's attempt waits for,
  /// waits for no attempt: the status is deleted after the end of the list's attempt. A call of
  /// ``refresh(_:entityName:scope:onlyIfStale:)`` that waits for the attempt throws the error of its cancellation. The
  /// records of the list stay in the store.
  ///
  /// The list may be registered again at once. If another process is refreshing the list, the status stays for this
  /// process.
  ///
  /// - Throws: ``ErrorCode/invalidRefresh`` for a scope without a list; ``ErrorCode/unknownEntity``;
  ///   ``ErrorCode/unmanagedEntity``. After ``ErrorCode/noStore`` and other errors of the store, the list is
  ///   unregistered too, and the status stays.
  public func unregister(
    list type: ManagedObject.Type, entityName: String? = nil, scope: String? = nil
  ) async throws {
    let name = StatusName(try entity(type, entityName), .list, scope: scope)
    let list = try scopes.remove(list: name)
    let attempt = await list.remove()
    // In a task of its own, because a context performs no block in the cancelled task of a caller. The deletion is no
    // part of an action of the caller.
    let deletion = Task.detached { [stack, scopes] in
      _ = await attempt?.result
      scopes.noteEnd(of: list)
      try await stack.table.remove(name, now: stack.now)
    }
    guard let attempt, await !list.waitForEnd(of: attempt) else { return try await deletion.value }
    Task.detached { [stack] in
      if case .failure(let error) = await deletion.result { stack.connect.errorHandler(error) }
    }
  }

  /// Registers the refresh of single records of an entity, for ``read(_:entityName:key:onlyIfStale:)``.
  ///
  /// - Parameters:
  ///   - body: Loads a record and merges it in the context of the request. The key of the record is the request's
  ///     scope.
  /// - Throws: As ``register(list:entityName:scope:stalenessInterval:schedule:timeLimit:_:)``.
  public func register(
    read type: ManagedObject.Type, entityName: String? = nil, stalenessInterval: Duration? = nil,
    timeLimit: Duration? = nil, _ body: @escaping @Sendable (RefreshRequest) async throws -> Void
  ) throws {
    let entity = try entity(type, entityName)
    try scopes.add(read: registration(.read, entity, nil, stalenessInterval, nil, timeLimit, body))
  }

  private func registration(
    _ type: RefreshStatus.Kind, _ entity: EntityDescription, _ scope: String?, _ stalenessInterval: Duration?,
    _ schedule: Schedule?, _ timeLimit: Duration?, _ body: @escaping @Sendable (RefreshRequest) async throws -> Void
  ) -> RefreshRegistration {
    RefreshRegistration(
      entity: entity, type: type, scope: scope,
      stalenessInterval: stalenessInterval ?? entity.stalenessInterval ?? stack.options.stalenessInterval,
      schedule: schedule, timeLimit: timeLimit ?? stack.options.timeLimit, body: body)
  }

  /// Returns the entity of a refresh.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``; ``ErrorCode/unmanagedEntity`` for an abstract entity or an entity without a
  ///   key, whose records a merge cannot match.
  func entity(_ type: ManagedObject.Type, _ name: String?) throws -> EntityDescription {
    let model = stack.connect.managedObjectModel
    let entity = try name.map { try model.entity(named: $0) } ?? model.entity(for: type)
    guard !stack.connect.uniquenessAttributes(for: entity).isEmpty, !entity.isAbstract else {
      throw CoherenceError(
        .unmanagedEntity,
        "Entity '\(entity.name)' cannot be refreshed, because the entity is abstract or its model names no key; name "
          + "the key with `userInfo[\"\(EntityDescription.keySetting)\"]` or a uniqueness constraint.")
    }
    return entity
  }
}
