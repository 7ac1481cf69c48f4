import CoherenceCore
import CoherenceReconciliation

/// A save of models through their records' class.
///
/// `fromModel` and the test whether a record may be replaced need an object. So the save fetches objects instead of
/// comparing rows in the store.
struct RecordSave<Record: RecordFromModel> {
  private let table: UidTable
  private let models: [Record.ModelType]
  private let uids: [AttributeValue]
  private let inputByKey: InputIndex
  private let marks: any SaveMarks<Record>
  private let readOnlyStores: ReadOnlyStores
  /// The store of new records; `nil` for the stores that the context chooses.
  private let store: (any PersistentStore)?
  private var result = SaveResult()

  /// - Throws: ``ErrorCode/invalidUid``; ``ErrorCode/duplicateUid``.
  init(
    _ models: [Record.ModelType], in context: ManagedObjectContext, duplicates: DuplicateUids,
    marks: some SaveMarks<Record>, insertingInto store: (any PersistentStore)?
  ) throws {
    table = try UidTable(Record.self, in: context)
    self.models = models
    self.marks = marks
    self.store = store
    readOnlyStores = ReadOnlyStores(of: context)
    let input = try UidInput(models.count, of: table) { models[$0].uid.attributeValue }
    uids = input.uids
    inputByKey = try input.index(of: table, duplicates: duplicates)
    result.skipped = inputByKey.excludedCount
  }

  /// Makes the changes in the context.
  ///
  /// - Parameter shouldOverwrite: Whether records without a model are removed, except for the records of read-only stores.
  mutating func run(shouldOverwrite: Bool) throws -> SaveResult {
    var matches: [Record?] = Array(repeating: nil, count: models.count)
    var (withoutModel, duplicates): ([Record], [Record]) = ([], [])
    var key = [AttributeValue.null]
    for record in try storedRecords(all: shouldOverwrite) {
      key[0] = try record.value(at: table.key.slot)
      guard let model = try inputByKey.index(of: key) else {
        if isWritable(record), try marks.mayReplace(record) { withoutModel.append(record) }
        continue
      }
      guard let other = matches[model] else {
        matches[model] = record
        continue
      }
      let isPreferred = try isPreferred(record, to: other)
      matches[model] = isPreferred ? record : other
      duplicates.append(isPreferred ? other : record)
    }
    // Several records of one uid may have edits that the server does not have. No edit may be lost.
    duplicates = try duplicates.filter { try isWritable($0) && marks.mayReplace($0) }
    var deleted: [ManagedObject] = []
    for record in duplicates { deleted.append(record) }
    for record in withoutModel where try marks.deletes(record) { deleted.append(record) }
    let cascades = CascadeTargets(
      table.rows, inputByKey: inputByKey, protection: marks.protection(in: table.context))
    let staying = try cascades.release(from: deleted)
    for record in duplicates where !staying.contains(record.objectID) {
      table.context.delete(record)
      result.deleted += 1
    }
    // The records to mark come first, because the delete rule of another record would mark them too.
    let marked = try withoutModel.filter { try !marks.deletes($0) }
    let removed = try marked + withoutModel.filter { try marks.deletes($0) }
    let targets = try marks.loadTargets(of: removed)
    try withExtendedLifetime(targets) {
      for record in removed where try !staying.contains(record.objectID) && marks.remove(record) { result.deleted += 1 }
    }
    for model in models.indices where !inputByKey.isExcluded(model) {
      try save(models[model], uids[model], in: matches[model])
    }
    return result
  }

  private func isWritable(_ record: Record) -> Bool { !readOnlyStores.contain(record.objectID) }

  /// Whether a record is kept rather than another record of its uid: first the record of a writable store, then the
  /// record that must not be replaced, then the older record.
  private func isPreferred(_ record: Record, to other: Record) throws -> Bool {
    if isWritable(record) != isWritable(other) { return isWritable(record) }
    let (mayReplace, mayReplaceOther) = (try marks.mayReplace(record), try marks.mayReplace(other))
    if mayReplace != mayReplaceOther { return mayReplaceOther }
    return record.objectID.isOlder(than: other.objectID)
  }

  /// Fetches all records, or the records of the models.
  private func storedRecords(all: Bool) throws -> [Record] {
    if all { return try table.context.fetch(table.request(Record.self, where: nil)) }
    return try table.records(Record.self, with: uids)
  }

  /// Assigns a model to its record, or to a new record without a match.
  private mutating func save(_ model: Record.ModelType, _ uid: AttributeValue, in match: Record?) throws {
    guard let match else {
      result.inserted += 1
      return try write(model, uid, to: insertRecord())
    }
    guard try marks.mayReplace(match) else {
      result.skipped += 1
      return
    }
    try write(model, uid, to: match)
    if match.hasChanges { result.updated += 1 } else { result.unchanged += 1 }
  }

  private func insertRecord() throws -> Record {
    guard let record = try table.context.insertNewObject(forEntityName: table.entity.name) as? Record else {
      throw CoherenceError(
        .modelDoesNotFit,
        "The records of '\(table.entity.name)' are not of class '\(Record.self)'; name the class in the entity.")
    }
    if let store { try table.context.assign(record, to: store) }
    return record
  }

  /// Assigns a model to a record, checks that the record has its uid then, and marks the record.
  private func write(_ model: Record.ModelType, _ uid: AttributeValue, to record: Record) throws {
    try record.fromModel(model)
    guard try record.value(at: table.key.slot) == uid else {
      throw CoherenceError(
        .modelDoesNotFit,
        "'\(Record.self).fromModel' does not assign the model's uid to '\(table.entity.name).\(table.key.name)'; assign "
          + "all attributes in it.")
    }
    try marks.mark(record)
  }
}
