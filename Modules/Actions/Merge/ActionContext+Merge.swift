import CoherenceCore

extension ActionContext {
  /// Makes the records of an entity equal to the given objects, told apart by the entity's uniqueness attributes, and
  /// saves. Without options, records that no object has the key of are deleted, for an empty array all of them, as in
  /// Coherence 5; with options they are deleted in the mode ``MergeOptions/Mode/replace`` alone.
  ///
  /// Objects whose key no record has are inserted: the instances themselves, so they must not belong to a context. Of
  /// other objects the attributes are copied, those that differ only; relationships are not. The order of the objects
  /// does not matter; merging the same objects again writes nothing.
  ///
  /// The merge finds out all that is to be done before it does any of it, from one state of each store, and looks at
  /// cancellation on the way. Records that are as they should be cost neither an object nor memory. All changes are one
  /// save, one transaction for each store. Other changes that the context has are saved along.
  ///
  /// Other writers may save between the plan and the save. A merge that loses such a race is rolled back and planned again
  /// from the records that there are by then, as if it had begun after the other save; the last time the stores keep other
  /// writers out meanwhile, so that the merge comes through. A lost race is an inserted key, a changed key, a record that
  /// the condition or the filter protects by the time of the save, and any conflict under the policy
  /// ``MergePolicy/error``; with another policy, conflicts over records are resolved as the policy says. When the context
  /// has other changes, the merge is planned once: a protected record is left out of the save, and other lost races are
  /// thrown. A condition or a filter that looks at other records keeps writers out from the first plan on.
  ///
  /// Objects whose insertion lost a race cannot be used again: copies of them are inserted in their place.
  ///
  /// May be called from anywhere: the work is done in the context.
  ///
  /// - Parameters:
  ///   - ignoreAttributes: Attributes that are not copied to records that exist. For records, names of relationships
  ///     too.
  ///   - subsetFilter: Limits deletion to the records that satisfy it. Objects are matched with all records. For the
  ///     mode ``MergeOptions/Mode/replace`` alone.
  ///   - condition: Records that do not satisfy it are neither changed nor deleted. `existing.name` and plain `name`
  ///     are looked up at the record, `incoming.name` is the attribute of the object. For a record that is to be
  ///     deleted everything incoming is missing, and a comparison with it is false.
  /// - Throws: ``ErrorCode/unmanagedEntity``; ``ErrorCode/invalidMergeKey`` for objects without a key, or with the same
  ///   one, and for records with the same one, unless the options allow it; ``ErrorCode/wrongContext`` for an object of
  ///   a context; ``ErrorCode/unknownProperty`` for an ignored name that the entity does not have;
  ///   ``ErrorCode/excessiveDeletion`` when more would be deleted than the options allow,
  ///   ``ErrorCode/invalidMergeOption`` for options that contradict the other arguments; ``ErrorCode/cancelled`` when
  ///   the action or its task was canceled; ``ErrorCode/versionConflict`` with `isRetryable` set when every race was lost,
  ///   which happens only with stores that cannot keep other writers out; errors of fetching and saving. The stores are as
  ///   they were then. A context without other changes is rolled back, and objects that were inserted cannot be used
  ///   again; one with other changes is rolled back only if the caller does it.
  @discardableResult
  public func merge<O: ManagedObject>(
    objects: [O], for entity: EntityDescription, ignoreAttributes: [String] = [], subsetFilter: FetchPredicate? = nil,
    condition: FetchPredicate = .constant(true), options: MergeOptions = .replaceAll
  ) throws -> MergeResult {
    let scope = MergeScope(
      entity: entity, ignoredAttributes: Set(ignoreAttributes), subsetFilter: subsetFilter, condition: condition,
      options: options)
    return try merge(scope, excludesWriters: ObjectInput.areRelated(objects)) { try ObjectInput(objects, layout: $0) }
  }

  /// Updates the records of an entity with the given ones, told apart by the entity's uniqueness attributes, inserts
  /// those that are new, and saves. Nothing is deleted, unless the options have the mode ``MergeOptions/Mode/replace``:
  /// then all records are that the input does not name. For content that comes in pages see
  /// ``mergePages(_:for:ignoreAttributes:subsetFilter:condition:options:)``.
  ///
  /// Relationships are set by the keys of their destinations, which must exist or be among the given records, and must
  /// not be deleted by the same merge. A merge that loses a race to another writer is planned again, see
  /// ``merge(objects:for:ignoreAttributes:subsetFilter:condition:options:)``.
  ///
  /// - Throws: As for objects; also ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` and
  ///   ``ErrorCode/invalidValue`` for values that do not fit, ``ErrorCode/objectNotFound`` for a key that no record
  ///   of the destination has or whose record the merge would delete, and ``ErrorCode/contradictoryLinks`` for records
  ///   whose links contradict each other.
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

  /// Updates and inserts records by values of attributes; see
  /// ``merge(records:for:ignoreAttributes:subsetFilter:condition:options:)-([MergeRecord],_,_,_,_,_)``.
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

  /// Updates and inserts decoded records, by the names of their properties; see
  /// ``MergeRecord/init(properties:for:leavingOut:)`` and
  /// ``merge(records:for:ignoreAttributes:subsetFilter:condition:options:)-([MergeRecord],_,_,_,_,_)``.
  ///
  /// - Parameter leavingOut: The properties of the records that the entity does not have.
  @discardableResult
  public func merge<Record: Decodable>(
    records: [Record], for entity: EntityDescription, leavingOut: Set<String> = [], ignoreAttributes: [String] = [],
    subsetFilter: FetchPredicate? = nil, condition: FetchPredicate = .constant(true),
    options: MergeOptions = MergeOptions()
  ) throws -> MergeResult {
    try merge(
      records: try records.map { try MergeRecord(properties: $0, for: entity, leavingOut: leavingOut) }, for: entity,
      ignoreAttributes: ignoreAttributes, subsetFilter: subsetFilter, condition: condition, options: options)
  }

  // MARK: The work

  private func merge(
    _ scope: MergeScope, excludesWriters: Bool = false, _ input: (MergeLayout) throws -> any MergeInput
  ) throws -> MergeResult {
    var known: (any MergeInput)?
    return try reconcile(scope, excludesWriters: excludesWriters) { layout, localEdits in
      let input = try known ?? input(layout)
      known = input
      var merge = try Merge(in: self, scope: scope, layout: layout, input: input, localEdits: localEdits)
      return try merge.run()
    }
  }

  /// Applies changes to the stored records, and saves them as the options say. What failed is rolled back. When the save
  /// loses a race to another writer, the changes are planned again.
  ///
  /// - Parameters:
  ///   - excludesWriters: Whether the first plan has to be the last one.
  ///   - makeChanges: Makes the changes in the context.
  func reconcile(
    _ scope: MergeScope, excludesWriters: Bool = false, _ makeChanges: (MergeLayout, LocalEdits?) throws -> PlannedMerge
  ) throws -> MergeResult {
    try performMerge(of: scope.entity) {
      let layout = try layout(of: scope)
      let localEdits = scope.options.conflictResolution == .localWins ? LocalEdits(view: view) : nil
      func changes() throws -> PlannedMerge { try makeChanges(layout, localEdits) }
      // Other changes of the context cannot be planned again, and a rollback would lose them.
      guard scope.options.saves, !hasChanges else { return try reconcileOnce(scope, changes) }
      let startsExcluding = try excludesWriters || scope.looksAtOtherRecords(layout, in: self)
      return try planningAgain(afterRacesOver: layout.entity, startsExcluding: startsExcluding) {
        try reconcileOnce(scope, changes)
      }
    }
  }

  private func reconcileOnce(
    _ scope: MergeScope, _ changes: () throws -> PlannedMerge
  ) throws -> MergeResult {
    let hadChanges = hasChanges
    do {
      var planned = try changes()
      planned.check?.isRepeatable = !hadChanges
      try refuseIfCanceled()
      if scope.options.saves, hasChanges { try save(&planned, scope.options) }
      return planned.result
    } catch {
      if !hadChanges { rollback() }
      throw error
    }
  }

  func layout(of scope: MergeScope) throws -> MergeLayout {
    let entity = scope.entity
    guard !entity.name.isEmpty else {
      throw CoherenceError(.missingEntityName, "Entity does not have a name, cannot merge objects.")
    }
    guard let names = managed.uniquenessAttributes(of: entity),
      let own = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity.name], own == entity
    else {
      throw CoherenceError(.unmanagedEntity, "Entity '\(entity.name)' not managed, cannot merge objects.")
    }
    try scope.check()
    return MergeLayout(own, keyAttributes: names, ignoring: scope.ignoredAttributes)
  }

  func refuseIfCanceled() throws {
    if isCanceled || Task.isCancelled {
      throw CoherenceError(.cancelled, "The action was canceled, or its time is over; nothing was merged.")
    }
  }
}
