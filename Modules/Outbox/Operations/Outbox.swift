public import CoherenceCore
public import CoherenceStrategies
import Synchronization

/// Keeps the changes of records until a server has them.
///
/// An outbox adds an entry for each changed record to the save that changes the record: in the same transaction, in the
/// same store. Either both are saved or neither is, whenever the process ends.
///
/// ```swift
/// let model = try ManagedObjectModel(ToDo.self, name: "ToDos").addingOutbox()
/// let connect = GenericConnect<ContextStrategy.Mixed>(name: "ToDos", managedObjectModel: model)
/// let outbox = try Outbox(connect, forwarding: ToDo.self)
/// ```
///
/// Make the outbox before the first save of the application. Saves of all contexts of the container count, whatever the
/// strategy, but those of an `ActionContext` do not: the data of a server does not return to the server. Saves of other
/// programs with the store count in these programs.
///
/// May be used from any thread. The functions that read or change entries do so in a context of their own.
public final class Outbox: Sendable {
  /// The container whose changes are kept.
  public let container: any PersistentContainer
  /// The coordinator of the container.
  public let coordinator: PersistentStoreCoordinator
  /// The settings of the outbox.
  public let options: OutboxOptions
  /// The names of the forwarded entities, subentities included.
  public let entityNames: Set<String>

  private let recorder: OutboxRecorder
  private let attachments = Mutex<[ObjectIdentifier: any AnyObject & Sendable]>([:])

  /// The setting in `EntityDescription.userInfo` that has an outbox forward the entity and its subentities: `"true"`.
  public static let entitySetting = "logTransactions"

  /// Makes an outbox and begins to keep changes.
  ///
  /// A second outbox for the same coordinator and entities continues the first.
  ///
  /// - Parameters:
  ///   - container: A container or a Connect whose model is the result of `addingOutbox()`. Stores may be attached
  ///     later.
  ///   - entities: The names of entities to forward with their subentities, in addition to the entities with the
  ///     setting ``entitySetting``.
  /// - Throws: `ErrorCode.invalidModel` for a model without the entities of an outbox, `ErrorCode.unknownEntity`, and
  ///   `ErrorCode.illegalState` when the coordinator has an outbox for other entities that was not closed.
  public init(
    _ container: any PersistentContainer, entities: [String] = [], options: OutboxOptions = OutboxOptions()
  ) throws {
    let coordinator = container.persistentStoreCoordinator
    let model = coordinator.managedObjectModel
    try OutboxModel.require(in: model)
    let named = try entities.map { name throws(CoherenceError) in try model.entity(named: name) }
    let set = model.entities.filter { $0.userInfo[Self.entitySetting] == "true" }
    let names = Set((named + set).flatMap(\.hierarchy).map(\.name)).subtracting(OutboxModel.entities.map(\.name))
    self.container = container
    self.coordinator = coordinator
    self.options = options
    entityNames = names
    recorder = try OutboxRecorders.shared.recorder(for: coordinator, names) {
      try OutboxRecorder(forwarding: names, in: model, sequence: .shared, now: options.now)
    }
    coordinator.addSaveParticipant(recorder)
  }

  /// Makes an outbox for the entities of classes and their subentities; see ``init(_:entities:options:)``.
  public convenience init(
    _ container: any PersistentContainer, forwarding types: any DeclaredEntity.Type...,
    options: OutboxOptions = OutboxOptions()
  ) throws {
    try self.init(container, entities: types.map { $0.entityName }, options: options)
  }

  /// Whether changes of the entity's records are kept.
  public func forwards(_ entity: EntityDescription) -> Bool { entityNames.contains(entity.name) }

  /// Ends the keeping of changes: saves that begin afterwards add no entries. The entries in the stores stay.
  ///
  /// Without a call, changes are kept as long as the coordinator lives, so that no edit is lost by the release of an
  /// outbox.
  public func close() {
    coordinator.removeSaveParticipant(recorder)
    OutboxRecorders.shared.remove(recorder, of: coordinator)
  }

  /// The object of a type that lives as long as the outbox; made at the first call for the type.
  func attached<T: AnyObject & Sendable>(_ type: T.Type, make: () -> T) -> T {
    attachments.withLock { attachments in
      if let known = attachments[ObjectIdentifier(type)] as? T { return known }
      let made = make()
      attachments[ObjectIdentifier(type)] = made
      return made
    }
  }

  /// Makes a context on the stores, whatever the strategy of the container. Its saves are not recorded.
  func newContext() -> ManagedObjectContext {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    context.name = "outbox"
    context.recordsChanges = false
    return context
  }
}
