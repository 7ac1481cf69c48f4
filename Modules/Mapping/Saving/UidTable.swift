import CoherenceCore

/// The records of one entity in a context, found by uid.
struct UidTable {
  /// The most uids in one fetch.
  private static let chunkSize = 500
  /// Going through so many records costs as much as finding one by an index.
  private static let recordsPerLookup = 4

  let context: ManagedObjectContext
  let entity: EntityDescription
  /// The attribute that holds the uid.
  let key: AttributeDescription

  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``; ``ErrorCode/modelDoesNotFit`` when the uid's key
  ///   is no attribute.
  init(_ entityName: String, uidKey: String, in context: ManagedObjectContext) throws {
    guard let model = context.persistentStoreCoordinator?.managedObjectModel else {
      throw CoherenceError(.contextWithoutStore, "The context has no coordinator; get one from a manager.")
    }
    entity = try model.entity(named: entityName)
    guard let key = try entity.property(named: uidKey) as? AttributeDescription else {
      throw CoherenceError(
        .modelDoesNotFit, "'\(entityName).\(uidKey)' is to tell records apart, and is no attribute.")
    }
    self.key = key
    self.context = context
  }

  init<Record: DataRecord>(_ record: Record.Type, in context: ManagedObjectContext) throws {
    try self.init(Record.entityName, uidKey: Record.uidKey, in: context)
  }

  // MARK: Uids

  /// A uid in the form in which records hold it.
  ///
  /// - Throws: ``ErrorCode/invalidUid``.
  func checked(_ uid: AttributeValue) throws(CoherenceError) -> AttributeValue {
    guard !uid.isNull else {
      throw CoherenceError(
        .invalidUid, "A model for '\(entity.name)' has no uid; give it a value for '\(key.name)' before it is saved.")
    }
    do {
      return try key.type.checked(uid)
    } catch {
      throw CoherenceError(
        .invalidUid, "A uid of '\(entity.name)' cannot be a value of '\(key.name)': \(error.message)", underlying: error
      )
    }
  }

  var duplicateUid: CoherenceError {
    CoherenceError(
      .duplicateUid,
      "Two models for '\(entity.name)' have the same uid; send one of them, or choose which one counts by `duplicates`."
    )
  }

  // MARK: Fetching

  func request<Record: ManagedObject>(_ type: Record.Type, where predicate: FetchPredicate?) -> FetchRequest<Record> {
    var request = FetchRequest<Record>(entityName: entity.name)
    request.predicate = predicate
    return request
  }

  /// Calls a block with conditions that together hold for every record with one of the uids, and possibly for others; with
  /// `nil` for all records, when to go through them is less work.
  func reach(_ uids: [AttributeValue], _ body: (FetchPredicate?) throws -> Void) throws {
    guard !uids.isEmpty else { return }
    if try isScanCheaper(uids.count) { return try body(nil) }
    for start in stride(from: 0, to: uids.count, by: Self.chunkSize) {
      let chunk = uids[start..<min(start + Self.chunkSize, uids.count)]
      try body(.membership(.path(PropertyPath(names: [key.name])), in: Array(chunk)))
    }
  }

  /// The records with one of the uids, by key in each piece that is fetched.
  func records<Record: ManagedObject>(
    _ type: Record.Type, with uids: [AttributeValue], and condition: FetchPredicate? = nil
  ) throws -> [Record] {
    let wanted = Set(uids)
    var result: [Record] = []
    try reach(Array(wanted)) { predicate in
      let parts = [predicate, condition].compactMap { $0 }
      let found = try context.fetch(request(type, where: parts.isEmpty ? nil : .and(parts)))
      result += try predicate == nil ? found.filter { wanted.contains(try $0.value(at: key.slot)) } : found
    }
    return result
  }

  private func isScanCheaper(_ count: Int) throws -> Bool {
    if count <= Self.chunkSize { return false }
    guard isIndexed else { return true }
    return try context.count(for: request(ManagedObject.self, where: nil)) <= count * Self.recordsPerLookup
  }

  /// Whether the stores find records by uid without looking at all of them.
  private var isIndexed: Bool {
    (entity.uniquenessConstraints + entity.indexes).contains { $0.first === key }
  }
}

extension ManagedObjectID {
  /// Whether a record was made before another one of its entity; those that are not saved yet were made last.
  func isOlder(than other: ManagedObjectID) -> Bool {
    isTemporaryID == other.isTemporaryID ? key < other.key : !isTemporaryID
  }
}
