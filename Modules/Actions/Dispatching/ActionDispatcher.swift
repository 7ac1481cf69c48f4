import CoherenceCore
import Dispatch
import Logging
import Synchronization

/// Accepts submissions and leads each action through the conditions that it waits for into its queue.
///
/// An action waits, in this order, for the start of the Connect (generic actions), for its prerequisites, and for its turn
/// in the queue, at which it takes a slot of its concurrency limit.
///
/// May be used from any thread. The lock of the registry is never held while code of the program runs, except for the
/// comparison and the hash of an ``ActionKey``'s value.
final class ActionDispatcher: Sendable {
  let events: EventPublisher
  /// Calls the blocks of starts and stops, and `cancel` of expired actions. Completion blocks have another queue, so that
  /// blocked ones do not delay these calls.
  let callbacks = CallbackQueue(name: "connect.queue.callback", width: 64)
  private let clock: any Clock<Duration>
  private let genericActions: ActionQueue<AnyActionHandle>
  private let registry: Mutex<ActionRegistry>

  /// - Parameters:
  ///   - events: Publishes the events of the actions.
  ///   - maximumConcurrentGenericActions: The number of generic actions that run at once.
  ///   - clock: Measures timeouts and delays.
  init(events: EventPublisher, maximumConcurrentGenericActions: Int, clock: any Clock<Duration>) {
    self.events = events
    self.clock = clock
    let groups = ConcurrencyGroups<AnyActionHandle>()
    genericActions = ActionQueue(
      name: "connect.queue.generic", width: max(1, maximumConcurrentGenericActions), isSuspended: false, groups: groups)
    registry = Mutex(ActionRegistry(concurrencyGroups: groups))
  }

  // MARK: Submission

  /// Submits an action, or joins it to an equal one.
  ///
  /// - Throws: ``ErrorCode/unmanagedEntity``.
  func submit<Output>(_ submission: Submission<Output>) throws -> ActionHandle<Output> {
    let options = submission.options ?? submission.action.options
    let resolvedOptions = options.isPlain ? nil : ResolvedOptions(options, of: submission.action)
    let acceptance = try registry.withLock { registry throws(CoherenceError) in
      try accept(submission, resolvedOptions, &registry)
    }
    let handle = acceptance.handle
    if acceptance.awaitsPrerequisites { awaitPrerequisites(of: handle) }
    // Without the lock: `cancel` of the replaced action is code of the program.
    if case .replaces(let equal, let cancellation) = acceptance.outcome { equal.complete(cancellation) }
    return handle
  }

  /// The result of the part of a submission under the lock.
  private struct Acceptance<Output: Sendable> {
    let handle: ActionHandle<Output>
    /// Whether the caller has to wait for the prerequisites after it released the lock.
    let awaitsPrerequisites: Bool
    let outcome: EqualActionOutcome<Output>
  }

  /// Joins a submission to an equal action, or makes its handle and puts it into its queue. Called with the lock of the
  /// registry.
  private func accept<Output>(
    _ submission: Submission<Output>, _ options: ResolvedOptions?, _ registry: inout ActionRegistry
  ) throws(CoherenceError) -> Acceptance<Output> {
    let queue = if let entity = submission.entity { try registry.queue(for: entity) } else { genericActions }
    let outcome = registry.resolveEqualAction(of: submission, options)
    if case .joined(let equal) = outcome {
      if let options = options?.options, options.raisesPriority { registry.raise(equal, to: options.priority) }
      return Acceptance(handle: equal, awaitsPrerequisites: false, outcome: outcome)
    }
    let handle = ActionHandle(
      submission.action, submission.body,
      AnyActionHandle.Configuration(
        queue: queue, scheduler: self, entity: submission.entity, resolvedOptions: options,
        completion: submission.completion))
    if let identity = options?.identity { registry.actionsByIdentity[identity] = handle }
    return Acceptance(handle: handle, awaitsPrerequisites: !holdOrEnqueue(handle, &registry), outcome: outcome)
  }

  /// Puts an action into its queue while the registry is locked, so that `close` finds every accepted action.
  ///
  /// - Returns: Whether the submission is complete. Otherwise the caller waits for the prerequisites next, without the
  ///   lock.
  private func holdOrEnqueue(_ handle: AnyActionHandle, _ registry: inout ActionRegistry) -> Bool {
    if handle.entity == nil, !registry.isOpen {
      handle.queue.hold(handle, for: .start)
      registry.waitingForStart.append(handle)
      return true
    }
    guard handle.resolvedOptions != nil else {
      handle.queue.enqueue(handle)
      return true
    }
    handle.queue.hold(handle, for: .prerequisites)
    return false
  }

  // MARK: Conditions

  /// Lets an action continue after the end of its prerequisites: at once, if it has none.
  private func awaitPrerequisites(of handle: AnyActionHandle) {
    let prerequisites = handle.resolvedOptions?.prerequisites.distinct ?? []
    guard !prerequisites.isEmpty else { return enqueue(handle) }
    let countdown = Countdown(prerequisites.count) { [weak self, weak handle] in
      if let self, let handle { self.prerequisitesDidFinish(of: handle) }
    }
    for prerequisite in prerequisites { prerequisite.whenFinished(for: handle) { countdown.step() } }
    // A cancellation in between has removed the blocks added before it.
    if handle.state == .finished { for prerequisite in prerequisites { prerequisite.forget(dependent: handle) } }
  }

  /// Enqueues an action, or fails it because of failed dependencies.
  private func prerequisitesDidFinish(of handle: AnyActionHandle) {
    guard let options = handle.resolvedOptions else { return }
    let failed = options.releasePrerequisites().dependencies.filter { $0.completionStatus != .successful }
    if failed.isEmpty || options.options.runsAfterFailedDependencies { return enqueue(handle) }
    let names = failed.map { "'\(type(of: $0.action))' \($0.completionStatus)" }.joined(separator: ", ")
    let error = CoherenceError(
      .dependencyFailed,
      "The action did not run, because it depends on others that did not succeed: \(names). Submit it again when they "
        + "have, or let it run after failed dependencies.", underlying: failed.lazy.compactMap(\.error).first)
    // Not on the present stack: in a long chain of dependencies each failure would recurse into the next.
    Self.failureQueue.async { handle.fail(error) }
  }

  private static let failureQueue = DispatchQueue(label: "connect.queue.dependencies", qos: .utility)

  /// Begins the wait of an action for its turn. Does nothing for a finished action.
  ///
  /// - Parameter asksForFirstTime: Whether this is the first attempt of the action.
  private func enqueue(_ handle: AnyActionHandle, asksForFirstTime: Bool = true) {
    if handle.isPending { handle.queue.enqueue(handle, asksForFirstTime: asksForFirstTime) }
  }
}

// MARK: - The scheduler of handles

extension ActionDispatcher: ActionScheduler {
  func didStart(_ handle: AnyActionHandle) { events.didStart(handle) }

  func willRetry(_ handle: AnyActionHandle, attempt: Int, delay: Duration) {
    events.willRetry(handle, attempt: attempt, delay: delay)
  }

  func didLeaveUnsavedChanges(_ handle: AnyActionHandle) { events.didLeaveUnsavedChanges(handle) }

  func didFinish(_ handle: AnyActionHandle, completions: [ActionCompletion], laneContinues: Bool) {
    if let options = handle.resolvedOptions {
      let prerequisites = options.releasePrerequisites()
      // Only an action that ends before its prerequisites still has them.
      for prerequisite in prerequisites.all { prerequisite.forget(dependent: handle) }
      if let identity = options.identity {
        registry.withLock { $0.remove(handle, identity, predecessors: prerequisites.predecessors) }
      }
      handle.queue.releaseSlot(of: handle, laneContinues: laneContinues)
    }
    events.didFinish(handle, completions: completions)
  }

  func withdraw(_ handle: AnyActionHandle) {
    handle.queue.withdraw(handle)
    if handle.entity == nil {
      registry.withLock { if !$0.waitingForStart.isEmpty { $0.waitingForStart.didWithdraw() } }
    }
  }

  func isStuck(_ handle: AnyActionHandle) -> Bool { handle.queue.isSuspended && registry.withLock { !$0.isOpen } }

  func resume(_ handle: AnyActionHandle) { enqueue(handle, asksForFirstTime: false) }

  func after(_ time: Duration, _ block: @escaping @Sendable () -> Void) -> Task<Void, Never> {
    // Detached: the timer must not inherit the task-local values of the running action.
    Task.detached { [clock] in
      if clock is ContinuousClock {
        // Most timers end early, with their actions, and a cancelled sleep would keep its memory.
        await TimedWait.wait(for: time)
        guard !Task.isCancelled else { return }
      } else {
        guard (try? await clock.sleep(for: time.limitedForSleep)) != nil else { return }
      }
      block()
    }
  }
}

// MARK: - The settings of the Connect

extension ActionDispatcher {
  /// Whether waiting actions of every queue continue to wait.
  var isSuspended: Bool {
    get { registry.withLock { $0.isSuspended } }
    set {
      registry.withLock { registry in
        registry.isSuspended = newValue
        applySuspension(&registry)
      }
    }
  }

  /// Whether waiting actions of the entity's hierarchy continue to wait.
  func isSuspended(_ entity: EntityDescription) -> Bool {
    registry.withLock { $0.isSuspended(hierarchy: entity.root.name) }
  }

  func setSuspended(_ isSuspended: Bool, for entity: EntityDescription) {
    let name = entity.root.name
    registry.withLock { registry in
      if isSuspended {
        registry.suspendedHierarchies.insert(name)
      } else {
        registry.suspendedHierarchies.remove(name)
      }
      applySuspension(&registry)
    }
  }

  /// Suspends and resumes the queues as the registry says. Called with the lock of the registry.
  private func applySuspension(_ registry: inout ActionRegistry) {
    genericActions.isSuspended = registry.isSuspended
    for (name, queue) in registry.queues { queue.isSuspended = registry.isSuspended(hierarchy: name) }
    // After every queue: the slots go to the first actions of all resumed queues.
    registry.concurrencyGroups.fillAllSlots()
  }

  /// The entities whose actions are accepted.
  var managed: ManagedEntities { registry.withLock { $0.managed } }
  /// The entities that accepted actions may merge.
  var mergeable: ManagedEntities { registry.withLock { $0.mergeable } }

  /// Accepts the actions of some entities, in place of the entities before.
  func manage(_ managed: ManagedEntities, model: ManagedObjectModel) {
    registry.withLock { $0.manage(managed, model: model) }
  }

  /// Lets generic actions run, the waiting ones first.
  func open() {
    let withPrerequisites = registry.withLock { registry in
      registry.isOpen = true
      var withPrerequisites: [AnyActionHandle] = []
      while let handle = registry.waitingForStart.popFirst() {
        if handle.isPending, !holdOrEnqueue(handle, &registry) { withPrerequisites.append(handle) }
      }
      return withPrerequisites
    }
    for handle in withPrerequisites { awaitPrerequisites(of: handle) }
  }

  /// Refuses entity actions, and lets generic actions submitted from now on wait for the next start.
  ///
  /// - Returns: Every accepted and unfinished action.
  func close() -> [AnyActionHandle] {
    // In one step under the lock: a stop waits for the returned actions, and must not wait for an action that waits for
    // the next start.
    registry.withLock { registry in
      registry.close()
      return (Array(registry.queues.values) + [genericActions]).flatMap(\.unfinished)
    }
  }

  /// The unfinished actions on entities that belong to the given ones and are not managed any more.
  func unfinished(of entities: ManagedEntities) -> [AnyActionHandle] {
    let (queues, managed) = registry.withLock { (Array($0.queues.values), $0.managed) }
    return queues.flatMap(\.unfinished).filter { handle in
      handle.entity.map { entities.contains($0) && !managed.contains($0) } == true
    }
  }

  /// Cancels all actions and finishes the events. The Connect is released.
  func shutDown() {
    close().cancelAll()
    events.finish()
  }
}
