import CoherenceCore
import CoherenceStrategies

/// A persistent container with managed entities, on which actions are executed.
///
/// An entity is *managed* while a started store holds it, it is not abstract, and it says what tells its records apart:
/// by `userInfo["uniquenessAttributes"]`, a list of attribute names separated by commas, of its own or of the nearest
/// ancestor that has one, or else by the shortest of its uniqueness constraints.
public protocol Connect: PersistentContainer {
  /// Begins to manage the entities of the attached stores. Stores that an earlier `stop` closed are attached again; when
  /// there is no store at all, the default one is attached. Does nothing when started.
  ///
  /// - Throws: What attaching a store throws. The Connect is not started then, and no store is attached by the call.
  func start() throws

  /// Starts without blocking the caller, and calls the block on a global queue with `nil` or the error.
  func start(block: @escaping @Sendable ((any Error)?) -> Void)

  /// Ends the management of entities and detaches all stores, which `start` attaches again. Does nothing when stopped.
  ///
  /// Entity actions that wait are canceled; those that run are asked to end, and waited for, unless the call comes from
  /// an action. Generic actions go on.
  ///
  /// - Throws: The first error of closing a store; the others are closed all the same.
  func stop() throws

  /// Stops without blocking the caller, and calls the block on a global queue with `nil` or the error.
  func stop(block: @escaping @Sendable ((any Error)?) -> Void)

  /// Whether actions that wait go on waiting. Actions are accepted all the same, and running ones are not affected.
  var suspended: Bool { get set }

  /// Whether entity actions are executed for the entity, and its records can be merged.
  func isManaged(_ entity: EntityDescription) -> Bool

  /// The attributes that tell the entity's records apart, whether it is managed at the moment or not. Empty when nothing
  /// says so.
  func uniquenessAttributes(for entity: EntityDescription) -> [String]
}
