import CoherenceCore
import CoherenceReconciliation

/// The end of a paged merge, which deletes the records that no page contains.
struct PagedDeletion {
  private let context: ActionContext
  private let scope: MergeScope
  private let layout: MergeLayout
  private let keys: PagedKeys
  private let input: KeyInput
  private let localEdits: LocalEdits?

  init(in context: ActionContext, scope: MergeScope, layout: MergeLayout, keys: PagedKeys, localEdits: LocalEdits?) {
    self.localEdits = localEdits
    self.context = context
    self.scope = scope
    self.layout = layout
    self.keys = keys
    // The keys of inserted records come first: an index below their number identifies a record new to the store.
    input = KeyInput(Array(keys.inserted) + keys.all.subtracting(keys.inserted), layout: layout)
  }

  /// Plans the deletions, and makes them in the context.
  ///
  /// - Throws: ``ErrorCode/excessiveDeletion``; ``ErrorCode/objectNotFound`` for a record that a page links to and no page
  ///   contains; errors of fetching.
  func run() throws -> UnsavedMerge {
    let targets = MergeTargets()
    let pending = try PendingReconciliation(in: context, scope, layout: layout)
    let inputByKey = try makeIndex()
    let scan = RowScan(
      layout.storedRows(in: context), inputByKey: inputByKey,
      expected: MergeExpectation(input, layout: layout, targets: targets, pending: nil),
      options: scope.scanOptions(layout))
    try scan.readAll(where: scope.subsetFilter)
    let condition = try MergeCondition(scope.condition, layout: layout, context: context)
    let allowed = try condition.filter(scan.superfluousRows, row: { $0 }, index: { _ in nil }, input: input)
    let deletes = try pending?.remainder(ofDeletes: allowed, keys.all) ?? allowed
    let matched = scan.matched
    let storedBefore = keys.inserted.count..<input.count
    try DeletionLimit(scope).check(
      deletes.count, of: storedBefore.count { matched.contains($0) } + scan.superfluousRows.count,
      isInputEmpty: keys.all.isEmpty)
    let deletedIDs = Set(deletes.map(\.id))
    let linked = keys.linkedIDs.values.map { $0.intersection(deletedIDs) }.filter { !$0.isEmpty }
    if !linked.isEmpty, scope.options.missingTargets == .fail {
      throw layout.deletedTargetsError(Set(linked.joined()))
    }
    try context.refuseIfCanceled()
    let full = MergePlan(inserts: [], updates: [], deletes: deletes, targets: targets)
    let plan = localEdits?.remainder(of: full) ?? full
    let basis = MergeBasis(
      context: context, scope: scope, layout: layout, condition: condition, input: input, inputByKey: inputByKey)
    var result = MergeResult()
    result.deleted = plan.deletes.count
    if !plan.isEmpty {
      let writer = MergeWriter(
        basis, insertingInto: nil, keeping: CascadeEdits(localEdits, pending),
        linkedIDs: Set(keys.linkedIDs.values.joined()))
      result.deleted -= try writer.apply(plan).deletions
    }
    pending?.forgetDecisions(over: full.recordIDs.subtracting(plan.recordIDs))
    try pending?.carryOut(countingIn: &result)
    result.missingLinks = linked.reduce(0) { $0 + $1.count }
    result.skipped = scan.superfluousRows.count - result.deleted
    let check = try CommitCheck(of: plan, from: basis, respectsPendingEdits: pending != nil)
    return UnsavedMerge(result: result, check: check)
  }

  private func makeIndex() throws -> InputIndex {
    let index = InputIndex(input, keyWidth: layout.keys.count)
    for record in 0..<input.count {
      _ = try index.insert(record, key: input.keys[record].values, replacesEarlier: false)
    }
    return index
  }
}
