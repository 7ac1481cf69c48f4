import CoherenceCore
import CoherenceReconciliation

/// A save of models through a mapping. Rows are compared with their models in the store, and only rows that differ
/// become objects.
struct ModelSave<Model: Codable & SendableMetatype> {
  private let table: UidTable
  private let inputByKey: InputIndex
  private let expectation: ModelExpectation<Model>
  /// The store of new records; `nil` for the stores that the context chooses.
  private let store: (any PersistentStore)?

  /// - Throws: ``ErrorCode/invalidUid``; ``ErrorCode/duplicateUid``; ``ErrorCode/modelDoesNotFit`` for a mapping that
  ///   does not fit its entity, and for a derived attribute as the key.
  init(
    _ mapping: Mapping<Model>, _ models: [Model], in context: ManagedObjectContext, duplicates: DuplicateUids,
    insertingInto store: (any PersistentStore)?
  ) throws {
    let binding = try BoundMapping(mapping, in: context)
    try binding.checkKeyIsWritten()
    table = binding.table
    let uids = try UidInput(models.count, of: binding.table) { try binding.uid.access.get(models[$0]) }
    inputByKey = try uids.index(of: binding.table, duplicates: duplicates)
    expectation = ModelExpectation(binding, models)
    self.store = store
  }

  /// Makes the changes in the context.
  ///
  /// - Parameter shouldOverwrite: Whether records without a model are deleted, except for the records of read-only stores.
  func run(shouldOverwrite: Bool) throws -> SaveResult {
    let options = ScanOptions(duplicates: .remove, includesSubentities: true, includesIncompleteKeys: true)
    let scan = RowScan(table.rows, inputByKey: inputByKey, expected: expectation, options: options)
    if shouldOverwrite { try scan.readAll(where: nil) } else { try scan.readUnmatched() }
    try scan.resolveDuplicates()
    return try apply(scan)
  }

  /// Inserts, updates and deletes the records that the scan has found to differ from the models.
  private func apply(_ scan: RowScan) throws -> SaveResult {
    let context = table.context
    let inserts = inputByKey.indexes(notIn: scan.matched)
    var values: [AttributeValue?] = []
    let superfluous = context.objects(for: scan.superfluousRows)
    let staying = try CascadeTargets(table.rows, inputByKey: inputByKey, protection: nil).release(from: superfluous)
    for object in superfluous where !staying.contains(object.objectID) { context.delete(object) }
    for (change, object) in zip(scan.changes, context.objects(for: scan.changes.map(\.row))) {
      try expectation.assign(change.index, to: object, &values)
    }
    for model in inserts {
      let object = try context.insertNewObject(forEntityName: table.entity.name)
      if let store { try context.assign(object, to: store) }
      try expectation.assign(model, to: object, &values)
    }
    var result = SaveResult()
    result.inserted = inserts.count
    result.updated = scan.changes.count
    result.unchanged = scan.matched.count - scan.changes.count
    result.deleted = scan.superfluousRows.count - staying.count
    result.skipped = inputByKey.excludedCount
    return result
  }
}
