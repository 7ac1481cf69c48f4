public import Foundation
import Synchronization

/// The changes in a context since its last notification, by identifier.
public struct ObjectChanges: Sendable, Hashable {
  /// The objects inserted in this context, and objects of records that other writers inserted, or brought into a live
  /// result of the context.
  public var inserted: Set<ManagedObjectID> = []
  /// The objects changed in this context.
  public var updated: Set<ManagedObjectID> = []
  /// The objects refreshed with the changes of other writers.
  public var refreshed: Set<ManagedObjectID> = []
  /// The objects deleted, in this context or by other writers.
  public var deleted: Set<ManagedObjectID> = []
  /// Whether the changes are too many for a list: every object of the context may have changed.
  public var isEverything = false
}

extension Notification.Name {
  /// Posted after a context saved, or changed records by a batch request or a claim, on the thread of that call. The
  /// object is the context; `userInfo` has the ``ChangeSet``, see ``ManagedObjectContext/NotificationKey``.
  public static let managedObjectContextDidSave = Notification.Name("Coherence.ManagedObjectContext.DidSave")
  /// Posted in the context after its objects changed, by its own work or by saves of other writers: at the end of the
  /// outermost `perform`, at `processPendingChanges`, and before a save. The object is the context; `userInfo` has the
  /// ``ChangedObjects``.
  ///
  /// The derived values that a save computes in the records that it writes are not reported; live results and
  /// ``ObservedObject`` report them.
  public static let managedObjectContextObjectsDidChange = Notification.Name(
    "Coherence.ManagedObjectContext.ObjectsDidChange")
}

extension ManagedObjectContext {
  /// The keys of `userInfo` in the notifications of contexts.
  public enum NotificationKey {
    /// The ``ChangeSet`` of a did-save notification.
    public static let changes = "changes"
    /// The ``ChangedObjects`` of an objects-did-change notification.
    public static let objects = "objects"
  }

  /// A new stream of the changes of each save, batch request and claim of this context from now on. May be read on any
  /// thread; each stream is for one reader. The stream ends with the context, and buffers changes without a bound until
  /// they are read.
  public final var didSaveChanges: AsyncStream<ChangeSet> { events.saves.makeStream() }

  /// A new stream of the changes of the context's objects from now on, by identifier: one element for each
  /// notification. May be read on any thread; each stream is for one reader. The stream ends with the context, and
  /// buffers changes without a bound until they are read.
  public final var objectsDidChange: AsyncStream<ObjectChanges> { events.changes.makeStream() }

  /// Applies delete rules and notifies observers of the changes made so far.
  ///
  /// A save does both. A fetch applies the delete rules, and the end of the outermost `perform` notifies the observers.
  /// So few programs need the call. The cost grows with the number of changes since the last notification. To be called
  /// inside the context.
  ///
  /// - Throws: Errors of the store, when members of relationships have to be loaded.
  public final func processPendingChanges() throws {
    try operating {
      try applyPendingDeleteRules()
      postChanges()
      turn.requestChanges()
    }
  }

  /// Notifies observers of the changes since the last notification.
  final func postChanges() {
    let records = storage.takeUnpostedChanges()
    guard let objects = events.takeChanges(records, in: storage) else { return }
    storage.post(consume objects) { events.post($0, from: self) }
  }
}

/// Collects changes of objects and notifies observers of them. Used inside the context's confinement.
final class ContextEvents {
  let saves = Broadcast<ChangeSet>()
  let changes = Broadcast<ObjectChanges>()
  /// The changes since the last notification that are not in ``ChangeNotifications/unposted``: by other writers,
  /// refreshes and rollbacks.
  private var collectedChanges = ChangedObjects.Sets()
  /// Whether every object of the context may have changed since the last notification.
  private var isEverything = false

  func noteInserted(_ object: ManagedObject) { collectedChanges.inserted.insert(object) }
  func noteRefreshed(_ object: ManagedObject) { collectedChanges.refreshed.insert(object) }
  func noteDeleted(_ object: ManagedObject) { collectedChanges.deleted.insert(object) }
  /// Records that an inserted object has left the context, because its record became the record of another object.
  ///
  /// - Parameter former: The identifier by which observers know the object.
  func noteJoined(_ object: ManagedObject, former: ManagedObjectID) {
    collectedChanges.deleted.insert(object)
    collectedChanges.formerIDs[ObjectIdentifier(object)] = former
  }

  func noteEverything() { isEverything = true }

  /// Records that the context has dropped all objects, also those noted before.
  func noteReset() { (collectedChanges, isEverything) = (ChangedObjects.Sets(), true) }

  /// Removes and returns the collected changes, together with the context's own changes in `records`;
  /// `nil` without a change.
  func takeChanges(_ records: [PendingRecord], in storage: ContextStorage) -> ChangedObjects? {
    guard !records.isEmpty || !collectedChanges.isEmpty || isEverything else { return nil }
    defer { (collectedChanges, isEverything) = (ChangedObjects.Sets(), false) }
    return ChangedObjects(records, collectedChanges, isEverything: isEverything, in: storage)
  }

  func post(_ objects: ChangedObjects, from context: ManagedObjectContext) {
    changes.send { objects.changes }
    NotificationCenter.default.post(
      name: .managedObjectContextObjectsDidChange, object: context,
      userInfo: [ManagedObjectContext.NotificationKey.objects: objects])
  }

  func finish() {
    saves.finish()
    changes.finish()
  }
}
