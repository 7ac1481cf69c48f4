import CoherenceCore
import Foundation
import Synchronization

/// One store with the contexts of a sequence on it, and the names of the sequence's objects there.
///
/// Not thread-safe: one thread uses the value.
final class DifferentialWorld {
  let storeName: String
  let model: ManagedObjectModel
  let coordinator: PersistentStoreCoordinator
  private let location: any StoreLocation
  private(set) var contexts: [ManagedObjectContext] = []
  /// The objects that the sequence used, by context and name. The world retains them, so that the content of a context
  /// does not depend on the time at which a store releases objects.
  var held: [[String: ManagedObject]] = []
  /// The current identifiers of objects: permanent once assigned.
  private(set) var ids: [String: ManagedObjectID] = [:]
  private var names: [ManagedObjectID: String] = [:]
  private var lastSave: [LastSave] = []
  private var observers: [any NSObjectProtocol] = []

  /// Opens a store at a fresh place.
  init(harness: any StoreHarness, model: ManagedObjectModel) throws {
    storeName = harness.name
    self.model = model
    location = try harness.makeLocation()
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try location.willOpen(
      coordinator.environment(
        type: location.type, configurationName: nil, at: location.url, options: location.options))
    try coordinator.addPersistentStore(type: location.type, at: location.url, options: location.options)
  }

  /// Closes the store and removes it.
  func destroy() throws {
    endSequence()
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    try location.destroy()
  }

  // MARK: Sequences

  func beginSequence(_ plans: [DifferentialSequence.Context]) {
    for plan in plans {
      let context = ManagedObjectContext(concurrencyType: .privateQueue)
      if let parent = plan.parent {
        context.parent = contexts[parent]
        context.savesPastParent = plan.savesPastParent
      } else {
        context.persistentStoreCoordinator = coordinator
      }
      contexts.append(context)
      held.append([:])
      observeSaves(of: context)
    }
    for (index, plan) in plans.enumerated() { for other in plan.follows { contexts[index].follow(contexts[other]) } }
  }

  func endSequence() {
    for observer in observers { NotificationCenter.default.removeObserver(observer) }
    observers = []
    // Objects go before their contexts, children before their parents.
    for index in contexts.indices.reversed() {
      held[index] = [:]
      contexts[index].performAndWait { contexts[index].reset() }
    }
    while !contexts.isEmpty { contexts.removeLast() }
    held = []
    ids = [:]
    names = [:]
    lastSave = []
  }

  /// Removes all records, so that the next sequence finds the store empty.
  ///
  /// - Throws: ``ConformanceFailure`` when records are left.
  func removeAllRecords() throws {
    let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    try context.performAndWait {
      for entity in model.entities where entity.superentity == nil {
        try context.execute(BatchDeleteRequest(entityName: entity.name))
        let left = try context.count(for: FetchRequest<ManagedObject>(entityName: entity.name))
        guard left == 0 else { throw ConformanceFailure("\(storeName): a batch delete of everything left records") }
      }
    }
  }

  // MARK: Names

  func name(_ id: ManagedObjectID) -> String { names[id] ?? "?\(id.entity.name)" }

  /// Notes the name of an object. An inserted object can become the record of another one, by a merge policy; the record
  /// then has the name that was given first.
  func note(_ object: ManagedObject, name: String) {
    let id = object.objectID
    if names[id].map({ Self.isEarlier(name, than: $0) }) ?? true { names[id] = name }
    if !id.isTemporaryID || ids[name] == nil { ids[name] = id }
  }

  /// Whether a name was given before another one: names have ascending numbers.
  private static func isEarlier(_ name: String, than other: String) -> Bool {
    (name.count, name) < (other.count, other)
  }

  /// Lets every context merge the other contexts' saves, and records the new permanent identifiers.
  func mergeSavesAndNoteIDs() {
    for (index, context) in contexts.enumerated() {
      context.performAndWait { for (name, object) in held[index] { note(object, name: name) } }
    }
    for (name, id) in ids where id.isTemporaryID { findPermanentID(of: name, id) }
  }

  /// Finds the identifier of an object without a live reference: its context was reset before the parent saved it.
  private func findPermanentID(of name: String, _ id: ManagedObjectID) {
    for context in contexts { context.performAndWait { note(context.object(with: id), name: name) } }
  }

  // MARK: Saves

  /// The changes of the context's last save.
  func lastChanges(of context: Int) -> ChangeSet? { lastSave[context].value.withLock { $0 } }

  private func observeSaves(of context: ManagedObjectContext) {
    let box = LastSave()
    lastSave.append(box)
    observers.append(
      NotificationCenter.default.addObserver(
        forName: .managedObjectContextDidSave, object: context, queue: nil
      ) { notification in
        let changes = notification.userInfo?[ManagedObjectContext.NotificationKey.changes] as? ChangeSet
        box.value.withLock { $0 = changes }
      })
  }
}

/// The changes in the notification of a context's last save.
private final class LastSave: Sendable {
  let value = Mutex<ChangeSet?>(nil)
}
