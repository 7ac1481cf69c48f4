extension ManagedObjectContext {
  /// Explains the execution of a request: the statements of the stores, the parts of the request that the context
  /// evaluates itself, with the reasons, and the stores' own plans.
  ///
  /// ```swift
  /// let request = FetchRequest(Album.self).filter { $0.title.hasPrefix(text) }.sort(\.year)
  /// print(try context.explain(request))
  /// ```
  /// The explanation describes an execution now; unsaved changes and the statistics of a store may change it. It
  /// contains no value. Makes no objects.
  ///
  /// To be called inside the context; the call waits for the store.
  ///
  /// Cost: one statement for each store, which reads no records. A store without ``QueryExplaining`` begins the fetch
  /// and ends it before its first row.
  ///
  /// - Throws: As ``fetch(_:)``.
  public final func explain<Result: ManagedObject>(_ request: FetchRequest<Result>) throws -> FetchExplanation {
    try operating {
      try preparingRead {
        let plan = try executablePlan(request, isReported: false)
        return FetchExplanation(plan, try plan.stores.map { try explanation(of: plan, by: $0) })
      }
    }
  }

  /// The explanation of a store's part of a plan.
  private final func explanation(
    of plan: FetchPlan, by store: any PersistentStore
  ) throws -> FetchExplanation.Store {
    let replacedCount = plan.needsOverlay && !plan.dependsOnUnsaved ? try unsavedStates(for: plan).replacedCount : 0
    let query =
      plan.isMergeable ? plan.orderedQuery(replacing: replacedCount) : plan.candidateQuery(replacing: replacedCount)
    let reader = try reader(for: store)
    if let reader = reader as? any QueryExplaining {
      return FetchExplanation.Store(
        typeName: store.type.name, isExplainedByStore: true, query: try reader.explain(query))
    }
    let fetch = try reader.fetch(query)
    fetch.cursor.close()
    return FetchExplanation.Store(
      typeName: store.type.name, isExplainedByStore: false,
      query: QueryExplanation(
        isPredicateExact: fetch.isPredicateExact, isOrderExact: fetch.isOrderExact, isRangeExact: fetch.isRangeExact))
  }
}

extension FetchExplanation {
  /// Makes an explanation by the same decisions as ``FetchExecution`` and ``StreamedFetch``.
  fileprivate init(_ plan: FetchPlan, _ stores: [Store]) {
    entityName = plan.query.entity.name
    self.stores = stores
    let isWhole = plan.query.limit == nil && plan.query.offset == 0
    let isPredicateExact = !plan.dependsOnUnsaved && stores.allSatisfy(\.query.isPredicateExact)
    let isOrderExact = plan.isMergeable && stores.allSatisfy(\.query.isOrderExact)
    predicate = plan.predicate == nil ? .nowhere : isPredicateExact ? .store : .context
    order = isOrderExact ? .store : .context
    let isRangeExact = isOrderExact && !plan.needsOverlay && stores.allSatisfy(\.query.isRangeExact)
    range = isWhole ? .nowhere : isRangeExact ? .store : .context
    orderText = plan.query.sortKeys.map(\.description) + ["key"]
    unsavedChanges = plan.dependsOnUnsaved ? .decisive : plan.needsOverlay ? .merged : .none
    streamsInBatches = isOrderExact
  }
}
