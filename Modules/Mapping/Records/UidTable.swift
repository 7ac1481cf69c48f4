import CoherenceCore
import CoherenceReconciliation

/// The records of one entity in a context, found by uid.
struct UidTable {
  let rows: StoredRows
  /// The attribute that holds the uid.
  let key: AttributeDescription

  var context: ManagedObjectContext { rows.context }
  var entity: EntityDescription { rows.entity }

  /// - Throws: ``ErrorCode/contextWithoutStore``; ``ErrorCode/unknownEntity``; ``ErrorCode/unknownProperty``;
  ///   ``ErrorCode/modelDoesNotFit`` for a relationship as key.
  init(_ entityName: String, uidKey: String, in context: ManagedObjectContext) throws {
    guard let model = context.persistentStoreCoordinator?.managedObjectModel else {
      throw CoherenceError(.contextWithoutStore, "The context has no coordinator; get one from a manager.")
    }
    let entity = try model.entity(named: entityName)
    guard let key = try entity.property(named: uidKey) as? AttributeDescription else {
      throw CoherenceError(
        .modelDoesNotFit, "'\(entityName).\(uidKey)' cannot hold uids, because it is a relationship; name an attribute."
      )
    }
    self.key = key
    rows = StoredRows(entity, keyAttributes: [key], in: context)
  }

  init<Record: DataRecord>(_ record: Record.Type, in context: ManagedObjectContext) throws {
    try self.init(Record.entityName, uidKey: Record.uidKey, in: context)
  }

  // MARK: Uids

  /// Returns a uid in the form in which records hold it.
  ///
  /// - Throws: ``ErrorCode/invalidUid``.
  func checked(_ uid: AttributeValue) throws(CoherenceError) -> AttributeValue {
    guard !uid.isNull else {
      throw CoherenceError(
        .invalidUid, "A model for '\(entity.name)' has no uid; give it a value for '\(key.name)' before saving it.")
    }
    do {
      return try key.type.checked(uid)
    } catch {
      throw CoherenceError(
        .invalidUid, "A uid does not fit '\(entity.name).\(key.name)': \(error.message)", underlying: error
      )
    }
  }

  var duplicateUidError: CoherenceError {
    CoherenceError(
      .duplicateUid,
      "Two models for '\(entity.name)' have the same uid; save one of them, or choose a policy for `duplicates`.")
  }

  // MARK: Fetching

  func request<Record: ManagedObject>(_ type: Record.Type, where predicate: FetchPredicate?) -> FetchRequest<Record> {
    rows.request(type, where: predicate)
  }

  /// Fetches the records with one of the uids, in chunks; the records of each chunk come in the order of their
  /// identifiers.
  ///
  /// - Parameter condition: A condition that all of the records satisfy.
  func records<Record: ManagedObject>(
    _ type: Record.Type, with uids: [AttributeValue], and condition: FetchPredicate? = nil
  ) throws -> [Record] {
    let wanted = Set(uids)
    var result: [Record] = []
    try rows.forEachPredicate(matching: KeyColumns(Array(wanted))) { predicate in
      let parts = [predicate, condition].compactMap { $0 }
      let found = try context.fetch(request(type, where: parts.isEmpty ? nil : .and(parts)))
      // Without a predicate, the chunk is the whole entity.
      result += try predicate == nil ? found.filter { wanted.contains(try $0.value(at: key.slot)) } : found
    }
    return result
  }
}
