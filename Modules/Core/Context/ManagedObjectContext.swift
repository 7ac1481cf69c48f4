import Foundation
import Logging
import Synchronization

/// A workspace of objects: fetches them, keeps track of their changes, and saves the changes as one unit.
///
/// A context belongs to one place at a time: the main actor, a queue of its own, or a thread. Work with its objects
/// inside `perform` or `performAndWait`, or, for a main-queue context, on the main actor. Use from
/// elsewhere fails with a sentence, in release builds too. The context itself may be passed to any thread; its objects
/// may not.
///
/// An outermost `perform` is a unit of work. A main-queue context needs no `perform` on the main actor: a turn, which is
/// the code between two suspensions, is one unit of work. In a turn only the turn's own code changes the objects, and all
/// reads of a store are of one state; <doc:ContextsAndConcurrency> lists what ends it earlier. Cost: one block in the
/// main queue for each turn with an operation, and a connection to each store that the turn reads.
///
/// A context reads from and saves to its parent: a coordinator, or another context. Contexts are extended by
/// composition; the class is open for the framework's own kinds of contexts and for telling contexts apart by type.
open class ManagedObjectContext: @unchecked Sendable {
  // Sendable: all mutable state is used inside the confinement, which every access checks, or under `settings`.

  /// Where a context may be used.
  public enum ConcurrencyType: Sendable, Hashable {
    /// On the main actor.
    case mainQueue
    /// On a queue of its own.
    case privateQueue
    /// On the thread that makes the context, as long as that thread lives. The context needs no `perform` there and has
    /// no queue. Not for tasks, which change threads.
    case currentThread
  }

  /// The kind of place where the context may be used.
  public final let concurrencyType: ConcurrencyType
  final let storage: ContextStorage
  final let inbox = Inbox()
  final let settings = Mutex(Settings())
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
  /// Whether the coordinator's fetch observers are called. Set before the context's first use.
  package final var reportsFetches = true

  /// The properties for any thread.
  struct Settings {
    var name: String?
    var coordinator: PersistentStoreCoordinator?
    var parent: ManagedObjectContext?
    var mergePolicy = MergePolicy.error
    var savesThroughParent = false
    var recordsChanges = true
    var transactionAuthor: String?
    var faultPolicy = FaultPolicy.load
    var children: [ContextHandle] = []
    var followers: [ContextHandle] = []
    var followsAnother = false
    /// The live results of this context and its children.
    var touchReceivers: [TouchReceiverEntry] = []
    /// The class of the last object made by class, with the class's entity.
    var lastClass: (type: ObjectIdentifier, entity: EntityDescription)?
  }

  /// A context without a coordinator or parent, to be set before the first use: a fetch or save without them throws
  /// ``ErrorCode/contextWithoutStore``.
  public required init(concurrencyType: ConcurrencyType = .privateQueue) {
    self.concurrencyType = concurrencyType
    let confinement = Confinement(concurrencyType)
    storage = ContextStorage(confinement: confinement)
    storage.connect(to: ContextHandle(self))
  }

  /// A context that reads from and saves to a coordinator's stores. May be made on any thread; for the type
  /// `currentThread`, the context belongs to the calling thread.
  public convenience init(concurrencyType: ConcurrencyType = .privateQueue, coordinator: PersistentStoreCoordinator) {
    self.init(concurrencyType: concurrencyType)
    persistentStoreCoordinator = coordinator
  }

  /// A context that reads from another context, unsaved changes included, and saves into it. Retains the parent. A save
  /// reaches the stores with the parent's own save, unless ``savesThroughParent`` is set.
  public convenience init(concurrencyType: ConcurrencyType = .privateQueue, parent: ManagedObjectContext) {
    self.init(concurrencyType: concurrencyType)
    self.parent = parent
  }

  deinit {
    storage.handle?.clear()
    if lease.pin != nil { persistentStoreCoordinator?.pinnedSnapshots.remove(self) }
    lease.endLasting()
    storage.undo?.clear()
    storage.untrackAll()
    storage.kept.removeAll()
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
      settings.withLock {
        $0.coordinator = newValue
        $0.lastClass = nil
      }
    }
  }

  /// The context that this one reads from and saves into; `nil` for a context on the stores. Set it before the first
  /// use of the context. May be read on any thread.
  public final var parent: ManagedObjectContext? {
    get { settings.withLock { $0.parent } }
    set {
      settings.withLock { $0.parent = newValue }
      guard let handle = storage.handle else { return }
      newValue?.settings.withLock { settings in
        // Handles of released children are removed before the list would grow.
        if settings.children.count == settings.children.capacity {
          settings.children.removeAll { $0.context == nil }
        }
        settings.children.append(handle)
      }
    }
  }

  /// The resolution of conflicts in a save: records that another writer changed since this context read them.
  /// ``MergePolicy/error`` unless set. May be set on any thread, and counts from the next save.
  public final var mergePolicy: MergePolicy {
    get { settings.withLock { $0.mergePolicy } }
    set { settings.withLock { $0.mergePolicy = newValue } }
  }

  /// Whether a save of a context with a parent reaches the stores: its own changes, durably, before `save` returns. Its
  /// parents take the saved rows as their new base and keep their own edits, which are not saved. `false` unless set.
  public final var savesThroughParent: Bool {
    get { settings.withLock { $0.savesThroughParent } }
    set { settings.withLock { $0.savesThroughParent = newValue } }
  }

  /// The context below this one whose unsaved changes reads show; `nil` under a pinned snapshot, whose moment had none.
  @inline(__always) final var readParent: ManagedObjectContext? { lease.pin == nil ? parent : nil }

  /// The context below this one whose unsaved changes the reads of a context show.
  final func parent(readBy reader: ManagedObjectContext) -> ManagedObjectContext? {
    self === reader ? readParent : parent
  }

  /// Makes this context follow another: each save of the other is posted to this context's inbox. Neither keeps the
  /// other alive. May be called on any thread, and waits for neither context. A save costs one entry in the inbox for
  /// each follower.
  public final func follow(_ other: ManagedObjectContext) {
    guard let handle = storage.handle else { return }
    settings.withLock { $0.followsAnother = true }
    other.settings.withLock { $0.followers.append(handle) }
  }

  /// Whether the context shows the saves of others below its own edits: a main context with a parent, or a follower.
  final var showsSavesOfOthers: Bool {
    settings.withLock { $0.followsAnother || $0.parent != nil && concurrencyType == .mainQueue }
  }

  /// The contexts that receive a save: followers and children.
  final var listeners: [ManagedObjectContext] {
    settings.withLock { settings in
      settings.children.removeAll { $0.context == nil }
      settings.followers.removeAll { $0.context == nil }
      return (settings.children + settings.followers).compactMap(\.context)
    }
  }

  /// The contexts that read from this one.
  final var children: [ManagedObjectContext] { settings.withLock { $0.children }.compactMap(\.context) }

  /// Whether other contexts read from this one.
  final var isParent: Bool { settings.withLock { $0.children.contains { $0.context != nil } } }

  /// The coordinator. Throws ``ErrorCode/contextWithoutStore`` without one.
  final func coordinator() throws(CoherenceError) -> PersistentStoreCoordinator {
    guard let coordinator = persistentStoreCoordinator else {
      throw CoherenceError(
        .contextWithoutStore, "The context has no coordinator: set `persistentStoreCoordinator` or `parent` first.")
    }
    return coordinator
  }

  final func model() throws(CoherenceError) -> ManagedObjectModel { try coordinator().managedObjectModel }

  /// The entity of the context's model that a class stands for.
  final func entity(for objectClass: ManagedObject.Type) throws(CoherenceError) -> EntityDescription {
    let type = ObjectIdentifier(objectClass)
    if let known = settings.withLock({ $0.lastClass?.type == type ? $0.lastClass?.entity : nil }) { return known }
    let model = try model()
    let entity = try model.entity(for: objectClass)
    settings.withLock { settings in
      if settings.coordinator?.managedObjectModel === model { settings.lastClass = (type, entity) }
    }
    return entity
  }

  // MARK: Accessor failures

  /// The failures of accessors, which cannot throw, since the last successful `save`, `rollback` or `reset`: the first
  /// failure of each object, and at most a hundred. Each is logged once.
  ///
  /// A save is refused when a change was lost, or when the saved records depend on an object that failed to load: with
  /// ``ErrorCode/recordVanished`` when other writers deleted the record, otherwise with ``ErrorCode/objectUnavailable``.
  /// Other saves pass. ``refresh(_:mergeChanges:)`` of the object clears its failures.
  public final var reportedErrors: [any Error] {
    storage.confinement.check("The \(label)")
    return storage.reports.list.map(\.error)
  }

  /// The number of accessors that failed so far, reported or not, and the last failure.
  package final var accessorFailures: (count: Int, latest: (any Error)?) {
    (storage.reports.count, storage.reports.latest)
  }

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
