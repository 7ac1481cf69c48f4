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
  /// An edit without a handler for its kind is parked. The handlers of a subentity take precedence over the handlers of
  /// its ancestors.
  ///
  /// - Throws: ``ErrorCode/unknownEntity`` when the model does not have the entity; ``ErrorCode/unmanagedEntity`` when
  ///   the outbox does not record the changes of the entity.
  public func forward<Object: DeclaredEntity>(
    _ type: Object.Type, _ register: (inout ForwardHandlers<Object>) -> Void
  ) throws {
    var handlers = ForwardHandlers<Object>()
    register(&handlers)
    try forward(handlers.route, Object.entityName)
  }

  /// Registers the handlers of an entity by its name; see ``forward(_:_:)-(Object.Type,_)``. For an entity without a
  /// declared class.
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
    forwarding.register(route, for: entity)
  }

  /// The state of the forwarding, made at the first use.
  var forwarding: ForwardingState {
    attached(ForwardingState.self) { ForwardingState(container as? any WorkEventPublishing) }
  }
}

// MARK: - Running

extension Outbox {
  /// Starts to send the entries of the outbox: the entries of earlier processes, and new entries after each save. Does
  /// nothing while the outbox is started. A start during a stop takes effect at the end of the stop.
  ///
  /// Each edit is sent at least once: after the earlier edits of its record, after the inserts of the records to which
  /// it refers, and before the deletes of the records to which its record referred. Several processes may forward the
  /// same store: a claim with a lease gives each edit to one process. A started outbox is retained until it is stopped.
  ///
  /// - Throws: ``ErrorCode/illegalState`` without handlers.
  public func start(_ options: ForwardOptions = ForwardOptions()) throws {
    let forwarding = forwarding
    guard forwarding.hasRoutes else {
      throw CoherenceError(
        .illegalState, "The outbox has no handlers, so that every edit would be parked; call `forward` before `start`.")
    }
    forwarding.start {
      let runner = ForwardRunner(outbox: self, forwarding: forwarding, options: options)
      return ForwardingState.Runner(messages: runner.messages, loop: Task.detached { await runner.run() })
    }
  }

  /// Stops sending, and returns after the end of all handler calls. Does nothing while the outbox is stopped. Also ends
  /// a start that waits for the end of an earlier stop. A call by a handler, by a task that a handler has made, or
  /// by an action or other handler that a handler waits for, returns at once: the outbox stops after the end of the
  /// handler.
  ///
  /// - Parameter mode: The treatment of the running handler calls. `.drain` waits for their results and writes them to
  ///   the store. `.cancel` cancels their tasks; the next start sends an edit without a decision again, with the same
  ///   idempotency key.
  public func stop(_ mode: StopMode = .drain) async {
    guard let runner = forwarding.takeRunnerToStop() else { return }
    runner.messages.stop(mode)
    if runner.messages.handlerCalls.isCurrent { return }
    // An action or other handler that a handler waits for does not wait for the handler.
    try? await runner.messages.handlerCalls.wait { await runner.loop.value }
  }

  /// Whether the outbox is started.
  public var isStarted: Bool { forwarding.runner != nil }

  /// Whether the outbox starts no new handler calls. Running calls continue. May be set from any thread, and before
  /// ``start(_:)``.
  public var isPaused: Bool {
    get { forwarding.isPaused }
    set { forwarding.isPaused = newValue }
  }

  /// Starts no new handler calls until ``resume()``.
  public func pause() { isPaused = true }
  /// Continues after ``pause()``.
  public func resume() { isPaused = false }

  /// Waits until every edit that this outbox can send is accepted or parked, including edits that wait for their next
  /// attempt. While the server is unavailable, the call sends one edit at once, unless the server has asked for a longer
  /// delay, and it lasts until an edit has used up the attempts of ``ForwardOptions/retry``: later attempts of this edit,
  /// and the held-back edits, follow in the background. The call also waits until a failed store works again, however
  /// long its disk is full. A program that cannot wait, for example at a logout, cancels the task of the call.
  ///
  /// Another process sends the edits that it has claimed. Without `waitsForOthers` the call does not wait for these
  /// edits: their entries count in the result, and ``counts(in:)`` returns their number as ``OutboxCounts/sending``.
  /// When the other process has crashed, a started outbox takes its edits over at the end of their leases, see
  /// ``ForwardOptions/leaseDuration``.
  ///
  /// While the outbox is paused, its Connect is suspended, or the network is offline, the call returns after the end of
  /// the running handler calls.
  ///
  /// - Parameter waitsForOthers: Whether the call also waits for the edits that other processes have claimed. This
  ///   outbox then searches again after 50 milliseconds, and later once a second. At the end of a lease it takes over
  ///   the edit of a crashed process.
  /// - Returns: The number of remaining entries: parked entries, entries claimed by other processes, entries that wait
  ///   for such entries, and during a pause or while the server is unavailable all unsent entries.
  /// - Throws: ``ErrorCode/illegalState`` when the outbox is not started, or stops during the call;
  ///   ``ErrorCode/deadlock`` in a handler of the outbox, for whose end the call would wait, and in an action, a persisted
  ///   action or a handler of another outbox that such a handler waits for; `CancellationError` as soon as the task is
  ///   cancelled, while the outbox continues to send.
  @discardableResult
  public func flush(waitsForOthers: Bool = false) async throws -> Int {
    if let runner = forwarding.runner, runner.messages.handlerCalls.isCurrent {
      throw CoherenceError(
        .deadlock,
        "A handler of the outbox cannot wait for a flush, which waits for the end of the handler; call `flush` after "
          + "the handler has returned, or in a detached task.")
    }
    guard let runner = try await forwarding.startedRunner() else { throw Self.notStarted }
    let left = try await runner.messages.handlerCalls.wait {
      try await runner.messages.flush(waitsForOthers: waitsForOthers)
    }
    if let left { return left }
    return try await counts().total
  }

  /// A new stream of the forwarding's events from now on, in their order. The stream keeps each event until the reader
  /// takes it. The stream `Connect.events` of the outbox's Connect has the same events, as `ConnectEvent.work`.
  public var events: AsyncStream<OutboxEvent> { forwarding.events }

  /// The counts of the forwarding since the outbox was made. May be read from any thread.
  public var statistics: ForwardStatistics { forwarding.statistics }

  static var notStarted: CoherenceError {
    CoherenceError(.illegalState, "The outbox is not started, so that nothing is sent; call `start` first.")
  }
}
