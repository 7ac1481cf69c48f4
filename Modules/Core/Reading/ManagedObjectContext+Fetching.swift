extension ManagedObjectContext {
  /// Returns the objects of the records that match a request, in its order.
  ///
  /// Unsaved changes of the context and its parents count, unless the request leaves them out: an inserted record is
  /// found, a deleted record is not, and a changed record is found by its new values. The meaning of predicates and the
  /// order are the same on every store; see ``SortKey`` for the order.
  ///
  /// A record is one object in a context: an object that the context already has is returned again, with its unsaved
  /// changes. All reads of one fetch are of one state of each store.
  ///
  /// Call it inside `perform`, or on the context's actor or thread; the call waits for the store. Before the read,
  /// deleted objects pass their delete rules on. The first operation of a turn of the main actor takes over the saves of
  /// others, as does each fetch of a context that belongs to a thread.
  ///
  /// Cost: one statement for each store, and one object for each new record. Unsaved changes of records to which
  /// predicate or order lead over relationships have the context evaluate the request over all records of the entity.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/invalidPredicate``,
  ///   ``ErrorCode/invalidFetchRequest``, ``ErrorCode/contextWithoutStore``, ``ErrorCode/noStore``,
  ///   ``ErrorCode/cancelled`` when the task is cancelled during the fetch, and errors of the store.
  public final func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    try operating {
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        let objects = try reading(request) { plan in try self.objects(of: plan) }
        awaken(objects)
        return objects.downcast(to: Result.self)
      } as: {
        .fetch(records: $0.count)
      }
    }
  }

  /// Returns the objects of the records that a plan finds.
  final func objects(of plan: FetchPlan) throws -> [ManagedObject] {
    var objects = ObjectSink(plan, in: self)
    try FetchExecution(plan, in: self).run(into: &objects)
    let result = objects.finish()
    try prefetch(plan.prefetches, of: result)
    return result
  }

  /// The entity that a request is for, in reports to observers.
  final func name<Result: ManagedObject>(of request: FetchRequest<Result>) -> String {
    request.entityName ?? "\(Result.self)"
  }

  /// Returns the number of records that a fetch would return, within its limit and offset.
  ///
  /// Makes no objects. A store with an exact count returns no rows, unless predicate or order lead to unsaved records over
  /// relationships, or hundreds of saved records have unsaved changes.
  ///
  /// - Throws: As ``fetch(_:)``.
  public final func count<Result: ManagedObject>(for request: FetchRequest<Result>) throws -> Int {
    try operating {
      try reading(request) { plan in
        try count(of: plan)
      }
    }
  }

  /// Returns the number of records that a plan finds, within its range.
  final func count(of plan: FetchPlan) throws -> Int {
    let plan = plan.unordered()
    if let count = try FetchExecution(plan, in: self).storedCount() { return count }
    var counted = CountSink()
    try FetchExecution(plan, in: self).run(into: &counted)
    return counted.count
  }

  /// Makes a group of objects from different reads, so that their relationships are read together.
  final func group(_ objects: [ManagedObject]) {
    let group = storage.groups.make(.fetch)
    for object in objects where !object.recordID.isTemporaryID {
      object.groupNumber = group.number
      object.groupIndex = group.add(object.recordID)
    }
    storage.groups.enter(group)
  }
}

extension [ManagedObject] {
  /// Returns the array as objects of their known class, without looking at the elements.
  func downcast<Object: ManagedObject>(to type: Object.Type) -> [Object] {
    // The plan has checked the class of the entity's objects, and references have one layout for every class.
    return unsafeBitCast(self, to: [Object].self)
  }
}
