import Foundation
import Logging
import Synchronization

/// A workspace of objects: fetches them, keeps track of their changes, and saves the changes as one unit.
///
/// A context belongs to the main actor, to a queue of its own, or to a thread. Use its objects inside `perform` or
/// `performAndWait`, or, for a main-queue context, on the main actor. Any other use ends the process with a sentence,
/// in release builds too. The context itself may be passed to any thread; its objects may not.
///
/// An outermost `perform` is a unit of work. A main-queue context needs no `perform` on the main actor: a turn, which
/// is the code between two suspensions, is one unit of work. In a turn only the turn's own code changes the objects,
/// and all reads of a store see one state; <doc:ContextsAndConcurrency> lists the operations that end a turn earlier. A
/// turn with an operation costs one block in the main queue, and a connection to each store that it reads.
///
/// A context reads from and saves to its parent: a coordinator, or another context. The class is open for the
/// framework's own kinds of contexts, and so that types distinguish contexts. Extend a context by composition: no
/// method can be overridden.
open class ManagedObjectContext: @unchecked Sendable {
  // Sendable: all mutable state is used inside the confinement, which every access checks, or under `settings`.

  /// The thread or queue that a context belongs to.
  public enum ConcurrencyType: Sendable, Hashable {
    /// On the main actor.
    case mainQueue
    /// On a queue of its own.
    case privateQueue
    /// On the thread that makes the context, as long as that thread lives. The context needs no `perform` there and has
    /// no queue. Not for tasks, which change threads.
    case currentThread
  }

  /// The thread or queue that the context belongs to.
  public final let concurrencyType: ConcurrencyType
  final let storage: ContextStorage
  final let inbox = Inbox()
  /// Behind a ``Lock``, because each operation of a child context reads the settings of its parents, on many threads.
  final let settings = Locked(Settings())
  final let events = ContextEvents()
  /// The readers of the running outermost `perform`.
  final var lease = ReadLease()
  /// The unit of work of a main-queue context. Used on the main actor alone.
  // Safety of `@exclusivity(unchecked)`: no access calls other code, so that none begins during another one.
  @exclusivity(unchecked) final var turn = MainTurn()
  /// The channels to signal with the next save into stores.
  final var pendingSignals: Set<String> = []
  /// Receives the activities of the context. Set before the context's first use.
  package final var activityObserver: (any ContextActivityObserver)?
  /// The live results of the context; `nil` for none.
  final var turnObserver: (any TurnObserver)?
  /// The stores to which fetches, batch updates and batch deletes of the context are limited; `nil` for all stores. A failure of
  /// another store does not fail the context. Set before the context's first use.
  package final var storeIdentifiers: Set<StoreIdentifier>?
  /// Whether the coordinator's fetch observers are called. Set before the context's first use.
  package final var reportsFetches = true

  /// The properties for use on any thread.
  struct Settings {
    var name: String?
    var coordinator: PersistentStoreCoordinator?
    var parent: ManagedObjectContext?
    var mergePolicy = MergePolicy.error
    var savesPastParent = false
    /// Whether save participants take part in the context's saves.
    var recordsChanges = true
    var transactionAuthor: String?
    var faultPolicy = FaultPolicy.load
    var children: [ContextHandle] = []
    /// The contexts that receive each save of this context, see ``follow(_:)``.
    var followers: [ContextHandle] = []
    var followsAnother = false
    /// The live results of this context and its children, which receive the records with changed unsaved state.
    var touchReceivers: [TouchReceiverEntry] = []
    /// The last class whose entity was looked up, with the entity.
    var lastClass: (type: ObjectIdentifier, entity: EntityDescription)?
  }

  /// Makes a context without a coordinator or parent. Set one of them before the first use: a fetch or save without
  /// them throws ``ErrorCode/contextWithoutStore``.
  ///
  /// - Parameter concurrencyType: The thread or queue of the context. May be called on any thread; for the type
  ///   `currentThread`, the context belongs to the calling thread.
  public required init(concurrencyType: ConcurrencyType = .privateQueue) {
    self.concurrencyType = concurrencyType
    let confinement = Confinement(concurrencyType)
    storage = ContextStorage(confinement: confinement)
    storage.connect(to: ContextHandle(self))
  }

  /// Makes a context that reads from and saves to a coordinator's stores. May be called on any thread; for the type
  /// `currentThread`, the context belongs to the calling thread.
  public convenience init(concurrencyType: ConcurrencyType = .privateQueue, coordinator: PersistentStoreCoordinator) {
    self.init(concurrencyType: concurrencyType)
    persistentStoreCoordinator = coordinator
  }

  /// Makes a context that reads from another context, unsaved changes included, and saves into it. Retains the parent.
  /// A save reaches the stores with the parent's own save, unless ``savesPastParent`` is set. Fetches show the parent's
  /// unsaved changes of their time; loaded objects keep the values of their read until the parent saves or the child
  /// refreshes them, also after a rollback of the parent. See <doc:ContextsAndConcurrency>. May be called on any thread.
  public convenience init(concurrencyType: ConcurrencyType = .privateQueue, parent: ManagedObjectContext) {
    self.init(concurrencyType: concurrencyType)
    self.parent = parent
  }

  deinit {
    storage.handle?.clear()
    if lease.pin != nil { persistentStoreCoordinator?.lastingReaders.remove(self) }
    lease.endLasting()
    storage.undo?.clear()
    storage.untrackAll()
    storage.retainedReads.removeAll()
    events.finish()
  }

  // MARK: Settings

  /// A name for logs and messages; `nil` for none. May be read and set on any thread.
  public final var name: String? {
    get { settings.withLock { $0.name } }
    set { settings.withLock { $0.name = newValue } }
  }

  /// The name of the context in messages. May be read on any thread.
  @inline(never) final var label: String {
    let kind =
      switch concurrencyType {
      case .mainQueue: "main-queue context"
      case .privateQueue: "private-queue context"
      case .currentThread: "thread's context"
      }
    return name.map { "\(kind) '\($0)'" } ?? kind
  }

  /// The coordinator that the context works with: its own, or its parent's. Set it before the first use of the context.
  /// May be read on any thread.
  public final var persistentStoreCoordinator: PersistentStoreCoordinator? {
    get { settings.withLock { $0.coordinator } ?? parent?.persistentStoreCoordinator }
    set {
      // Released after the lock, as in all setters of objects of the program: a `deinit` may use this context.
      let former = settings.withLock { settings in
        settings.lastClass = nil
        return exchange(&settings.coordinator, with: newValue)
      }
      lease.saves = newValue?.saves
      withExtendedLifetime(former) {}
    }
  }

  /// The context from which this context reads and into which it saves; `nil` for a context on the stores. Set it
  /// before the first use of the context. May be read on any thread. A context that would be its own parent, directly or
  /// over other contexts, ends the process with a sentence.
  public final var parent: ManagedObjectContext? {
    get { settings.withLock { $0.parent } }
    set {
      // A circle has no stores at its end, so that each read would follow the parents without an end.
      var ancestor = newValue
      while let context = ancestor {
        Misuse.check(
          context !== self,
          "The \(label) cannot be its own parent, directly or over other contexts; set another parent.")
        ancestor = context.parent
      }
      let former = settings.withLock { exchange(&$0.parent, with: newValue) }
      lease.saves = persistentStoreCoordinator?.saves
      withExtendedLifetime(former) {}
      guard let handle = storage.handle else { return }
      newValue?.settings.withLock { settings in
        // Handles of released children are removed before an append that would grow the list.
        if settings.children.count == settings.children.capacity {
          settings.children.removeAll(where: \.isCleared)
        }
        settings.children.append(handle)
      }
    }
  }

  /// The rule by which saves resolve conflicts with other writers. ``MergePolicy/error`` unless set. May be set on any
  /// thread, and counts from the next save.
  public final var mergePolicy: MergePolicy {
    get { settings.withLock { $0.mergePolicy } }
    set {
      let former = settings.withLock { exchange(&$0.mergePolicy, with: newValue) }
      withExtendedLifetime(former) {}
    }
  }

  /// Whether a save of a context with a parent goes past its parents into the stores, before `save` returns. Only this
  /// context's changes are saved. The parents get the saved rows below their own unsaved edits. `false` unless set: a
  /// save then goes into the parent, in memory. May be set on any thread, and counts from the next save.
  public final var savesPastParent: Bool {
    get { settings.withLock { $0.savesPastParent } }
    set { settings.withLock { $0.savesPastParent = newValue } }
  }

  /// The parent whose unsaved changes the reads of this context include; `nil` under a pinned snapshot, which has only
  /// saved values.
  @inline(__always) final var readParent: ManagedObjectContext? { lease.pin == nil ? parent : nil }

  /// The parent whose unsaved changes the reads of a context include; `nil` for a reader under a pinned snapshot.
  ///
  /// - Parameter reader: This context or one of its descendants.
  final func parent(readBy reader: ManagedObjectContext) -> ManagedObjectContext? {
    self === reader ? readParent : parent
  }

  /// Makes this context follow another context: each save of the other context is posted to the inboxes of this
  /// context and of its children. Neither context retains the other. May be called on any thread, and waits for neither
  /// context. A save costs at most one entry in each inbox. A repeated call does nothing.
  public final func follow(_ other: ManagedObjectContext) {
    guard let handle = storage.handle else { return }
    settings.withLock { $0.followsAnother = true }
    other.settings.withLock { settings in
      guard !settings.followers.contains(where: { $0 === handle }) else { return }
      // Handles of released followers are removed before an append that would grow the list, because the other context
      // may never save.
      if settings.followers.count == settings.followers.capacity {
        settings.followers.removeAll(where: \.isCleared)
      }
      settings.followers.append(handle)
    }
  }

  /// Makes the context one that follows other contexts, before the context to follow is made. Its saves merge edits of
  /// different properties from now on.
  package final func followLaterContexts() { settings.withLock { $0.followsAnother = true } }

  /// Makes the context follow another one, if it shows the saves of other contexts. The view of a strategy that has made it
  /// independent stays independent.
  package final func followUnlessIndependent(_ other: ManagedObjectContext) {
    if showsSavesOfOthers { follow(other) }
  }

  /// Whether the context refreshes its objects from saves of other contexts, below its own edits: a main-queue context
  /// with a parent, or a follower.
  final var showsSavesOfOthers: Bool {
    settings.withLock { $0.followsAnother || $0.parent != nil && concurrencyType == .mainQueue }
  }

  /// The contexts that receive a save: followers and children.
  final var listeners: [ManagedObjectContext] {
    let handles = settings.withLock { settings in
      settings.children.removeAll(where: \.isCleared)
      settings.followers.removeAll(where: \.isCleared)
      return settings.children + settings.followers
    }
    // After the lock: a reference from a handle may become the last one, and the deinitialisation of a context runs
    // other code, which may use this context.
    return handles.compactMap(\.context)
  }

  /// The child contexts.
  final var children: [ManagedObjectContext] { settings.withLock { $0.children }.compactMap(\.context) }

  /// Whether the context has children.
  final var isParent: Bool { settings.withLock { $0.children.contains { !$0.isCleared } } }

  /// Returns the coordinator.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``.
  final func coordinator() throws(CoherenceError) -> PersistentStoreCoordinator {
    guard let coordinator = persistentStoreCoordinator else {
      throw CoherenceError(
        .contextWithoutStore, "The context has no coordinator: set `persistentStoreCoordinator` or `parent` first.")
    }
    return coordinator
  }

  final func model() throws(CoherenceError) -> ManagedObjectModel { try coordinator().managedObjectModel }

  /// Returns the entity of a class in the context's model, for functions that take an entity. May be called on any
  /// thread.
  ///
  /// - Throws: ``ErrorCode/contextWithoutStore``; ``ErrorCode/unknownEntity`` when no entity, or more than one, has the
  ///   class.
  public final func entity(for objectClass: ManagedObject.Type) throws(CoherenceError) -> EntityDescription {
    let type = ObjectIdentifier(objectClass)
    if let entity = settings.withLock({ $0.lastClass?.type == type ? $0.lastClass?.entity : nil }) { return entity }
    let model = try model()
    let entity = try model.entity(for: objectClass)
    settings.withLock { settings in
      if settings.coordinator?.managedObjectModel === model { settings.lastClass = (type, entity) }
    }
    return entity
  }

  // MARK: Accessor failures

  /// The failures of accessors, which cannot throw, since the last successful ``save()`` of a change, ``rollback()``,
  /// ``reset()`` or ``refreshAll()``. The list has the first failed load and the first lost change of each object, and
  /// at most a hundred failures. Each listed failure is logged once. To be used inside the context.
  ///
  /// A save throws when a change was lost, or when the records to save depend on an object that failed to load:
  /// ``ErrorCode/recordVanished`` when other writers deleted the record, otherwise ``ErrorCode/objectUnavailable``.
  /// Other saves succeed. ``refresh(_:mergeChanges:)`` of the object clears its failures.
  public final var reportedErrors: [any Error] {
    storage.confinement.check("The \(label)")
    return storage.reports.list.map(\.error)
  }

  /// The number of accessors that failed so far, reported or not, and the last failure.
  package final var accessorFailures: (count: Int, latest: (any Error)?) {
    (storage.reports.count, storage.reports.latest)
  }

  /// Adds the failure of an accessor to the reports, and logs the failure once.
  ///
  /// - Parameter losesChange: Whether the accessor was an assignment whose value is lost.
  final func report(_ error: any Error, for object: ManagedObject, losesChange: Bool) {
    let report = AccessorReports.Report(objectID: object.recordID, error: error, losesChange: losesChange)
    switch storage.reports.add(report) {
    case .passedOver: return
    case .full:
      logger.warning("More accessors failed than are reported.", metadata: ["context": "\(name ?? "unnamed")"])
    case .listed:
      logger.warning(
        losesChange ? "A change of an object was lost." : "An object could not be loaded.",
        metadata: [
          "entity": "\(object.entity.name)", "object": "\(object.recordID)", "context": "\(name ?? "unnamed")",
          "code": "\((error as? CoherenceError)?.code.description ?? "\(type(of: error))")",
        ])
    }
  }
}
