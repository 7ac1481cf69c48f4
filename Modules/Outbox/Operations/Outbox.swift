public import CoherenceCore
public import CoherenceStrategies
import Synchronization

/// Records the changes of records in the store, and keeps them until a server has accepted them.
///
/// An outbox adds an entry for each changed record to the save that changes the record: in the same transaction, in the
/// same store. The store has either the change and its entry or neither, even after a crash.
///
/// ```swift
/// let model = try ManagedObjectModel(ToDo.self, name: "ToDos").addingOutbox()
/// let connect = GenericConnect<ContextStrategy.Mixed>(name: "ToDos", managedObjectModel: model)
/// let outbox = try Outbox(connect, forwarding: ToDo.self)
/// ```
///
/// Make the outbox before the first save of the application: it records the saves that begin after its initializer. It
/// records the saves of all contexts of the container under every strategy, except the saves of an `ActionContext`,
/// because the data of a server must not return to the server. The saves of another program with the same store are
/// recorded only by an outbox of that program.
///
/// May be used from any thread. Each function that reads or changes entries uses a new context.
public final class Outbox: Sendable {
  /// The container whose changes the outbox records.
  public let container: any PersistentContainer
  /// The coordinator of the container.
  public let coordinator: PersistentStoreCoordinator
  /// The settings of the outbox.
  public let options: OutboxOptions
  /// The names of the forwarded entities, subentities included.
  public let entityNames: Set<String>

  private let recorder: OutboxRecorder
  /// The objects of ``attached(_:make:)``, by their types.
  private let attachments = Mutex<[ObjectIdentifier: any AnyObject & Sendable]>([:])

  /// The key in `EntityDescription.userInfo` whose value `"true"` makes an outbox forward the entity and its
  /// subentities.
  public static let entitySetting = "logTransactions"

  /// The key in `PropertyDescription.userInfo` whose value `"true"` says that the server assigns the value of the
  /// property, such as a revision, a sum or a date of change.
  ///
  /// A change of such a property is no edit: no request of an insert or an update has the property, a save that changes
  /// nothing else adds no entry, and the property is never in conflict. A merge writes the input's value in every
  /// record, also in a record with edits. ``ForwardRequest/assigned`` has the present values.
  public static let serverAssignedSetting = ServerAssigned.setting

  /// Makes an outbox, and begins to record changes.
  ///
  /// A second outbox for the same coordinator and entities shares the recorder of the first: a change gets one entry.
  ///
  /// - Parameters:
  ///   - container: A container or a Connect whose model is the result of `addingOutbox()`. Stores may be attached
  ///     later.
  ///   - entities: The names of entities to forward with their subentities, in addition to the entities with
  ///     ``entitySetting``.
  ///   - options: The settings of the outbox.
  /// - Throws: `ErrorCode.invalidModel` for a model without the entities of an outbox, `ErrorCode.unknownEntity`, and
  ///   `ErrorCode.illegalState` when the coordinator has an open outbox for other entities.
  public init(
    _ container: any PersistentContainer, entities: [String] = [], options: OutboxOptions = OutboxOptions()
  ) throws {
    let coordinator = container.persistentStoreCoordinator
    let model = coordinator.managedObjectModel
    try OutboxModel.require(in: model)
    let named = try entities.map { name throws(CoherenceError) in try model.entity(named: name) }
    let marked = model.entities.filter { $0.userInfo[Self.entitySetting] == "true" }
    let names = Set((named + marked).flatMap(\.hierarchy).map(\.name)).subtracting(OutboxModel.entities.map(\.name))
    self.container = container
    self.coordinator = coordinator
    self.options = options
    entityNames = names
    recorder = try OutboxRecorders.shared.recorder(for: coordinator, names) {
      try OutboxRecorder(forwarding: names, in: model, sequence: .shared, now: options.now)
    }
    coordinator.addSaveParticipant(recorder)
    OutboxAgreement.register(
      OutboxAgreement(forwarding: names, options.confirmations, now: options.now), with: container)
  }

  /// Makes an outbox for the entities of classes and their subentities; see ``init(_:entities:options:)``.
  public convenience init(
    _ container: any PersistentContainer, forwarding types: any DeclaredEntity.Type...,
    options: OutboxOptions = OutboxOptions()
  ) throws {
    try self.init(container, entities: types.map { $0.entityName }, options: options)
  }

  /// Whether the outbox records the changes of the entity's records.
  public func forwards(_ entity: EntityDescription) -> Bool { entityNames.contains(entity.name) }

  /// Ends the recording of changes: saves that begin after the call add no entries. The entries in the stores stay.
  ///
  /// Without this call, changes are recorded as long as the coordinator lives, so that the release of an outbox loses
  /// no edit.
  public func close() {
    coordinator.removeSaveParticipant(recorder)
    OutboxRecorders.shared.remove(recorder, of: coordinator)
  }

  /// Returns the object of a type that the outbox retains. The first call for the type makes the object.
  func attached<T: AnyObject & Sendable>(_ type: T.Type, make: () -> T) -> T {
    attachments.withLock { attachments in
      if let present = attachments[ObjectIdentifier(type)] as? T { return present }
      let made = make()
      attachments[ObjectIdentifier(type)] = made
      return made
    }
  }

  /// Makes a context directly on the stores, under every strategy of the container. Its saves are not recorded. The view
  /// follows them like those of background contexts: a reply changes records, and a decision of the user deletes some.
  ///
  /// - Parameter stores: The stores that the context reads; `nil` for all stores. A failure of another store does not
  ///   fail the context.
  func newContext(in stores: Set<StoreIdentifier>? = nil) -> ManagedObjectContext {
    let context = Self.newContext(on: coordinator)
    context.storeIdentifiers = stores
    container.viewContext.followUnlessIndependent(context)
    return context
  }

  /// Makes a context as ``newContext()`` does, without an outbox.
  static func newContext(on coordinator: PersistentStoreCoordinator) -> ManagedObjectContext {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    context.name = "outbox"
    context.recordsChanges = false
    return context
  }
}
