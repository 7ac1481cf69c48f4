import CoherenceCore

/// A save of models through their records' class. It finds out first which record each model is for.
struct RecordSave<Record: RecordFromModel> {
  private let table: UidTable
  private let models: [Record.ModelType]
  private let index: UidIndex
  private let marks: any SaveMarks<Record>
  private var result = SaveResult()

  init(
    _ models: [Record.ModelType], in context: ManagedObjectContext, duplicates: DuplicateUids,
    marks: some SaveMarks<Record>
  ) throws {
    table = try UidTable(Record.self, in: context)
    self.models = models
    self.marks = marks
    index = try UidIndex(models.count, of: table, duplicates: duplicates) { models[$0].uid.attributeValue }
    result.skipped = index.skipped
  }

  mutating func run(shouldOverwrite: Bool) throws -> SaveResult {
    var matches: [Record?] = Array(repeating: nil, count: models.count)
    var (surplus, doubles): ([Record], [Record]) = ([], [])
    for record in try stored(shouldOverwrite) {
      guard let place = index[try record.value(at: table.key.slot)] else {
        if try marks.mayReplace(record) { surplus.append(record) }
        continue
      }
      guard let other = matches[place] else {
        matches[place] = record
        continue
      }
      let isPreferred = try isPreferred(record, to: other)
      matches[place] = isPreferred ? record : other
      doubles.append(isPreferred ? other : record)
    }
    for record in doubles { table.context.delete(record) }
    result.deleted = doubles.count
    for record in surplus where try marks.remove(record) { result.deleted += 1 }
    for place in models.indices {
      if let uid = index.uids[place] { try save(models[place], uid, in: matches[place]) }
    }
    return result
  }

  /// Which of two records of one uid is kept: the one that must not be replaced, else the older one.
  private func isPreferred(_ record: Record, to other: Record) throws -> Bool {
    let (mayReplace, mayReplaceOther) = (try marks.mayReplace(record), try marks.mayReplace(other))
    if mayReplace != mayReplaceOther { return mayReplaceOther }
    return record.objectID.isOlder(than: other.objectID)
  }

  /// The records that a model may be for; when records are to be overwritten, all that there are.
  private func stored(_ all: Bool) throws -> [Record] {
    if all { return try table.context.fetch(table.request(Record.self, where: nil)) }
    return try table.records(Record.self, with: index.uids.compactMap { $0 })
  }

  private mutating func save(_ model: Record.ModelType, _ uid: AttributeValue, in match: Record?) throws {
    guard let match else {
      result.inserted += 1
      return try write(model, uid, to: fresh())
    }
    guard try marks.mayReplace(match) else {
      result.skipped += 1
      return
    }
    try write(model, uid, to: match)
    if match.hasChanges { result.updated += 1 } else { result.unchanged += 1 }
  }

  private func fresh() throws -> Record {
    guard let record = try table.context.insertNewObject(forEntityName: table.entity.name) as? Record else {
      throw CoherenceError(
        .modelDoesNotFit, "Records of '\(table.entity.name)' are not of class '\(Record.self)'; name it in the model.")
    }
    return record
  }

  private func write(_ model: Record.ModelType, _ uid: AttributeValue, to record: Record) throws {
    try record.fromModel(model)
    guard try record.value(at: table.key.slot) == uid else {
      throw CoherenceError(
        .modelDoesNotFit,
        "'\(Record.self).fromModel' leaves another uid than the model's in '\(table.entity.name).\(table.key.name)'; "
          + "it is to set all attributes, that one too.")
    }
    try marks.note(record)
  }
}
