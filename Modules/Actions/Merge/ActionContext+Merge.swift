import CoherenceCore

extension ActionContext {
  /// Makes the records of an entity equal to the given objects, told apart by the entity's uniqueness attributes, and
  /// saves.
  ///
  /// Objects whose key no record has are inserted: the instances themselves, so they must not belong to a context. Of
  /// other objects the attributes are copied, those that differ only; relationships are not. Records that no object
  /// has the key of are deleted. The order of the objects does not matter; merging the same objects again writes nothing.
  ///
  /// Must be called in the context: inside `perform` or `performAndWait`.
  ///
  /// - Parameters:
  ///   - ignoreAttributes: Attributes that are not copied to records that exist.
  ///   - subsetFilter: Limits deletion to the records that satisfy it. Objects are matched with all records.
  ///   - condition: Records that do not satisfy it are neither changed nor deleted.
  /// - Throws: ``ErrorCode/unmanagedEntity``; ``ErrorCode/invalidMergeKey`` for objects without a key or with the same
  ///   one, unless the options allow it; ``ErrorCode/wrongContext`` for an object of a context;
  ///   ``ErrorCode/cancelled`` when the action was canceled; errors of fetching and saving. A context without other
  ///   changes is rolled back then, and objects that were inserted cannot be used again.
  @discardableResult
  public func merge<O: ManagedObject>(
    objects: [O], for entity: EntityDescription, ignoreAttributes: [String] = [], subsetFilter: FetchPredicate? = nil,
    condition: FetchPredicate = .constant(true), options: MergeOptions = MergeOptions()
  ) throws -> MergeResult {
    let scope = MergeScope(
      entity: entity, ignoredAttributes: Set(ignoreAttributes), subsetFilter: subsetFilter, condition: condition,
      options: options)
    return try merge(scope) { keyAttributes in
      try objects.map { try ObjectMergeItem($0, for: entity, keyAttributes: keyAttributes) }
    }
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
    return try merge(scope) { keyAttributes in
      try records.map { try RecordMergeItem($0, for: entity, keyAttributes: keyAttributes) }
    }
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

  // MARK: The work

  private func merge(
    _ scope: MergeScope, items: ([AttributeDescription]) throws -> [any MergeItem]
  ) throws -> MergeResult {
    let keyAttributes = try uniquenessAttributes(of: scope.entity)
    let hadChanges = hasChanges
    do {
      var merge = try Merge(in: self, scope: scope, keyAttributes: keyAttributes, items: try items(keyAttributes))
      try merge.apply()
      try refuseIfCanceled()
      if hasChanges { try save() }
      return merge.result
    } catch {
      if !hadChanges { rollback() }
      throw error
    }
  }

  private func uniquenessAttributes(of entity: EntityDescription) throws -> [AttributeDescription] {
    guard !entity.name.isEmpty else {
      throw CoherenceError(.missingEntityName, "Entity does not have a name, cannot merge objects.")
    }
    guard let names = managed.uniquenessAttributes(of: entity) else {
      throw CoherenceError(.unmanagedEntity, "Entity '\(entity.name)' not managed, cannot merge objects.")
    }
    return names.compactMap { entity.attribute(named: $0) }
  }

  func refuseIfCanceled() throws {
    if isCanceled { throw CoherenceError(.cancelled, "The action was canceled; nothing was merged.") }
  }
}
