/// The part of a save that one store is about to commit, for a ``SaveParticipant``.
///
/// Belongs to the call that it is passed to, and to the thread of that call.
public struct SaveParticipation: ~Copyable {
  /// The store of the transaction.
  public let store: any PersistentStore
  /// The model of the coordinator.
  public let model: ManagedObjectModel
  /// The ``ManagedObjectContext/transactionAuthor`` of the saving context.
  public let author: String?
  /// The changes of observed records: inserts, updates, deletes. Never empty.
  public let changes: RecordedChanges
  /// The added records.
  private(set) var records = ParticipantRecords()
  private let keys: KeySupply
  private let derivedValues: DerivedValues
  private let coordinator: PersistentStoreCoordinator

  init(
    in store: any PersistentStore, of coordinator: PersistentStoreCoordinator, by author: String?,
    _ changes: RecordedChanges, _ keys: KeySupply, _ derivedValues: DerivedValues
  ) {
    self.store = store
    self.coordinator = coordinator
    model = coordinator.managedObjectModel
    self.author = author
    self.changes = changes
    self.keys = keys
    self.derivedValues = derivedValues
  }

  /// Adds a record to the transaction.
  ///
  /// Makes a row, and no object. The record is an ordinary record: the saving context, its parents and followers, and
  /// the streams of ``PersistentStoreCoordinator/entityChanges()`` receive it like a record saved by another context.
  /// Other participants do not receive it, and no validation hook of an object is called.
  ///
  /// A further attempt of the save drops the record, so that the identifier has a meaning in this transaction alone.
  /// Identifiers of one hierarchy ascend in the order of the calls.
  ///
  /// - Parameters:
  ///   - entity: The record's own entity, which must not be abstract.
  ///   - values: One value for each slot; ``EntityDescription/defaultValues`` is a beginning. References may lead to
  ///     records of the same store, and of the save. Values of derived attributes are computed.
  /// - Returns: The permanent identifier of the record.
  /// - Throws: ``ErrorCode/noStore`` when the store does not hold the entity; ``ErrorCode/unknownEntity`` for an
  ///   abstract entity; ``ErrorCode/invalidValue`` for a wrong number of values; ``ErrorCode/validationFailed`` for a
  ///   value that does not satisfy the model; ``ErrorCode/relationshipCrossesStores`` for a reference into another store,
  ///   and ``ErrorCode/storeDetached`` if that store is detached; errors of the store that allocates keys.
  @discardableResult
  public mutating func insert(_ entity: EntityDescription, _ values: [AttributeValue]) throws -> ManagedObjectID {
    if !records.have(entity) { try checkIsHeld(entity) }
    let values = try AddedRecordCheck(of: entity, in: store.identifier, of: coordinator).checked(values, derivedValues)
    let id = try keys.nextID(in: entity.root)
    records.append(Row.make(id: id, entity: entity, version: RecordChange.version(after: nil), values: values))
    return id
  }

  /// Signals a channel with the transaction, as ``ManagedObjectContext/signalOnSave(_:)`` does.
  ///
  /// - Parameter channel: A text of 1 to 200 bytes in UTF-8; for another text the save throws
  ///   ``ErrorCode/invalidValue``.
  public mutating func signal(_ channel: String) { records.signals.insert(channel) }

  private func checkIsHeld(_ entity: EntityDescription) throws(CoherenceError) {
    guard store.environment.entities.contains(where: { $0 === entity }) else {
      throw CoherenceError(
        .noStore,
        "A save participant adds a record of '\(entity.name)', which the store does not hold; add the entity to the "
          + "store's configuration.")
    }
    guard !entity.isAbstract else {
      throw CoherenceError(
        .unknownEntity,
        "A save participant adds a record of '\(entity.name)', which is abstract; add a record of a subentity.")
    }
  }
}
