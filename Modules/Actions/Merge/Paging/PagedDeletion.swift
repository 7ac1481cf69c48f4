import CoherenceCore

/// The end of a paged merge: deletes the records that no page named.
struct PagedDeletion {
  private let context: ActionContext
  private let scope: MergeScope
  private let layout: MergeLayout
  private let names: PagedNames
  private let input: KeyInput
  private let localEdits: LocalEdits?

  init(
    in context: ActionContext, scope: MergeScope, layout: MergeLayout, names: PagedNames, localEdits: LocalEdits?
  ) {
    self.localEdits = localEdits
    self.context = context
    self.scope = scope
    self.layout = layout
    self.names = names
    // The keys of inserted records come first, so that their places tell them from the stored ones.
    input = KeyInput(Array(names.insertedKeys) + names.keys.subtracting(names.insertedKeys), layout: layout)
  }

  /// - Throws: ``ErrorCode/excessiveDeletion``; ``ErrorCode/objectNotFound`` for a record that a page links to and no
  ///   page names; errors of fetching.
  func run() throws -> PlannedMerge {
    let targets = try MergeTargets([:], layout: layout, context: context) { _ in nil }
    let index = try index()
    let scan = try scan(targets, index)
    let condition = try MergeCondition(scope.condition, layout: layout, context: context)
    let deletes = try condition.admitted(scan.surplus, row: { $0 }, place: { _ in nil }, input: input)
    let storedPlaces = names.insertedKeys.count..<input.count
    try DeletionLimit(scope).check(
      deletes.count, of: storedPlaces.count { scan.matched.contains($0) } + scan.surplus.count,
      isInputEmpty: names.keys.isEmpty)
    let linked = names.linkedIDs.intersection(deletes.map(\.id))
    if !linked.isEmpty { throw layout.deletedTargets(linked) }
    try context.refuseIfCanceled()
    let wanted = MergeWork(inserts: [], updates: [], deletes: deletes, targets: targets)
    let work = localEdits?.allowed(of: wanted) ?? wanted
    if !work.isEmpty { try MergeWriter(context: context, input: input, layout: layout).write(work) }
    var result = MergeResult()
    result.deleted = work.deletes.count
    result.skipped = scan.surplus.count - work.deletes.count
    let check = try CommitCheck(
      of: work, scope: scope, condition: condition, layout: layout, index: index, input: input, context: context)
    return PlannedMerge(result: result, check: check)
  }

  private func index() throws -> MergeIndex {
    var index = MergeIndex(input, keyCount: layout.keys.count)
    for place in 0..<input.count { _ = try index.enter(place, key: input.keys[place].values, replacing: false) }
    return index
  }

  /// Puts all records in the merge's filter to the keys.
  private func scan(_ targets: MergeTargets, _ index: MergeIndex) throws -> MergeScan {
    let scan = MergeScan(
      input, index: index, layout: layout, options: scope.options, targets: targets,
      refuseIfCanceled: context.refuseIfCanceled)
    scan.collectsSurplus = true
    try MergeReach(context: context, entity: layout.entity, keyAttributes: layout.keys.map(\.description))
      .visitAll(where: scope.subsetFilter, with: scan)
    return scan
  }
}
