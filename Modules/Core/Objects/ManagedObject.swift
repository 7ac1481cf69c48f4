import Synchronization

/// A record, as an object of one context.
///
/// A context has at most one object for each record. The object has the record's shared row and, once changed, its own
/// unsaved values. An object without a row is a *fault*: the first access to a value loads the row.
///
/// Objects may only be used inside their context. Every access checks this rule, and ends the process with a sentence
/// after a misuse, in release builds too. The ``objectID`` may be passed to any thread. An object without a context
/// belongs to the thread that made it.
///
/// Subclasses declare the properties of the record as accessors: see ``AttributeKey``. Stored variables of a subclass
/// are not saved, and live as long as the object.
open class ManagedObject {
  /// The record's entity.
  public final var entity: EntityDescription { unmanagedEntity.takeUnretainedValue() }
  // Safety of `Unmanaged`: entities live as long as the process; the other references are used while the object keeps
  // their targets.
  final let unmanagedEntity: Unmanaged<EntityDescription>
  /// The entity's token, stored here for the fast lookup of property keys.
  final let entityToken: UInt32
  /// The number of the object's ``FetchGroup``; zero for none.
  final var groupNumber: UInt32
  // Safety of `@exclusivity(unchecked)`: every access checks the confinement; the runtime's own check of overlapping
  // access would cost as much again.
  /// As ``objectID``, without the check of the confinement.
  @exclusivity(unchecked) final var recordID: ManagedObjectID
  /// The state of the context that its objects use; `nil` for an object that never had a context. Set once, before the
  /// object is shared, so that any thread may read it.
  @exclusivity(unchecked) final var storage: ContextStorage?
  /// The values that the context has read from the store or a parent; `nil` for a fault, and for a new record.
  @exclusivity(unchecked) final var row: Row?
  /// The unsaved values; `nil` without unsaved changes. If it exists, values are read from it and not from `row`.
  @exclusivity(unchecked) final var pending: PendingRecord?
  /// The member lists, decoded values and results that the object keeps beside its row; `nil` for none.
  final var caches: ObjectCaches?
  /// Written inside the context only, and read by any thread.
  private final let flagBits = Atomic<UInt8>(0)
  /// The object's index in its fetch group.
  final var groupIndex: UInt32
  final var flags: Flags {
    @inline(__always) get { Flags(rawValue: flagBits.load(ordering: .relaxed)) }
    @inline(__always) set { flagBits.store(newValue.rawValue, ordering: .relaxed) }
  }

  struct Flags: OptionSet {
    let rawValue: UInt8
    /// The object belongs to no context any more: its record was deleted, or the context was reset.
    static let detached = Flags(rawValue: 1)
    /// The record was deleted, here or elsewhere.
    static let deleted = Flags(rawValue: 8)
    /// An accessor has failed. Cleared by the next load of the fault, a refresh or a rollback.
    static let unavailable = Flags(rawValue: 2)
    /// A user of the object may know its temporary identifier.
    static let temporaryIDExposed = Flags(rawValue: 4)
    /// A load did not find the record.
    static let missing = Flags(rawValue: 16)
    /// `awakeFromInsert` or `awakeFromFetch` was called for the present values.
    static let awake = Flags(rawValue: 32)
    /// The object is between `willTurnIntoFault` and `didTurnIntoFault`.
    static let turningIntoFault = Flags(rawValue: 64)
    /// `prepareForDeletion` runs.
    static let preparingDeletion = Flags(rawValue: 128)
  }

  /// Makes an object for the framework. Subclasses inherit this initializer; users do not call it.
  ///
  /// An override, and the initial values of a subclass's stored variables, may only set the variables of the subclass.
  /// The object has no values yet. They must not use the context or any of its objects: a fetch makes its objects under a
  /// lock of the context, and the use ends the process with a sentence. ``awakeFromFetch()``, ``awakeFromInsert()`` and
  /// ``initializeDefaults()`` run without the lock.
  public required init(_ birth: borrowing ObjectBirth) {
    unmanagedEntity = birth.entity
    entityToken = birth.entity._withUnsafeGuaranteedRef { $0.token }
    recordID = birth.id
    storage = birth.storage?.takeUnretainedValue()
    row = birth.row.map { Row(storage: $0.takeUnretainedValue()) }
    groupNumber = birth.group
    groupIndex = birth.index
  }

  /// Makes a new object with the model's default values.
  ///
  /// - Parameter context: The context to insert the object into; `nil` for an object without a context, which can get
  ///   values now and be inserted later.
  /// - Precondition: The entity is not abstract, and this class is the entity's class or an ancestor of it.
  public convenience init(entity: EntityDescription, insertInto context: ManagedObjectContext?) {
    Misuse.check(!entity.isAbstract, "'\(entity.name)' is abstract: make an object of one of its subentities.")
    Misuse.check(
      entity.objectClass == Self.self || entity.objectClass is Self.Type,
      "'\(entity.name)' is not an entity of \(Self.self): make objects of it with \(entity.objectClass).")
    self.init(ObjectBirth(entity: entity, id: .temporary(for: entity), storage: nil))
    pending = PendingRecord(inserting: recordID, entity.blankRow)
    initializeDefaults()
    unmanagedPending?._withUnsafeGuaranteedRef { $0.noteDefaults() }
    context?.insert(self)
  }

  /// Makes a new object of this class's entity, and inserts it.
  ///
  /// - Throws: ``ErrorCode/unknownEntity`` when no entity, or more than one, of the context's model has the class, and
  ///   for an abstract entity; ``ErrorCode/contextWithoutStore`` when the context has no coordinator.
  public convenience init(context: ManagedObjectContext) throws {
    let entity = try context.entity(for: Self.self)
    guard !entity.isAbstract else {
      throw CoherenceError(.unknownEntity, "'\(entity.name)' is abstract: make an object of one of its subentities.")
    }
    self.init(entity: entity, insertInto: context)
  }

  deinit {
    if let storage {
      if !flags.contains(.detached) { storage.registry.remove(self, id: recordID) }
    } else if let pending {
      // Related objects may still lead to the record.
      pending.uninsertedGraph?.replaceObject(by: pending)
    }
  }

  // MARK: Hooks

  /// The deletion hooks that the class overrides; see ``DeletionHooks``.
  ///
  /// A class that overrides none of ``prepareForDeletion()``, ``validateForDelete()`` and ``didSave()`` declares this
  /// here, so that cascades delete its records without objects. A class without a declaration of its own counts as a
  /// class with all three hooks. Read once for each entity.
  open class var deletionHooks: DeletionHooks { DeletionHooks(of: ManagedObject.self, overriding: []) }

  /// Sets the values of a new object that no literal expresses, such as the present date.
  ///
  /// Called once for each new object, after the model's defaults are set, before the object is inserted and before
  /// ``awakeFromInsert()``. The object has no context yet. Overrides call the superclass's method first. Not called for
  /// objects of stored records.
  open func initializeDefaults() {}

  /// Called in the context after the object was inserted for the first time. Override it to set values that the model's
  /// defaults cannot express, such as the present date.
  ///
  /// Not called for the object of a parent context that receives the insert by a child's save.
  open func awakeFromInsert() {}

  /// Called in the context after values were loaded into the object: by a fetch, by the access to a fault, by a
  /// prefetch, or by a merge of another save. Override it to fill stored variables that depend on the values.
  ///
  /// Called once for each load, before the call that loads returns. A newer row for an object with values is no load.
  /// The override may read, fetch and change objects; its changes are unsaved changes. The hook of an object loaded by
  /// the override is called after the override has returned. A ``ManagedObjectContext/save()`` in the override throws
  /// ``ErrorCode/illegalState``.
  open func awakeFromFetch() {}

  /// Called in the context once in each save, before the object is validated and saved. Overrides may insert, change
  /// and delete objects; the hook of objects changed by an override is called too. Not called for objects marked for
  /// deletion, and for an object whose only unsaved change is its position in an ordered relationship. A
  /// ``ManagedObjectContext/save()`` in the override throws ``ErrorCode/illegalState``.
  open func willSave() {}

  /// Called in the context after a save has written the object's insert, change or delete, before
  /// ``ManagedObjectContext/save()`` returns. After a delete, ``isDeleted`` is true, and the object has no values.
  ///
  /// Called once in each save, after all stores have committed and other contexts have been notified. When one of
  /// several stores fails, the save calls the hook of the committed stores' objects. The save of a child context calls
  /// the hook of the child's objects, and the parent's save of the parent's objects. Changes by the override are
  /// unsaved changes, and a ``ManagedObjectContext/save()`` in the override throws ``ErrorCode/illegalState``.
  open func didSave() {}

  /// Called in the context before an inserted object is saved, after the model's own rules were checked.
  ///
  /// Called once in each save, and again after the validation hook of another object has changed the object. The
  /// override may change objects; the model's rules are checked again then.
  ///
  /// - Throws: Anything; the save fails with ``ErrorCode/validationFailed``, which has the text of the error beside all
  ///   other failures of the save.
  open func validateForInsert() throws {}

  /// Called in the context before a changed object is saved, after the model's own rules were checked. Otherwise as
  /// ``validateForInsert()``.
  ///
  /// - Throws: Anything, as ``validateForInsert()``.
  open func validateForUpdate() throws {}

  /// Called in the context before the delete of an object is saved, after the delete rules were applied. Otherwise as
  /// ``validateForInsert()``. Not called for a never saved object.
  ///
  /// - Throws: Anything, as ``validateForInsert()``. The object stays marked for deletion.
  open func validateForDelete() throws {}

  /// Called in the context before the object is marked for deletion: by ``ManagedObjectContext/delete(_:)``, or by the
  /// cascade of a delete rule. Values and relationships can still be read, also the relationship that the cascade
  /// followed.
  ///
  /// Called once for each delete. Deletes of the object in the override have no effect, because the object is about to
  /// be deleted. A ``ManagedObjectContext/save()`` in the override throws ``ErrorCode/illegalState``. Not called for
  /// batch deletes, for deletes that other contexts saved, for a parent's object that a child's save deletes, and for
  /// records that a cascade deletes without an object, because ``deletionHooks`` excludes the hook.
  open func prepareForDeletion() {}

  /// Called in the context before a saved object loses its loaded values: by a refresh, a rollback, a reset, the
  /// beginning of a snapshot, or a merge that invalidates the values. Override it to release resources that depend on
  /// the values.
  ///
  /// The values can still be read. Changes by the override are dropped with the object's other changes. Not called when
  /// an object is released, when its delete was saved, and for inserted objects. Use `deinit` for a released object.
  open func willTurnIntoFault() {}

  /// Called in the context after a saved object has lost its loaded values, once for each
  /// ``willTurnIntoFault()`` whose values were dropped.
  open func didTurnIntoFault() {}
}

/// The framework's arguments for making one object. Initializers of subclasses pass them on.
///
/// The arguments are valid during the call that receives them: they can neither be copied nor stored, so that each
/// makes one object.
public struct ObjectBirth: ~Copyable {
  // Safety of `Unmanaged`: descriptions live as long as the process. The caller of the initializer retains the storage
  // and the row during the call, and an initializer that borrows its argument cannot keep it for longer.
  let entity: Unmanaged<EntityDescription>
  let id: ManagedObjectID
  let storage: Unmanaged<ContextStorage>?
  let row: Unmanaged<RowStorage>?
  /// The number of the record's ``FetchGroup``, and the index in the group.
  let group: UInt32
  let index: UInt32

  /// The arguments for an object without a row.
  init(
    entity: EntityDescription, id: ManagedObjectID, storage: ContextStorage?, group: UInt32 = 0, index: UInt32 = 0
  ) {
    self.entity = Unmanaged.passUnretained(entity)
    self.id = id
    self.storage = storage.map(Unmanaged.passUnretained)
    row = nil
    self.group = group
    self.index = index
  }

  /// The arguments for the object of a row, without counting references.
  ///
  /// - Parameter isFault: Whether the object is made without the row.
  init(
    row: Unmanaged<RowStorage>, storage: Unmanaged<ContextStorage>, isFault: Bool, group: UInt32, index: UInt32
  ) {
    entity = row._withUnsafeGuaranteedRef { Row(storage: $0).unmanagedEntity }
    id = row._withUnsafeGuaranteedRef { $0.content.pointee.id }
    self.storage = storage
    self.row = isFault ? nil : row
    self.group = group
    self.index = index
  }
}

// MARK: - State

extension ManagedObject {
  /// The record's identity: temporary until the record is saved or ``ManagedObjectContext/obtainPermanentIDs(for:)`` is
  /// called. To be read inside the context; the identifier itself may be passed to any thread.
  public final var objectID: ManagedObjectID {
    check()
    if recordID.isTemporaryID { exposeTemporaryID() }
    return recordID
  }

  /// Records that the user knows the temporary identifier, so that the identifier leads to the record after its save too.
  ///
  /// A clean object shows an unsaved record of a parent. The context keeps the identifier for this object, because the
  /// object may be released before the parent saves.
  final func exposeTemporaryID() {
    flags.insert(.temporaryIDExposed)
    guard pending == nil, !flags.contains(.detached) else { return }
    storage?.exposedTemporaryIDs.insert(recordID)
  }

  /// Has the context keep a temporary identifier that the user knows, after the object has become clean: the context
  /// does not retain the object any more.
  final func keepExposedID() {
    if flags.contains(.temporaryIDExposed), recordID.isTemporaryID { exposeTemporaryID() }
  }

  /// The context of the object; `nil` before the object is inserted, after its delete was saved or its insert was
  /// discarded, and after the context was reset or released. Also `nil` after an inserted record became a stored record
  /// of which the context has another object, see ``MergePolicy``. May be read on any thread.
  public final var managedObjectContext: ManagedObjectContext? {
    flags.contains(.detached) ? nil : storage?.context
  }

  /// Whether the object never had a context. May be read on any thread.
  package final var isUnattached: Bool { storage == nil }

  /// Whether the object belongs to an uninserted graph of several objects. To be read on the thread that made the
  /// object.
  package final var hasUninsertedGraph: Bool { pending?.uninsertedGraph != nil }

  /// The error of the first assignment that an accessor has ignored while the object had no context. To be read on the
  /// thread that made the object.
  package final var lostChange: (any Error)? { pending?.uninsertedGraph?.lostChanges[recordID] }

  /// Whether the object has unsaved changes.
  public final var hasChanges: Bool {
    check()
    return storage != nil && pending.map { !$0.isUnchanged } == true
  }
  /// Whether the object is inserted and not saved yet.
  public final var isInserted: Bool {
    check()
    return storage != nil && pending?.kind == .inserted
  }
  /// Whether the object is saved and has unsaved changes, and is not marked for deletion.
  public final var isUpdated: Bool { hasChanges && pending?.kind == .updated }
  /// Whether the object is marked for deletion, or its record was deleted.
  public final var isDeleted: Bool {
    check()
    return pending?.kind == .deleted || flags.contains(.deleted)
  }
  /// Whether the object's values are not loaded yet.
  public final var isFault: Bool {
    check()
    return row == nil && pending == nil
  }
  /// Whether an accessor of the object has failed: it returned a default, or ignored an assignment. `false` again after
  /// a fetch or another access has loaded the fault, and after a refresh or a rollback.
  public final var isUnavailable: Bool {
    check()
    return flags.contains(.unavailable)
  }
  /// The version of the row on which the object is based: 1 after the first save, raised by each save that changes the
  /// record. Zero for a never saved object, and for a fault.
  public final var version: Int64 {
    check()
    return pending.map { $0.base?.version ?? 0 } ?? row?.version ?? 0
  }

  /// Ends the process with a sentence if the calling thread may not use the object's context. An object without a
  /// context is not checked.
  @inline(__always) final func check() {
    unmanagedStorage?._withUnsafeGuaranteedRef { $0.confinement.check(misusedName) }
  }

  /// The object and its context, for the message of a misuse.
  @inline(never) private final var misusedName: String {
    "\(self) of the \(storage?.context?.label ?? "context that is gone")"
  }

  // References without reference counting, for code that runs for every attribute. The object retains their targets
  // during that code, and the counting would cost more than the code itself.

  @inline(__always) final var unmanagedStorage: Unmanaged<ContextStorage>? { storage.map(Unmanaged.passUnretained) }
  @inline(__always) final var unmanagedPending: Unmanaged<PendingRecord>? { pending.map(Unmanaged.passUnretained) }

  /// The store of the record, or the store assigned to an unsaved record; `nil` for an unsaved record without an
  /// assigned store.
  final var storeIdentifier: StoreIdentifier? { recordID.storeIdentifier ?? pending?.assignedStore }

  /// The store of the record, or the store assigned to an unsaved record, for other modules, whose subclasses may have a
  /// property `storeIdentifier`; `nil` for an unsaved record without an assigned store.
  package final var chosenStore: StoreIdentifier? { storeIdentifier }

  /// Whether the record is in a store, or can be saved there: an unsaved record without an assigned store can be saved in
  /// any store.
  package final func canBelong(to store: StoreIdentifier) -> Bool { storeIdentifier.map { $0 == store } ?? true }
}

// An object must stay inside its context. The unavailable conformance makes the compiler refuse an object that leaves
// the context, and keeps other modules from declaring the conformance.
@available(*, unavailable)
extension ManagedObject: Sendable {}

extension ManagedObject: Hashable {
  /// Objects are equal when they are one instance.
  public static func == (left: ManagedObject, right: ManagedObject) -> Bool { left === right }
  /// Hashes the identity of the instance.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension ManagedObject: CustomStringConvertible {
  /// The entity and the identifier, without values. May be read on any thread.
  public var description: String { "<\(entity.name): \(describedID)>" }

  /// The identifier. On other threads it is read under the registry's lock, because a save may be replacing it.
  private final var describedID: ManagedObjectID {
    guard let storage, !storage.confinement.isInside else { return recordID }
    return storage.registry.id(of: self)
  }
}
