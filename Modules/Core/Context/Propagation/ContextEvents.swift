public import Foundation
import Synchronization

/// The changes in a context since its last notification, by identifier.
public struct ObjectChanges: Sendable, Hashable {
  public var inserted: Set<ManagedObjectID> = []
  /// Changed in this context.
  public var updated: Set<ManagedObjectID> = []
  /// Changed by others.
  public var refreshed: Set<ManagedObjectID> = []
  public var deleted: Set<ManagedObjectID> = []
  /// Whether so much changed that the objects are not listed.
  public var isEverything = false
}

extension Notification.Name {
  /// Posted after a context saved, on the thread of the save. The object is the context; `userInfo` has the
  /// ``ChangeSet``, see ``ManagedObjectContext/NotificationKey``.
  public static let managedObjectContextDidSave = Notification.Name("Coherence.ManagedObjectContext.DidSave")
  /// Posted in the context after its objects changed, by its own work or by what others saved: at the end of the
  /// outermost `perform`, at `processPendingChanges`, and before a save. The object is the context; `userInfo` has the
  /// ``ChangedObjects``.
  public static let managedObjectContextObjectsDidChange = Notification.Name(
    "Coherence.ManagedObjectContext.ObjectsDidChange")
}

extension ManagedObjectContext {
  /// The keys of the notifications' `userInfo`.
  public enum NotificationKey {
    /// A ``ChangeSet``, in did-save.
    public static let changes = "changes"
    /// ``ChangedObjects``, in objects-did-change.
    public static let objects = "objects"
  }

  /// The changes of each save of this context from now on.
  public final var didSaveChanges: AsyncStream<ChangeSet> { events.saves.makeStream() }

  /// The changes of the context's objects from now on, by identifier.
  public final var objectsDidChange: AsyncStream<ObjectChanges> { events.changes.makeStream() }

  /// Applies delete rules and announces the changes made so far.
  ///
  /// - Throws: Errors of the store, when members of relationships have to be loaded.
  public final func processPendingChanges() throws {
    try operating {
      try processDeletes()
      announceChanges()
    }
  }

  /// Posts what changed since the last time.
  final func announceChanges() {
    let records = storage.takeUnannounced()
    guard let objects = events.takeChanges(records) else { return }
    storage.deliver(consume objects) { events.announce($0, from: self) }
  }
}

/// Collects changes of objects and announces them. Used inside the context's confinement.
final class ContextEvents {
  let saves = Broadcast<ChangeSet>()
  let changes = Broadcast<ObjectChanges>()
  private var others = ChangedObjects.Sets()
  private var isEverything = false

  func noteInserted(_ object: ManagedObject) { others.inserted.insert(object) }
  func noteRefreshed(_ object: ManagedObject) { others.refreshed.insert(object) }
  func noteDeleted(_ object: ManagedObject) { others.deleted.insert(object) }
  func noteEverything() { isEverything = true }

  /// The changes of others and, in records, the context's own; `nil` for none.
  func takeChanges(_ records: [PendingRecord]) -> ChangedObjects? {
    guard !records.isEmpty || !others.isEmpty || isEverything else { return nil }
    defer { (others, isEverything) = (ChangedObjects.Sets(), false) }
    return ChangedObjects(records, others, isEverything: isEverything)
  }

  func announce(_ objects: ChangedObjects, from context: ManagedObjectContext) {
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

/// Sends values to any number of asynchronous streams.
final class Broadcast<Element: Sendable>: Sendable {
  private let continuations = Mutex<[Int: AsyncStream<Element>.Continuation]>([:])
  private let lastNumber = Atomic<Int>(0)

  func makeStream() -> AsyncStream<Element> {
    let number = lastNumber.add(1, ordering: .relaxed).newValue
    return AsyncStream { continuation in
      continuations.withLock { $0[number] = continuation }
      continuation.onTermination = { [weak self] _ in self?.continuations.withLock { $0[number] = nil } }
    }
  }

  /// Sends a value, which is made only for listeners.
  func send(_ make: () -> Element) {
    let targets = continuations.withLock { Array($0.values) }
    guard !targets.isEmpty else { return }
    let element = make()
    for target in targets { target.yield(element) }
  }

  func finish() {
    let targets = continuations.withLock { Array($0.values) }
    for target in targets { target.finish() }
  }
}
