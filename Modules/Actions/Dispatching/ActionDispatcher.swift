import CoherenceCore
import Dispatch
import Logging
import Synchronization

/// Takes actions in, and leads each to its end: past what it has to wait for, through its queue.
///
/// An action waits for, in this order: the start of the Connect, its dependencies, a place of its concurrency limit, and
/// its turn in the queue.
final class ActionDispatcher: Sendable {
  let events: ActionEvents
  /// Calls blocks of the program that answer the Connect, and not an action: the blocks of starts and stops, and
  /// `cancel` of actions whose time is over. Completion blocks, however many are blocked, delay none of them.
  let callbacks = CallbackQueue(name: "connect.queue.callback", width: 64)
  private let clock: any Clock<Duration>
  private let genericActions: ActionQueue
  private let desk = Mutex(ActionDesk())

  init(options: ConnectOptions, logger: Logger) {
    events = ActionEvents(logger: logger, completionBlocks: options.maximumConcurrentCompletionBlocks)
    clock = options.clock
    genericActions = ActionQueue(
      name: "connect.queue.generic", width: max(1, options.maximumConcurrentGenericActions),
      isSuspended: false)
  }

  // MARK: Submitting

  /// - Throws: ``ErrorCode/unmanagedEntity``.
  func submit<Output>(_ order: ActionOrder<Output>) throws -> ActionHandle<Output> {
    let options = order.options ?? order.action.options
    let terms = options.isPlain ? nil : ActionTerms(options, of: order.action)
    let acceptance = try desk.withLock { desk throws(CoherenceError) in try accept(order, on: terms, &desk) }
    let handle = acceptance.handle
    if !acceptance.isOnItsWay { awaitObstacles(of: handle) }
    // Without the lock: `cancel` of the replaced action is code of the program.
    if case .replaces(let former, let cancellation) = acceptance.outcome { former.follow(cancellation) }
    return handle
  }

  private struct Acceptance<Output: Sendable> {
    let handle: ActionHandle<Output>
    /// Whether no more is to be done for now.
    let isOnItsWay: Bool
    let outcome: EqualActionOutcome<Output>
  }

  private func accept<Output>(
    _ order: ActionOrder<Output>, on terms: ActionTerms?, _ desk: inout ActionDesk
  ) throws(CoherenceError) -> Acceptance<Output> {
    let queue = if let entity = order.entity { try desk.queue(for: entity) } else { genericActions }
    let outcome = desk.meetEqual(of: order, on: terms)
    if case .joined(let known) = outcome {
      if let options = terms?.options, options.raisesPriority { desk.raise(known, to: options.priority) }
      return Acceptance(handle: known, isOnItsWay: true, outcome: outcome)
    }
    let handle = ActionHandle(
      order.action, order.body,
      in: ActionSubmission(
        queue: queue, dispatcher: self, entity: order.entity, terms: terms,
        completions: order.completion.map { [$0] } ?? []))
    if let identity = terms?.identity { desk.unique[identity] = handle }
    return Acceptance(handle: handle, isOnItsWay: admit(handle, &desk), outcome: outcome)
  }

  /// Puts an action into its queue while the desk is locked: closing the desk finds every action that it accepted.
  ///
  /// - Returns: Whether no more is to be done for now.
  private func admit(_ handle: AnyActionHandle, _ desk: inout ActionDesk) -> Bool {
    if handle.entity == nil, !desk.isOpen {
      handle.queue.hold(handle, at: .start)
      desk.unstarted.append(handle)
      return true
    }
    guard handle.terms != nil else {
      handle.queue.enqueue(handle)
      return true
    }
    handle.queue.hold(handle, at: .dependencies)
    return false
  }

  // MARK: Gates

  /// Waits for the dependencies of an action, and for equal actions that it comes after.
  private func awaitObstacles(of handle: AnyActionHandle) {
    let obstacles = handle.terms?.obstacles.all ?? []
    guard !obstacles.isEmpty else { return takePlace(handle) }
    let open = Countdown(obstacles.count) { [weak self, weak handle] in
      if let self, let handle { self.passDependencies(handle) }
    }
    for obstacle in obstacles { obstacle.whenFinished { open.step() } }
  }

  private func passDependencies(_ handle: AnyActionHandle) {
    guard let terms = handle.terms else { return }
    let failed = terms.takeObstacles().dependencies.filter { $0.completionStatus != .successful }
    if failed.isEmpty || terms.options.runsAfterFailedDependencies { return takePlace(handle) }
    let names = failed.map { "'\(type(of: $0.action))' \($0.completionStatus)" }.joined(separator: ", ")
    let error = CoherenceError(
      .dependencyFailed,
      "The action did not run, because it depends on others that did not succeed: \(names). Submit it again when they "
        + "have, or let it run after failed dependencies.", underlying: failed.lazy.compactMap(\.error).first)
    // Not at once: of a long row of actions, each would fail within the failure of the one before.
    Self.failures.async { handle.fail(error) }
  }

  private static let failures = DispatchQueue(label: "connect.queue.dependencies", qos: .utility)

  /// The time before the next attempt has passed.
  func passDelay(_ handle: AnyActionHandle) { takePlace(handle) }

  private func takePlace(_ handle: AnyActionHandle) {
    guard let limit = handle.terms?.options.limit else {
      if handle.isPending { handle.queue.enqueue(handle) }
      return
    }
    let hasPlace = desk.withLock { desk in
      // Ended before this: it has given back its place, and must not take any place again.
      guard handle.isPending else { return false }
      if desk.groups.takePlace(of: limit, for: handle) { return true }
      handle.queue.hold(handle, at: .limit)
      return false
    }
    if hasPlace { handle.queue.enqueue(handle) }
  }

  /// Whether a stop waits for the action, which waits for its queue to be resumed.
  func isStuck(_ handle: AnyActionHandle) -> Bool { handle.queue.isSuspended && desk.withLock { !$0.isOpen } }

  func leaveGroup(_ handle: AnyActionHandle) {
    guard let limit = handle.terms?.options.limit else { return }
    let next = desk.withLock { $0.groups.leave(limit, handle) }
    for handle in next { handle.queue.enqueue(handle) }
  }

  /// The actions that hold the places for which the action waits.
  func holders(ofPlacesFor handle: AnyActionHandle) -> [AnyActionHandle] {
    handle.terms?.options.limit.map { limit in desk.withLock { $0.groups.holders(of: limit) } } ?? []
  }

  // MARK: Endings

  /// The action ends before its turn came.
  func withdraw(_ handle: AnyActionHandle) {
    handle.queue.withdraw(handle)
    if handle.entity == nil {
      desk.withLock { if !$0.unstarted.isEmpty { $0.unstarted.didWithdraw() } }
    }
  }

  /// An action with options finished.
  func didFinish(_ handle: AnyActionHandle) {
    let predecessors = handle.terms?.takeObstacles().predecessors ?? []
    if let identity = handle.terms?.identity {
      desk.withLock { $0.forget(handle, identity, after: predecessors) }
    }
    leaveGroup(handle)
  }

  /// Calls a block after a time, by the clock, unless the task is canceled before.
  func after(_ time: Duration, _ block: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    // Without the values of the action that happens to be running: its timer is no part of it.
    Task.detached { [clock] in
      guard (try? await clock.sleep(for: time)) != nil else { return }
      block()
    }
  }
}

// MARK: - What the Connect decides

extension ActionDispatcher {
  var isSuspended: Bool {
    get { desk.withLock { $0.isSuspended } }
    set {
      desk.withLock { desk in
        desk.isSuspended = newValue
        genericActions.isSuspended = newValue
        for (name, queue) in desk.queues { queue.isSuspended = desk.isSuspended(hierarchy: name) }
      }
    }
  }

  func isSuspended(_ entity: EntityDescription) -> Bool {
    desk.withLock { $0.isSuspended(hierarchy: entity.root.name) }
  }

  func setSuspended(_ isSuspended: Bool, for entity: EntityDescription) {
    let name = entity.root.name
    desk.withLock { desk in
      if isSuspended { desk.suspendedHierarchies.insert(name) } else { desk.suspendedHierarchies.remove(name) }
      desk.queues[name]?.isSuspended = desk.isSuspended(hierarchy: name)
    }
  }

  var managed: ManagedEntities { desk.withLock { $0.managed } }
  var served: ManagedEntities { desk.withLock { $0.served } }

  /// Accepts actions for these entities, in place of those before.
  func manage(_ managed: ManagedEntities, model: ManagedObjectModel) {
    desk.withLock { $0.manage(managed, model: model) }
  }

  /// Lets generic actions run, the waiting ones first.
  func open() {
    let rest = desk.withLock { desk in
      desk.isOpen = true
      var rest: [AnyActionHandle] = []
      while let handle = desk.unstarted.popFirst() {
        if handle.isPending, !admit(handle, &desk) { rest.append(handle) }
      }
      return rest
    }
    for handle in rest { awaitObstacles(of: handle) }
  }

  /// Accepts nothing any more that would run before the next start.
  ///
  /// - Returns: Every accepted and unfinished action.
  func close() -> [AnyActionHandle] {
    // At one moment: actions submitted after it wait for the next start, and no action may wait for them before.
    desk.withLock { desk in
      desk.close()
      return (Array(desk.queues.values) + [genericActions]).flatMap(\.unfinished)
    }
  }

  /// The unfinished actions on those of some entities no longer managed.
  func unfinished(of entities: ManagedEntities) -> [AnyActionHandle] {
    let (queues, managed) = desk.withLock { (Array($0.queues.values), $0.managed) }
    return queues.flatMap(\.unfinished).filter { handle in
      handle.entity.map { entities.contains($0) && !managed.contains($0) } == true
    }
  }

  /// Ends everything: the Connect is gone.
  func end() {
    close().cancelAll()
    events.end()
  }
}
