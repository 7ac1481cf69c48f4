public import CoherenceCore

extension PersistenceTransaction {
  /// Fetches models; see ``PersistenceManager/fetchModels(_:where:sort:limit:offset:context:)``.
  public func fetchModels<Model>(
    _ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil, sort: [SortKey] = [], limit: Int? = nil,
    offset: Int = 0
  ) throws -> [Model] {
    let binding = try BoundMapping(mapping, in: context)
    var request = binding.table.request(ManagedObject.self, where: predicate)
    request.sortKeys = sort
    request.fetchLimit = limit
    request.fetchOffset = offset
    var maker = ModelMaker(binding)
    var models: [Model] = []
    try context.forEachRow(of: request) { try maker.make($0, into: &models) }
    return models
  }

  /// Fetches the models of some uids; see ``PersistenceManager/fetchModels(_:uids:context:)``.
  public func fetchModels<Model, Uid: AttributeConvertible>(_ mapping: Mapping<Model>, uids: [Uid]) throws -> [Model] {
    let binding = try BoundMapping(mapping, in: context)
    let wanted = Set(try uids.map { try binding.table.checked($0.attributeValue) })
    let slot = binding.table.key.slot
    var maker = ModelMaker(binding)
    var models: [Model] = []
    try binding.table.reach(Array(wanted)) { predicate in
      try context.forEachRow(of: binding.table.request(ManagedObject.self, where: predicate)) { rows in
        try maker.make(predicate == nil ? rows.filter { wanted.contains($0[slot]) } : rows, into: &models)
      }
    }
    return models
  }

  /// Counts records; see ``PersistenceManager/count(_:where:context:)``.
  public func count<Model>(_ mapping: Mapping<Model>, where predicate: FetchPredicate? = nil) throws -> Int {
    let binding = try BoundMapping(mapping, in: context)
    return try context.count(for: binding.table.request(ManagedObject.self, where: predicate))
  }

  /// Saves models; see ``PersistenceManager/save(_:models:shouldOverwrite:duplicates:context:)``.
  @discardableResult
  public func save<Model>(
    _ mapping: Mapping<Model>, models: [Model], shouldOverwrite: Bool, duplicates: DuplicateUids = .lastWins
  ) throws -> SaveResult {
    try ModelSave(mapping, models, in: context, duplicates: duplicates).run(shouldOverwrite: shouldOverwrite)
  }

  /// Deletes the records of some uids by the model's delete rules.
  @discardableResult
  public func delete<Model, Uid: AttributeConvertible>(_ mapping: Mapping<Model>, uids: [Uid]) throws -> Int {
    let binding = try BoundMapping(mapping, in: context)
    let uids = try uids.map { try binding.table.checked($0.attributeValue) }
    return delete(try binding.table.records(ManagedObject.self, with: uids))
  }

  /// Deletes the records of some models by the model's delete rules.
  @discardableResult
  public func deleteModels<Model>(_ mapping: Mapping<Model>, models: [Model]) throws -> Int {
    let binding = try BoundMapping(mapping, in: context)
    let uids = try models.map { try binding.table.checked(binding.uid.access.get($0)) }
    return delete(try binding.table.records(ManagedObject.self, with: uids))
  }

  /// Deletes the records that satisfy a predicate by the model's delete rules; all for `nil`.
  @discardableResult
  public func delete<Model>(_ mapping: Mapping<Model>, where predicate: FetchPredicate?) throws -> Int {
    try delete(entityName: BoundMapping(mapping, in: context).table.entity.name, predicate: predicate)
  }
}
