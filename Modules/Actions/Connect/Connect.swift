public import CoherenceCore
public import CoherenceStrategies

/// A persistent container that manages entities and executes actions on them.
///
/// ``ActionManager`` has the functions that execute actions: `any Connect & ActionManager` is a Connect with any strategy.
///
/// An entity is *managed* while the Connect is started, one of its stores holds the entity, the entity is not abstract, and
/// the model names the attributes that identify the entity's records. These attributes are, in this order:
/// 1. `userInfo["uniquenessAttributes"]` of the entity or of its nearest ancestor with this setting, a list of attribute
///    names separated by commas; see `EntityDescription.keySetting`. The stores keep these attributes unique.
/// 2. the shortest of the entity's uniqueness constraints.
///
/// May be used from any thread. ``ConnectState`` lists the effect of each call in each state.
public protocol Connect: PersistentContainer {
  /// Starts the Connect: attaches the stores that an earlier `stop` detached, or the default store when no store is known,
  /// and begins to manage the entities of all attached stores. Does nothing, with a warning in the log, when started.
  ///
  /// Blocks while stores are opened. When the Connect is stopping, the call first waits for the stop.
  /// In a task, use the asynchronous form; see `stop(_:within:)`.
  ///
  /// - Throws: The errors of attaching a store; the Connect is stopped then, and the call has attached no store.
  ///   ``ErrorCode/illegalState`` when an action of this Connect calls `start` while the Connect is stopping, because the
  ///   stop waits for the action; or on the main actor, when the stop waits for an action that waits for the main actor.
  func start() throws

  /// Starts the Connect without blocking a thread. Effect and errors are those of the blocking form.
  func start() async throws

  /// Starts the Connect without blocking the caller. Asynchronous starts and stops take place in the order of their calls.
  ///
  /// - Parameter block: Called once with `nil` or the error, on a thread where the block may block.
  func start(block: @escaping @Sendable ((any Error)?) -> Void)

  /// Stops the Connect: ends the management of entities, waits for all actions, and detaches all stores. `start` attaches
  /// the stores again. Does nothing, with a warning in the log, when stopped.
  ///
  /// The stores are detached after all entity actions and generic actions have finished, so that an action never works on
  /// closed stores. Completion blocks may be called later.
  ///
  /// In an action of this Connect, `stop` returns at once, because the stop waits for the action. The same holds for a
  /// caller that an action of this Connect waits for: another action, a handler of an outbox, or a persisted action. The
  /// stop then continues in the background and reports its errors to the error handler.
  ///
  /// In any other task, `await` the asynchronous form. Asynchronous actions run in tasks, and a machine with one
  /// processor has one thread for all tasks of the process: the blocking form would wait for ever for actions that need
  /// this thread.
  ///
  /// On the main actor, this form blocks the main actor. When an action waits for a main-queue context, neither could
  /// continue: the call throws, and the stop continues in the background. Other waits for the main actor, for instance by
  /// `MainActor.run`, are not detected and block the call for ever. On the main actor, prefer the asynchronous form.
  ///
  /// - Parameters:
  ///   - mode: The treatment of unfinished actions. In a running stop, `.cancel` cancels the actions that a `.drain` waits
  ///     for.
  ///   - limit: The longest time to wait; `nil` for no limit.
  /// - Throws: ``ErrorCode/timedOut`` after the limit, and ``ErrorCode/illegalState`` on the main actor when an action
  ///   waits for the main actor. In both cases the stop continues in the background, and another call joins it.
  ///   ``ErrorCode/storeDetached`` when another caller removes one of the stores from the coordinator at the same time;
  ///   the other stores are closed nevertheless.
  func stop(_ mode: StopMode, within limit: Duration?) throws

  /// Stops the Connect without blocking a thread. Effect and errors are those of the blocking form. Cancelling the
  /// task, also before the call, cancels the actions that a draining stop waits for.
  func stop(_ mode: StopMode, within limit: Duration?) async throws

  /// Stops the Connect without blocking the caller.
  ///
  /// - Parameters:
  ///   - mode: The treatment of unfinished actions.
  ///   - block: Called once with `nil` or the error, on a thread where the block may block.
  func stop(_ mode: StopMode, block: @escaping @Sendable ((any Error)?) -> Void)

  /// Closes several stores without blocking a thread, so that the next start does not attach them again.
  ///
  /// The call first cancels the unfinished actions on entities that no other store holds, and waits for their end. While
  /// the Connect is stopping, the call cancels no action, and waits only.
  ///
  /// - Throws: ``ErrorCode/storeDetached`` when one of the stores is not attached here; ``ErrorCode/deadlock`` when one
  ///   of these actions calls this, or waits for the caller. No store is closed then.
  func detach(persistentStores: [any PersistentStore]) async throws

  /// The present state.
  var state: ConnectState { get }

  /// Whether the Connect is suspended: no waiting action begins. A suspended Connect accepts actions, and its running
  /// actions continue. `false` by default.
  var suspended: Bool { get set }

  /// A new stream of the events from now on, in order, until the Connect is released. The stream keeps every event until
  /// it is read.
  var events: AsyncStream<ConnectEvent> { get }

  /// The source of local edits that a server has not confirmed yet, which merges respect. An action that begins afterwards
  /// uses the source. The Connect retains the source; `nil` by default, so that merges ask nothing. May be used from any
  /// thread.
  var pendingEdits: (any PendingEdits)? { get set }

  /// Whether the entity is managed: its actions are accepted, and its records can be merged.
  func isManaged(_ entity: EntityDescription) -> Bool

  /// The attributes that identify the entity's records, whether the entity is managed or not. Empty when the model names
  /// none. A name without an attribute of the entity is in the list, if the entity has no other key.
  func uniquenessAttributes(for entity: EntityDescription) -> [String]
}

// MARK: - Without arguments

extension Connect {
  /// Cancels all actions and stops, without a time limit. Blocks; see `stop(_:within:)`.
  public func stop() throws { try stop(.cancel, within: nil) }

  /// Stops without a time limit. Blocks; see `stop(_:within:)`.
  public func stop(_ mode: StopMode) throws { try stop(mode, within: nil) }

  /// Cancels all actions and stops without a time limit, without blocking a thread.
  public func stop() async throws { try await stop(.cancel, within: nil) }

  /// Stops without a time limit, without blocking a thread.
  public func stop(_ mode: StopMode) async throws { try await stop(mode, within: nil) }

  /// Cancels all actions and stops, without blocking the caller; see `stop(_:block:)`.
  public func stop(block: @escaping @Sendable ((any Error)?) -> Void) { stop(.cancel, block: block) }

  /// Cancels the actions on the entities of a store, waits for their end, and closes the store, without blocking a
  /// thread; see `detach(persistentStores:)`.
  public func detach(persistentStore: any PersistentStore) async throws {
    try await detach(persistentStores: [persistentStore])
  }
}
