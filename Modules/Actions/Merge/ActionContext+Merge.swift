public import CoherenceCore
import CoherenceReconciliation

extension ActionContext {
  /// Makes the stored records of an entity equal to the given objects, matched by the entity's uniqueness attributes, and
  /// saves.
  ///
  /// Without options, a merge deletes the records whose key no object has, also for an empty array, as in Coherence 5.
  /// Records of subentities and records without a key stay. With options, only the mode ``MergeOptions/Mode/replace``
  /// deletes records for which no object has the key. The delete rules of the model follow, and may delete records that
  /// the merge alone would keep. A record whose key an object has is not deleted by the rule ``DeleteRule/cascade`` of a
  /// deleted record, nor is a record with an edit that would keep it from its own deletion; see
  /// ``MergeOptions/ConflictResolution`` and ``MergeOptions/PendingEditsPolicy``. It leaves the relationship instead. If
  /// its relationship back is required, its owner stays too, and so does each record that a staying record requires.
  /// Such a record counts as skipped.
  ///
  /// These rules concern the records that cascades reach. The deletion of a record that another record requires fails the
  /// merge, which changes nothing then, with ``ErrorCode/validationFailed`` or ``ErrorCode/deleteDenied``.
  ///
  /// An object with a new key is inserted itself, so it must not belong to a context. From other objects, the merge copies
  /// the attributes that differ, and no relationships. The order of the objects does not matter, and a second merge of the
  /// same objects writes nothing.
  ///
  /// The merge plans all changes from one state of each store before it makes the first, and checks for cancellation
  /// during the plan. A record equal to its input costs neither an object nor memory. Unless ``MergeOptions/saves`` is
  /// false, one save writes all changes, with other changes of the context, in one transaction for each store.
  ///
  /// Another writer may save between the plan and the save. A merge that loses such a race is rolled back and planned
  /// again from the newer records, as if it had begun after the other save. During the last attempt the stores keep
  /// other writers out. A lost race is an inserted key, a changed key, a record that the condition or the filter
  /// protects at the time of the save, and any conflict under the policy ``MergePolicy/error``; other policies resolve
  /// conflicts over records. Under the policy ``MergePolicy/objectTrumps`` of an action, a value of the input that the
  /// stored record had at the plan, and that another writer has changed with the record, is a lost race too: the record
  /// would have values of both writers. In a context with other changes the merge is planned once: the save leaves out a
  /// protected record, and other lost races are thrown. In any other context, with a condition or a filter that reads
  /// related records, the stores keep other writers out from the first plan on.
  ///
  /// An object whose insertion lost a race cannot be used again; the merge inserts a copy of it.
  ///
  /// May be called on any thread; the context does the work. The cost is one pass over the compared rows, an object for each
  /// difference, and one save.
  ///
  /// - Parameters:
  ///   - ignoreAttributes: The attributes that existing records keep.
  ///   - subsetFilter: Limits deletion to the records that satisfy the filter. Objects are matched with all records. For the
  ///     mode ``MergeOptions/Mode/replace`` alone.
  ///   - condition: Protects the records that do not satisfy it from being changed or deleted. `existing.name` and plain
  ///     `name` read the stored record, `incoming.name` reads the object. For a record to delete, every incoming value is
  ///     missing, and a comparison with a missing value is false.
  /// - Returns: The counts of the merge.
  /// - Throws: ``ErrorCode/unmanagedEntity``; ``ErrorCode/invalidMergeKey`` for missing and duplicate keys, unless the options
  ///   allow them; ``ErrorCode/wrongContext`` for an object of a context; the error of an assignment that an accessor
  ///   of an object has ignored, such as ``ErrorCode/invalidValue``; ``ErrorCode/unknownProperty`` for an ignored name
  ///   without a property; ``ErrorCode/excessiveDeletion`` above the deletion limit of the options;
  ///   ``ErrorCode/invalidMergeOption`` for options that contradict the other arguments; ``ErrorCode/storeDetached`` and
  ///   ``ErrorCode/noStore`` for ``MergeOptions/store``; ``ErrorCode/cancelled`` when the
  ///   action or its task was cancelled; ``ErrorCode/versionConflict`` with `isRetryable` set when the merge lost every race,
  ///   with stores without exclusive writing; errors of fetching and saving. The stores are unchanged then. A
  ///   context without other changes is rolled back, and inserted objects cannot be used again. A context with other changes
  ///   keeps the changes of the merge until the caller rolls it back.
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

  /// Updates the stored records of an entity with the given records, matched by the entity's uniqueness attributes, inserts
  /// the new ones, and saves.
  ///
  /// The merge deletes nothing, unless the options have the mode ``MergeOptions/Mode/replace``: then it deletes every record
  /// that the input does not contain. For content in pages, see
  /// ``mergePages(_:for:ignoreAttributes:subsetFilter:condition:options:)``.
  ///
  /// Links set relationships by the keys of the destinations, which must be stored or among the given records, and must not
  /// be deleted by the same merge, unless ``MergeOptions/missingTargets`` leaves such links out. A record to which a link
  /// leads is not deleted by the rule ``DeleteRule/cascade`` of a deleted record, like a record of the input. For races
  /// with other writers, threads and cost, see
  /// ``merge(objects:for:ignoreAttributes:subsetFilter:condition:options:)``.
  ///
  /// The message of an error over a key, a value or a missing link has the index of the input record, which begins at 0.
  /// Pages that are merged together are one input.
  ///
  /// - Parameters:
  ///   - ignoreAttributes: The attributes and relationships that existing records keep.
  ///   - subsetFilter: Limits deletion, as for objects.
  ///   - condition: Protects stored records, as for objects.
  /// - Returns: The counts of the merge.
  /// - Throws: As for objects; also ``ErrorCode/unknownProperty``, ``ErrorCode/wrongType`` and
  ///   ``ErrorCode/invalidValue`` for values that do not fit and for values of derived attributes,
  ///   ``ErrorCode/objectNotFound`` for a link to a record without a row or with a planned deletion unless the condition
  ///   protects the linking record or the options leave such links out, and ``ErrorCode/contradictoryLinks`` for links
  ///   that contradict each other.
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

  /// Updates and inserts records from values by attribute; see
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

  /// Updates and inserts records from decoded values, by the names of their properties; see
  /// ``MergeRecord/init(properties:for:leavingOut:)`` and
  /// ``merge(records:for:ignoreAttributes:subsetFilter:condition:options:)-([MergeRecord],_,_,_,_,_)``.
  ///
  /// - Parameter leavingOut: The names of properties to skip.
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

  // MARK: Planning and saving

  /// - Parameters:
  ///   - excludesWriters: As for ``reconcile(_:excludesWriters:_:)``.
  ///   - beforeSaving: Makes further changes for the save of the merge. Called after each plan, with the counts of the
  ///     plan, also if the plan changes no record.
  func merge(
    _ scope: MergeScope, excludesWriters: Bool = false, beforeSaving: (MergeResult) throws -> Void = { _ in },
    _ makeInput: (MergeLayout) throws -> any MergeInput
  ) throws -> MergeResult {
    // Later attempts use the input of the first, which knows the objects that a lost race has used up.
    var madeInput: (any MergeInput)?
    return try reconcile(scope, excludesWriters: excludesWriters) { layout, localEdits in
      let input = try madeInput ?? makeInput(layout)
      madeInput = input
      var merge = try Merge(in: self, scope: scope, layout: layout, input: input, localEdits: localEdits)
      let unsaved = try merge.run()
      try beforeSaving(unsaved.result)
      return unsaved
    }
  }

  /// Makes changes from the stored records, and saves them if the options say so. In a context without other changes,
  /// the changes are rolled back after an error, and changes to save are planned again after a lost race.
  ///
  /// - Parameters:
  ///   - excludesWriters: Whether the stores keep other writers out from the first plan on, because the changes cannot
  ///     be planned twice. Without effect in a context with other changes.
  ///   - makeChanges: Makes the changes in the context.
  func reconcile(
    _ scope: MergeScope, excludesWriters: Bool = false, _ makeChanges: (MergeLayout, LocalEdits?) throws -> UnsavedMerge
  ) throws -> MergeResult {
    try performMerge(of: scope.entity) {
      let layout = try layout(of: scope)
      let localEdits = scope.options.conflictResolution == .localWins ? LocalEdits(view: view) : nil
      let retry = PlanningRetry(in: self, savesParents: false)
      func attempt() throws -> MergeResult {
        let hadChanges = hasChanges
        return try retry.rollingBackOnError {
          var merge = try makeChanges(layout, localEdits)
          merge.check?.plansAgain = !hadChanges
          try refuseIfCanceled()
          if scope.options.saves, hasChanges { try save(&merge, scope.options) }
          return merge.result
        }
      }
      guard scope.options.saves else { return try attempt() }
      return try retry.planningAgain(
        afterRacesOver: layout.entity,
        startsExcluding: try excludesWriters || scope.readsRelatedRecords(layout, in: self)
      ) {
        try attempt()
      }
    }
  }

  /// Looks up the properties of a merge's entity, and checks the arguments of the merge.
  ///
  /// - Throws: ``ErrorCode/unmanagedEntity``; ``ErrorCode/missingEntityName``; the errors of ``MergeScope/check()``;
  ///   ``ErrorCode/storeDetached`` for the store of new records.
  func layout(of scope: MergeScope) throws -> MergeLayout {
    let entity = scope.entity
    guard !entity.name.isEmpty else {
      throw CoherenceError(
        .missingEntityName,
        "The entity has no name, so that nothing can be merged into it; use an entity of the container's model.")
    }
    guard let names = managed.uniquenessAttributes(of: entity),
      let modelEntity = persistentStoreCoordinator?.managedObjectModel.entitiesByName[entity.name],
      modelEntity == entity
    else {
      throw CoherenceError(
        .unmanagedEntity,
        "Entity '\(entity.name)' not managed, cannot merge objects. Start the Connect, attach a store with the entity, "
          + "and give the entity a key or a uniqueness constraint.")
    }
    try scope.check()
    _ = try store(of: scope.options)
    return MergeLayout(modelEntity, keyAttributes: names, ignoring: scope.ignoredAttributes)
  }

  /// Returns the store of new records that the options of a merge name.
  ///
  /// - Throws: ``ErrorCode/storeDetached``.
  func store(of options: MergeOptions) throws(CoherenceError) -> (any PersistentStore)? {
    guard let identifier = options.store else { return nil }
    guard let store = persistentStoreCoordinator?.persistentStore(with: identifier) else {
      throw CoherenceError(
        .storeDetached,
        "The store that the merge's options name for new records is not attached; attach it, or leave out `store`.")
    }
    return store
  }

  func refuseIfCanceled() throws {
    if isCanceled || Task.isCancelled {
      throw CoherenceError(
        .cancelled,
        "The action or its task was cancelled, or the action exceeded its time limit, so that the merge was not saved; "
          + "pages that a merge of pages had saved before stay saved.")
    }
  }
}
