import CoherenceCore
import CoherenceStrategies

/// A persistent container with managed entities, on which actions are executed.
///
/// An entity is *managed* while a started store holds it, it is not abstract, and it names the attributes that identify
/// its records: by `userInfo["uniquenessAttributes"]`, a list of attribute names separated by commas, of its own or of
/// the nearest ancestor with such a list, or else by the shortest of its uniqueness constraints. The stores keep the
/// listed attributes unique too; see `EntityDescription.keySetting`.
///
/// May be used from any thread. ``ConnectState`` lists the effect of each call in each state.
public protocol Connect: PersistentContainer {
  /// Begins to manage the entities of the attached stores. Stores that an earlier `stop` closed are attached again;
  /// without any, the default store is attached. Does nothing when started. Blocks while stores are opened.
  ///
  /// - Throws: What attaching a store throws. The Connect is not started then, and no store is attached by the call.
  ///   ``ErrorCode/illegalState`` when an action calls this while the Connect waits for the action's end to stop.
  func start() throws

  /// Starts without blocking a thread; see `start()` without `async`.
  func start() async throws

  /// Starts without blocking the caller, and calls the block with `nil` or the error, on a thread where the block may
  /// block. Calls of this kind are carried out in the order in which they are made.
  func start(block: @escaping @Sendable ((any Error)?) -> Void)

  /// Ends the management of entities and detaches all stores, which `start` attaches again. Does nothing when stopped.
  ///
  /// The stores are detached when the actions have finished, entity actions and generic ones, and not before: no action
  /// is ever left on closed stores. Completion blocks may still be on their way.
  ///
  /// Called by an action of this Connect, `stop` does not wait, for it would wait for its caller: the stop continues by
  /// itself, and its errors are reported to the error handler.
  ///
  /// Called on the main actor, this form blocks the main actor. An action that waits for a main-queue context could not
  /// end then: the call throws, and the stop goes on by itself. An action that waits for the main actor otherwise, by
  /// `MainActor.run` for instance, cannot be told from one that takes long. The asynchronous form blocks nothing, and is
  /// the one to call on the main actor.
  ///
  /// - Parameters:
  ///   - mode: How unfinished actions are treated.
  ///   - limit: How long to wait; `nil` for as long as it takes.
  /// - Throws: ``ErrorCode/timedOut`` when the limit is over, and ``ErrorCode/illegalState`` on the main actor when an
  ///   action waits for the main actor; the stop goes on then, and another call joins it. Otherwise the first error of
  ///   closing a store; the others are closed all the same.
  func stop(_ mode: StopMode, within limit: Duration?) throws

  /// Stops without blocking a thread; see `stop(_:within:)` without `async`. When the task is canceled before the end,
  /// actions are drained no longer, but canceled.
  func stop(_ mode: StopMode, within limit: Duration?) async throws

  /// Stops without blocking the caller, and calls the block with `nil` or the error, on a thread where the block may
  /// block.
  func stop(_ mode: StopMode, block: @escaping @Sendable ((any Error)?) -> Void)

  /// Closes several stores without blocking a thread; see ``PersistentContainer/detach(persistentStores:)``.
  func detach(persistentStores: [any PersistentStore]) async throws

  /// Where the Connect is between stopped and started.
  var state: ConnectState { get }

  /// Whether waiting actions continue to wait. Actions are accepted all the same, and running actions continue.
  var suspended: Bool { get set }

  /// The events from now on, in order, until the Connect is released. Every access makes a sequence of its own, which
  /// keeps all events not yet taken out of it.
  var events: AsyncStream<ConnectEvent> { get }

  /// Whether entity actions are executed for the entity, and its records can be merged.
  func isManaged(_ entity: EntityDescription) -> Bool

  /// The attributes that identify the entity's records, for managed and other entities. Empty when the model names
  /// none.
  func uniquenessAttributes(for entity: EntityDescription) -> [String]
}

// MARK: - Without arguments

extension Connect {
  /// Cancels actions and stops; see `stop(_:within:)`.
  public func stop() throws { try stop(.cancel, within: nil) }

  /// Stops, and waits as long as it takes.
  public func stop(_ mode: StopMode) throws { try stop(mode, within: nil) }

  /// Cancels actions and stops, without blocking a thread.
  public func stop() async throws { try await stop(.cancel, within: nil) }

  /// Stops without blocking a thread, and waits as long as it takes.
  public func stop(_ mode: StopMode) async throws { try await stop(mode, within: nil) }

  /// Cancels actions and stops, without blocking the caller.
  public func stop(block: @escaping @Sendable ((any Error)?) -> Void) { stop(.cancel, block: block) }

  /// Closes a store without blocking a thread.
  public func detach(persistentStore: any PersistentStore) async throws {
    try await detach(persistentStores: [persistentStore])
  }
}
