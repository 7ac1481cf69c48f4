public import CoherenceCore
import CoherenceReconciliation

extension PersistenceTransaction {
  /// Fetches the models of the records that satisfy a condition, with the changes of the transaction; see
  /// ``PersistenceManager/fetchModels(_:where:sort:limit:offset:context:)``.
  public func fetchModels<Model>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil, sort: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0
  ) throws -> [Model] {
    let binding = try BoundMapping(mapping, in: context)
    var request = binding.table.request(ManagedObject.self, where: predicate)
    request.sortKeys = sort
    request.fetchLimit = limit
    request.fetchOffset = offset
    return try models(binding) { maker in try context.read(request, into: maker) }
  }

  /// Fetches the models of some uids, with the changes of the transaction; see
  /// ``PersistenceManager/fetchModels(_:uids:context:)``.
  public func fetchModels<Model, Uid: AttributeConvertible>(_ mapping: Mapping<Model>, uids: [Uid]) throws -> [Model] {
    let binding = try BoundMapping(mapping, in: context)
    let wanted = Set(try uids.map { try binding.table.checked($0.attributeValue) })
    return try models(binding) { maker in
      try binding.table.rows.forEachPredicate(matching: KeyColumns(Array(wanted))) { predicate in
        // Without a predicate, because a pass over all rows costs less, the maker skips the rows of other uids.
        maker.wanted = predicate == nil ? wanted : nil
        try context.read(binding.table.request(ManagedObject.self, where: predicate), into: maker)
      }
    }
  }

  /// Makes models from the values that a closure reads. Most models are assembled from the values without a decoder. If
  /// a record does not fit an assembled model, all records are read again and decoded.
  private func models<Model>(
    _ binding: BoundMapping<Model>, _ read: (ModelMaker<Model>) throws -> Void
  ) throws -> [Model] {
    do {
      let maker = ModelMaker(binding)
      try read(maker)
      return maker.finish()
    } catch is DecodingNeeded {
      let maker = ModelMaker(binding, alwaysDecodes: true)
      try read(maker)
      return maker.finish()
    }
  }

  /// Fetches the model of a uid; see ``PersistenceManager/fetchModel(_:uid:context:)``.
  public func fetchModel<Model, Uid: AttributeConvertible>(_ mapping: Mapping<Model>, uid: Uid) throws -> Model? {
    try fetchModels(mapping, uids: [uid]).first
  }

  /// Counts the records that satisfy a condition, with the changes of the transaction; see
  /// ``PersistenceManager/count(_:where:context:)``.
  public func count<Model>(_ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil) throws -> Int {
    let binding = try BoundMapping(mapping, in: context)
    return try context.count(for: binding.table.request(ManagedObject.self, where: predicate))
  }

  /// Saves models as records at the end of the transaction; see
  /// ``PersistenceManager/save(_:models:shouldOverwrite:duplicates:in:context:)``. An error fails the transaction, even
  /// if the block catches the error.
  @discardableResult
  public func save<Model>(
    _ mapping: Mapping<Model>, models: [Model], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins,
    in store: (any PersistentStore)? = nil
  ) throws -> SaveResult {
    let save = try ModelSave(mapping, models, in: context, duplicates: duplicates, insertingInto: store)
    return try state.failing { try save.run(shouldOverwrite: shouldOverwrite) }
  }

  /// Deletes the records of some uids by the delete rules of the entities. Uids without a record are skipped.
  ///
  /// - Returns: The number of deleted records, without the records that delete rules added.
  /// - Throws: ``ErrorCode/invalidUid``; ``ErrorCode/unknownEntity`` and ``ErrorCode/modelDoesNotFit`` for a mapping that
  ///   does not fit its entity; errors of fetching.
  @discardableResult
  public func delete<Model, Uid: AttributeConvertible>(_ mapping: Mapping<Model>, uids: [Uid]) throws -> Int {
    let binding = try BoundMapping(mapping, in: context)
    let uids = try uids.map { try binding.table.checked($0.attributeValue) }
    return delete(try binding.table.records(ManagedObject.self, with: uids))
  }

  /// Deletes the records of some models by the delete rules of the entities; see ``delete(_:uids:)``.
  ///
  /// - Returns: The number of deleted records, without the records that delete rules added.
  @discardableResult
  public func deleteModels<Model>(_ mapping: Mapping<Model>, models: [Model]) throws -> Int {
    let binding = try BoundMapping(mapping, in: context)
    let uids = try models.map { try binding.table.checked(binding.uid.access.get($0)) }
    return delete(try binding.table.records(ManagedObject.self, with: uids))
  }

  /// Deletes the records that satisfy a predicate by the delete rules of the entities; with `nil`, all records.
  ///
  /// - Returns: The number of deleted records, without the records that delete rules added.
  @discardableResult
  public func delete<Model>(_ mapping: Mapping<Model>, where predicate: FetchPredicate?) throws -> Int {
    try delete(entityName: BoundMapping(mapping, in: context).table.entity.name, predicate: predicate)
  }
}
