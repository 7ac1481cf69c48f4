public import CoherenceActions
public import CoherenceCore

// MARK: - Handlers

extension Outbox {
  /// Registers the handlers that send the edits of an entity and its subentities to a server, in place of earlier ones.
  ///
  /// ```swift
  /// try outbox.forward(ToDo.self) { handlers in
  ///   handlers.insert { request in
  ///     let saved = try await service.create(title: request[\.title] ?? "", key: request.idempotencyKey)
  ///     return .accepted(["id": saved.id])
  ///   }
  ///   handlers.delete { request in
  ///     try await service.delete(request.key(\.id), key: request.idempotencyKey)
  ///     return .accepted
  ///   }
  /// }
  /// try outbox.start()
  /// ```
  /// An edit without a handler for its kind is parked. The handlers of a subentity are preferred to those of its
  /// ancestors.
  ///
  /// - Throws: ``ErrorCode/unknownEntity`` when the model does not have the entity; ``ErrorCode/unmanagedEntity`` when
  ///   the outbox does not record its changes.
  public func forward<Object: DeclaredEntity>(
    _ type: Object.Type, _ register: (inout ForwardHandlers<Object>) -> Void
  ) throws {
    var handlers = ForwardHandlers<Object>()
    register(&handlers)
    try forward(handlers.route, Object.entityName)
  }

  /// Registers the handlers of an entity by its name; see ``forward(_:_:)-(Object.Type,_)``.
  public func forward(
    _ entityName: String, _ register: (inout ForwardHandlers<ManagedObject>) -> Void
  ) throws {
    var handlers = ForwardHandlers<ManagedObject>()
    register(&handlers)
    try forward(handlers.route, entityName)
  }

  private func forward(_ route: ForwardRoute, _ entityName: String) throws {
    let entity = try coordinator.managedObjectModel.entity(named: entityName)
    guard forwards(entity) || entity.concreteEntities.contains(where: forwards) else {
      throw CoherenceError(
        .unmanagedEntity,
        "The outbox does not record changes of '\(entityName)'; name the entity when the outbox is made, or set "
          + "`logTransactions` to `true` in its user info.")
    }
    desk.register(route, for: entity)
  }

  /// The part of the outbox that forwards.
  var desk: ForwardDesk { attached(ForwardDesk.self) { ForwardDesk(container as? any WorkEventPublishing) } }
}

// MARK: - Running

extension Outbox {
  /// Starts to send the entries of the outbox: the entries of earlier processes, and new entries as they are saved.
  /// Does nothing while the outbox is started.
  ///
  /// Each edit is sent at least once, in the order of the edits of its record, after the inserts of records that it
  /// refers to, and before the deletes of records that it referred to. Several processes may forward one outbox: a
  /// claim with a lease gives each edit to one process. A started outbox is retained until it is stopped.
  ///
  /// - Throws: ``ErrorCode/illegalState`` without handlers.
  public func start(_ options: ForwardOptions = ForwardOptions()) throws {
    let desk = desk
    guard desk.hasRoutes else {
      throw CoherenceError(
        .illegalState, "The outbox has no handlers, so that every edit would be parked; call `forward` before `start`.")
    }
    desk.start {
      let runner = ForwardRunner(outbox: self, desk: desk, options: options)
      return ForwardDesk.Runner(inbox: runner.inbox, loop: Task.detached { await runner.run() })
    }
  }

  /// Stops sending. Does nothing while the outbox is stopped.
  ///
  /// - Parameter mode: The treatment of edits that are being sent. After `.drain` their answers are awaited and
  ///   applied. After `.cancel` their tasks are canceled; the next start sends an edit without an answer again, with the
  ///   same idempotency key.
  public func stop(_ mode: StopMode = .drain) async {
    guard let runner = desk.runner else { return }
    runner.inbox.stop(mode)
    await runner.loop.value
  }

  /// Whether the outbox is started.
  public var isStarted: Bool { desk.runner != nil }

  /// Whether nothing new is sent. Edits that are being sent continue. May be set from any thread, before the start too.
  public var isPaused: Bool {
    get { desk.isPaused }
    set { desk.isPaused = newValue }
  }

  /// Sends nothing new until ``resume()``.
  public func pause() { isPaused = true }
  /// Continues after ``pause()``.
  public func resume() { isPaused = false }

  /// Waits until every edit that this outbox can send is accepted or parked, edits between two attempts included. While
  /// the server is down the call takes as long as all attempts.
  ///
  /// An edit that another process has claimed is that process's to send. The call returns without it, unless it is asked to
  /// wait: such entries count in the result, and ``counts(in:)`` returns their number as ``OutboxCounts/sending``. When the
  /// other process has crashed, a started outbox takes the edit over at the end of the lease, see
  /// ``ForwardOptions/leaseDuration``.
  ///
  /// While the outbox is paused, its Connect is suspended, or the network is offline, the call returns as soon as nothing
  /// is being sent.
  ///
  /// - Parameter waitsForOthers: Whether the call also waits for the edits that other processes have claimed: until the
  ///   end of each lease, at which this outbox looks again, and takes the edit of a crashed process over.
  /// - Returns: The number of entries that are left: parked ones, those of other processes, entries that wait for such
  ///   entries, and all entries that a pause holds back.
  /// - Throws: ``ErrorCode/illegalState`` when the outbox is not started, or stops before.
  @discardableResult
  public func flush(waitsForOthers: Bool = false) async throws -> Int {
    guard let runner = desk.runner else { throw Self.notStarted }
    if let left = try await runner.inbox.flush(waitsForOthers: waitsForOthers) { return left }
    return try await counts().total
  }

  /// A new stream of the events from now on, in order. The stream keeps every event until it is read. The events of an
  /// outbox of a Connect are in the stream `Connect.events` too, as `ConnectEvent.work`.
  public var events: AsyncStream<OutboxEvent> { desk.events }

  /// The counts of the forwarding since the outbox was made. May be read from any thread.
  public var statistics: ForwardStatistics { desk.statistics }

  static var notStarted: CoherenceError {
    CoherenceError(.illegalState, "The outbox is not started, so that nothing is sent; call `start` first.")
  }
}
