public import Foundation
import Synchronization

/// What changed in a context since it was last told, by identifier.
public struct ObjectChanges: Sendable, Hashable {
  public var inserted: Set<ManagedObjectID> = []
  /// Changed in this context.
  public var updated: Set<ManagedObjectID> = []
  /// Changed by others.
  public var refreshed: Set<ManagedObjectID> = []
  public var deleted: Set<ManagedObjectID> = []
  /// Whether so much changed that it was not told apart.
  public var isEverything = false
}

extension Notification.Name {
  /// Posted after a context saved, on the thread of the save. The object is the context; `userInfo` has the
  /// ``ChangeSet``, see ``ManagedObjectContext/NotificationKey``.
  public static let managedObjectContextDidSave = Notification.Name("Coherence.ManagedObjectContext.DidSave")
  /// Posted in the context after its objects changed, by its own work or by what others saved: at the end of the
  /// outermost `perform`, at `processPendingChanges`, and before a save. `userInfo` has the sets of objects.
  public static let managedObjectContextObjectsDidChange = Notification.Name(
    "Coherence.ManagedObjectContext.ObjectsDidChange")
}

extension ManagedObjectContext {
  /// The keys of the notifications' `userInfo`.
  public enum NotificationKey {
    /// A ``ChangeSet``, in did-save.
    public static let changes = "changes"
    /// `Set<ManagedObject>`, in objects-did-change.
    public static let inserted = "inserted"
    public static let updated = "updated"
    public static let refreshed = "refreshed"
    public static let deleted = "deleted"
    /// `true` when so much changed that it was not told apart.
    public static let isEverything = "isEverything"
  }

  /// The changes of each save of this context from now on.
  public final var didSaveChanges: AsyncStream<ChangeSet> { events.saves.makeStream() }

  /// The changes of the context's objects from now on, by identifier.
  public final var objectsDidChange: AsyncStream<ObjectChanges> { events.changes.makeStream() }

  /// Applies delete rules and tells of the changes made so far.
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
    let records = storage.unannounced
    if !records.isEmpty {
      storage.unannounced = []
      events.note(records)
    }
    events.announce(from: self)
  }
}

/// Collects changes of objects and tells of them. Used inside the context's confinement.
final class ContextEvents {
  let saves = Broadcast<ChangeSet>()
  let changes = Broadcast<ObjectChanges>()
  @exclusivity(unchecked) private var inserted: Set<ManagedObject> = []
  @exclusivity(unchecked) private var updated: Set<ManagedObject> = []
  @exclusivity(unchecked) private var refreshed: Set<ManagedObject> = []
  @exclusivity(unchecked) private var deleted: Set<ManagedObject> = []
  private var isEverything = false

  /// Takes in changes that the context made, each record once.
  func note(_ records: [PendingRecord]) {
    if let kind = records.first?.kind { reserve(records.count, for: kind) }
    for record in records {
      record.isAnnounced = false
      guard let object = record.object else { continue }
      switch record.kind {
      case .inserted: inserted.insert(object)
      case .updated: updated.insert(object)
      case .deleted: deleted.insert(object)
      }
    }
  }

  /// Makes room for what is mostly of one kind, so that no set grows step by step.
  private func reserve(_ count: Int, for kind: PendingRecord.Kind) {
    switch kind {
    case .inserted: inserted.reserveCapacity(inserted.count + count)
    case .updated: updated.reserveCapacity(updated.count + count)
    case .deleted: deleted.reserveCapacity(deleted.count + count)
    }
  }

  func noteInserted(_ object: ManagedObject) { inserted.insert(object) }
  func noteRefreshed(_ object: ManagedObject) { refreshed.insert(object) }
  func noteDeleted(_ object: ManagedObject) { deleted.insert(object) }
  func noteEverything() { isEverything = true }

  private var isEmpty: Bool {
    inserted.isEmpty && updated.isEmpty && refreshed.isEmpty && deleted.isEmpty && !isEverything
  }

  func announce(from context: ManagedObjectContext) {
    guard !isEmpty else { return }
    if !inserted.isEmpty {
      if !updated.isEmpty { updated.subtract(inserted) }
      if !refreshed.isEmpty { refreshed.subtract(inserted) }
    }
    let info: [AnyHashable: Any] = [
      ManagedObjectContext.NotificationKey.inserted: inserted,
      ManagedObjectContext.NotificationKey.updated: updated,
      ManagedObjectContext.NotificationKey.refreshed: refreshed,
      ManagedObjectContext.NotificationKey.deleted: deleted,
      ManagedObjectContext.NotificationKey.isEverything: isEverything,
    ]
    changes.send {
      ObjectChanges(
        inserted: Set(inserted.map(\.id)), updated: Set(updated.map(\.id)), refreshed: Set(refreshed.map(\.id)),
        deleted: Set(deleted.map(\.id)), isEverything: isEverything)
    }
    // What an observer changes belongs to the next round.
    (inserted, updated, refreshed, deleted, isEverything) = ([], [], [], [], false)
    NotificationCenter.default.post(name: .managedObjectContextObjectsDidChange, object: context, userInfo: info)
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

  /// Sends a value, which is made only if somebody listens.
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
