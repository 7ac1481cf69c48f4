import CoherenceCore

extension ActionContext {
  /// Makes the records of an entity equal to the given objects, told apart by the entity's uniqueness attributes, and
  /// saves.
  ///
  /// Objects whose key no record has are inserted: the instances themselves, so they must not belong to a context. Of
  /// other objects the attributes are copied, those that differ only; relationships are not. Records that no object
  /// has the key of are deleted. The order of the objects does not matter; merging the same objects again writes nothing.
  ///
  /// The merge finds out all that is to be done before it does any of it, from one state of each store, and looks at
  /// cancellation on the way. Records that are as they should be cost neither an object nor memory. All changes are one
  /// save, one transaction for each store. Other changes that the context has are saved along.
  ///
  /// May be called from anywhere: the work is done in the context.
  ///
  /// - Parameters:
  ///   - ignoreAttributes: Attributes that are not copied to records that exist. For records, names of relationships too.
  ///   - subsetFilter: Limits deletion to the records that satisfy it. Objects are matched with all records.
  ///   - condition: Records that do not satisfy it are neither changed nor deleted. `existing.name` and plain `name`
  ///     are looked up at the record, `incoming.name` is the attribute of the object. For a record that is to be deleted
  ///     everything incoming is missing, and a comparison with it is false.
  /// - Throws: ``ErrorCode/unmanagedEntity``; ``ErrorCode/invalidMergeKey`` for objects without a key, or with the same
  ///   one, and for records with the same one, unless the options allow it; ``ErrorCode/wrongContext`` for an object of a
  ///   context; ``ErrorCode/cancelled`` when the action or its task was canceled; errors of fetching and saving. The
  ///   stores are as they were then. A context without other changes is rolled back, and objects that were inserted
  ///   cannot be used again; one with other changes is rolled back only if the caller does it.
  @discardableResult
  public func merge<O: ManagedObject>(
    objects: [O], for entity: EntityDescription, ignoreAttributes: [String] = [], subsetFilter: FetchPredicate? = nil,
    condition: FetchPredicate = .constant(true), options: MergeOptions = MergeOptions()
  ) throws -> MergeResult {
    let scope = MergeScope(
      entity: entity, ignoredAttributes: Set(ignoreAttributes), subsetFilter: subsetFilter, condition: condition,
      options: options)
    return try merge(scope) { try ObjectInput(objects, layout: $0) }
  }

  /// Makes the records of an entity equal to the given ones, told apart by the entity's uniqueness attributes, and
  /// saves. Relationships are set by the keys of their destinations, which must exist or be among the given records.
  ///
  /// - Throws: As for objects; also ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` and
  ///   ``ErrorCode/invalidValue`` for values that do not fit, and ``ErrorCode/objectNotFound`` for a key that no record
  ///   of the destination has.
  @discardableResult
  public func merge(
    records: [MergeRecord], for entity: EntityDescription, ignoreAttributes: [String] = [],
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions = MergeOptions()
  ) throws -> MergeResult {
    let scope = MergeScope(
      entity: entity, ignoredAttributes: Set(ignoreAttributes), subsetFilter: subsetFilter, condition: condition,
      options: options)
    return try merge(scope) { RecordInput(records, layout: $0) }
  }

  /// Makes the records of an entity equal to the given values by attribute; see
  /// ``merge(records:for:ignoreAttributes:subsetFilter:condition:options:)-1``.
  @discardableResult
  public func merge(
    records: [[String: any AttributeConvertible]], for entity: EntityDescription, ignoreAttributes: [String] = [],
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions = MergeOptions()
  ) throws -> MergeResult {
    try merge(
      records: records.map { MergeRecord($0) }, for: entity, ignoreAttributes: ignoreAttributes,
      subsetFilter: subsetFilter, condition: condition, options: options)
  }

  /// Makes the records of an entity equal to decoded ones, by the names of their properties; see
  /// ``MergeRecord/init(properties:for:)`` and ``merge(records:for:ignoreAttributes:subsetFilter:condition:options:)-1``.
  @discardableResult
  public func merge<Record: Decodable>(
    records: [Record], for entity: EntityDescription, ignoreAttributes: [String] = [],
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions = MergeOptions()
  ) throws -> MergeResult {
    try merge(
      records: try records.map { try MergeRecord(properties: $0, for: entity) }, for: entity,
      ignoreAttributes: ignoreAttributes, subsetFilter: subsetFilter, condition: condition, options: options)
  }

  // MARK: The work

  private func merge(_ scope: MergeScope, _ input: (MergeLayout) throws -> any MergeInput) throws -> MergeResult {
    try performMerge(of: scope.entity) {
      let layout = try layout(of: scope)
      let hadChanges = hasChanges
      do {
        var merge = try Merge(in: self, scope: scope, layout: layout, input: try input(layout))
        var result = try merge.run()
        try refuseIfCanceled()
        if scope.options.saves, hasChanges { try save(noting: &result) }
        return result
      } catch {
        if !hadChanges { rollback() }
        throw error
      }
    }
  }

  private func layout(of scope: MergeScope) throws -> MergeLayout {
    let entity = scope.entity
    guard !entity.name.isEmpty else {
      throw CoherenceError(.missingEntityName, "Entity does not have a name, cannot merge objects.")
    }
    guard let names = managed.uniquenessAttributes(of: entity),
      let own = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity.name], own == entity
    else {
      throw CoherenceError(.unmanagedEntity, "Entity '\(entity.name)' not managed, cannot merge objects.")
    }
    return MergeLayout(own, keyAttributes: names, ignoring: scope.ignoredAttributes)
  }

  func refuseIfCanceled() throws {
    if isCanceled || Task.isCancelled {
      throw CoherenceError(.cancelled, "The action was canceled, or its time is over; nothing was merged.")
    }
  }
}
