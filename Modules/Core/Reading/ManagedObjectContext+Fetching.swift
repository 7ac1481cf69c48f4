extension ManagedObjectContext {
  /// Finds records and returns their objects.
  ///
  /// What the context and its parents have not saved is taken into account, by the same evaluator that defines what a
  /// predicate means. The order is total: see ``SortKey``.
  ///
  /// - Throws: ``ErrorCode/unknownEntity``, ``ErrorCode/unknownProperty``, ``ErrorCode/invalidPredicate``,
  ///   ``ErrorCode/invalidFetchRequest``, ``ErrorCode/noStore``, ``ErrorCode/cancelled``, and errors of the store.
  public final func fetch<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> [Result] {
    try operating {
      try measured(StackOperation(.fetch, name(of: request)), ifFailed: .fetch(records: 0)) {
        try reading(request) { plan in
          var objects = ObjectSink(plan, in: self)
          try FetchExecution(plan, in: self).run(into: &objects)
          let result = objects.finish().downcast(to: Result.self)
          try prefetch(plan.prefetches, of: result)
          return result
        }
      } as: {
        .fetch(records: $0.count)
      }
    }
  }

  /// The entity that a request is for, in reports to observers.
  final func name<Result: ManagedObject>(of request: FetchRequest<Result>) -> String {
    request.entityName ?? "\(Result.self)"
  }

  /// Counts the records that a fetch would find, its limit and offset applied.
  ///
  /// - Throws: As ``fetch(_:)``.
  public final func count<Result: ManagedObject>(for request: FetchRequest<Result>) throws -> Int {
    try operating {
      try reading(request) { plan in
        let plan = plan.unordered()
        if !plan.needsOverlay, plan.stores.count == 1, let count = try reader(for: plan.stores[0]).count(plan.query) {
          return count
        }
        var counted = CountSink()
        try FetchExecution(plan, in: self).run(into: &counted)
        return counted.count
      }
    }
  }

  /// Makes one group of objects from different reads.
  final func group(_ objects: [ManagedObject]) {
    let group = storage.groups.make(.fetch)
    for object in objects where !object.id.isTemporaryID {
      object.groupNumber = group.number
      object.groupIndex = group.add(object.id)
    }
    storage.groups.enter(group)
  }

  /// The members of a to-many relationship that satisfy a predicate, in the relationship's order.
  final func filteredMembers<Member: ManagedObject>(
    of relationship: RelationshipDescription, owner: ManagedObject, by predicate: FetchPredicate
  ) throws -> [Member] {
    try processDeletes()
    let members = try owner.memberIDs(of: relationship)
    var request = FetchRequest<ManagedObject>(entityName: relationship.destination.name)
    request.predicate =
      relationship.inverse?.isToMany == false && !owner.id.isTemporaryID
      ? .and([
        .comparison(.path(PropertyPath(names: [relationship.inverse!.name])), .equal, .value(.reference(owner.id))),
        predicate,
      ])
      : .and([.membership(.path(.own), in: members.map(AttributeValue.reference)), predicate])
    let found = Dictionary(try fetch(request).map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    return members.compactMap { found[$0] as? Member }
  }
}

extension ManagedObject {
  final func filteredMembers<Member: ManagedObject>(
    of relationship: RelationshipDescription, by predicate: FetchPredicate
  ) throws -> [Member] {
    check()
    guard let context = managedObjectContext else { throw gone() }
    return try context.filteredMembers(of: relationship, owner: self, by: predicate)
  }
}

extension [ManagedObject] {
  /// The same array, as objects of their known class.
  fileprivate func downcast<Object: ManagedObject>(to type: Object.Type) -> [Object] {
    // References are the same for every class.
    return unsafeBitCast(self, to: [Object].self)
  }
}
