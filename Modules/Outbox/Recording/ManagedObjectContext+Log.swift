import CoherenceCore
import Foundation

extension ManagedObjectContext {
  /// Calls a block with each change in the log, in no order. Registers no objects in the context.
  ///
  /// - Returns: The unreadable records of the log. The block gets none of their changes.
  @discardableResult
  func forEachLoggedChange(_ body: (LogChange, LoggedSave) throws -> Void) throws -> [LoggedSave] {
    guard let model = persistentStoreCoordinator?.managedObjectModel else { return [] }
    let sink = try LogSink(model)
    try read(FetchRequest(OutboxLogRecord.self), into: sink)
    var unreadable: [LoggedSave] = []
    for (save, payload) in sink.saves {
      guard let changes = try? LogReader.changes(in: payload, firstSequence: save.sequence) else {
        unreadable.append(save)
        continue
      }
      for change in changes { try body(change, save) }
    }
    return unreadable
  }

  /// Turns the records of the log that contain a change of one of the given records into entries, and deletes these
  /// records of the log. A record with the same key in another store counts as the given record.
  ///
  /// The log is read in the same state of the stores as the other records of the context: a record read with a user's
  /// edit also has the entry of the edit. The caller saves. When another context makes the same entries first, the save
  /// throws a version conflict. Unreadable records of the log are skipped.
  func makeLoggedEntries(of records: [ManagedObjectID]) throws {
    var wanted: Set<OutboxRecord> = []
    for id in records {
      let root = id.entity.root
      for name in [root.name] + root.formerNames { wanted.insert(OutboxRecord(rootName: name, key: id.key)) }
    }
    var ids: Set<ManagedObjectID> = []
    try forEachLoggedChange { change, save in if wanted.contains(change.record) { ids.insert(save.id) } }
    guard !ids.isEmpty else { return }
    try makeEntries(of: try objects(for: ids.sorted { $0.key < $1.key }, as: OutboxLogRecord.self))
  }

  /// Turns records of the log into entries, and deletes the records of the log. An unreadable record stays. The
  /// caller saves.
  ///
  /// - Returns: The number of records that became entries.
  @discardableResult
  func makeEntries(of logs: [OutboxLogRecord]) throws -> Int {
    var count = 0
    for log in logs {
      guard let changes = log.changes else { continue }
      count += 1
      let store = log.objectID.storeIdentifier.flatMap { persistentStoreCoordinator?.persistentStore(with: $0) }
      let (transaction, author, enqueued) = (log.transaction, log.author, log.enqueued)
      for change in changes {
        // The outbox refuses a model in which the entity has another class.
        guard let entry = try insertNewObject(forEntityName: OutboxEntryRecord.entityName) as? OutboxEntryRecord else {
          continue
        }
        if let store { try assign(entry, to: store) }
        entry.assignedStore = store?.identifier
        entry.write(change)
        entry.transaction = transaction
        if let author { entry.author = author }
        entry.enqueued = enqueued
        guard let whole = change.whole else { continue }
        try entry.addContent(whole, store: store)
      }
      delete(log)
    }
    return count
  }
}

extension OutboxLogRecord {
  /// The changes in their order; `nil` for an unreadable record. Each access decodes them.
  var changes: [LogChange]? { try? LogReader.changes(in: payload, firstSequence: sequence) }

  /// The values that all changes share.
  var save: LoggedSave {
    LoggedSave(id: objectID, sequence: sequence, transaction: transaction, author: author, enqueued: enqueued)
  }
}

extension OutboxEntryRecord {
  fileprivate func write(_ change: LogChange) {
    sequence = change.sequence
    entityName = change.entityName
    rootName = change.record.rootName
    recordKey = change.record.key
    recordVersion = change.recordVersion
    kind = change.kind
    idempotencyKey = change.idempotencyKey
    if let data = change.identity { identity = data }
    if let data = change.references { references = data }
    payload = change.payload
  }
}

/// Collects the values of the log's records without objects.
private final class LogSink: ValueSink {
  /// The slots of the values that ``take(_:)`` finds by their positions in this list.
  let slots: [Int]
  private(set) var saves: [(save: LoggedSave, payload: Data)] = []
  private(set) var count = 0

  init(_ model: ManagedObjectModel) throws {
    let table = OutboxLogRecord.Properties.table
    let entity = try model.entity(named: OutboxLogRecord.entityName)
    let names = [
      table.sequence.name, table.transaction.name, table.author.name, table.enqueued.name, table.payload.name,
    ]
    slots = [Row.identifierSlot] + names.compactMap { entity.attribute(named: $0)?.slot }
  }

  func take(_ values: UnsafeMutablePointer<AttributeValue>) {
    defer { values.deinitialize(count: slots.count) }
    count += 1
    guard case .reference(let id) = values[0], case .data(let payload) = values[5] else { return }
    func value<T: AttributeConvertible>(_ index: Int) -> T { T(attributeValue: values[index]) ?? T.attributeDefault }
    let save = LoggedSave(id: id, sequence: value(1), transaction: value(2), author: value(3), enqueued: value(4))
    saves.append((save, payload))
  }
}
