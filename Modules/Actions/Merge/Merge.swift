import CoherenceCore
import CoherenceReconciliation

/// The execution of one merge, which plans all changes before it makes the first.
struct Merge {
  private let basis: MergeBasis
  /// The edits that win over the input; `nil` unless the options let local edits win.
  private let localEdits: LocalEdits?
  private var result = MergeResult()
  /// The number of stored records that the merge may keep or delete, in the mode ``MergeOptions/Mode/replace``.
  private var storedCount = 0
  /// The plan of ``run()``; `nil` before.
  private var plan: MergePlan?
  /// The indexes of the input records whose differing records the condition protects; empty before ``run()``.
  private var protected: Set<Int> = []
  /// The reconciliation with pending edits; `nil` if no record or destination of the merge can have pending edits.
  private let pending: PendingReconciliation?

  /// - Throws: ``ErrorCode/unknownProperty`` and ``ErrorCode/invalidPredicate`` for an invalid condition; errors of the
  ///   source of pending edits.
  init(
    in context: ActionContext, scope: MergeScope, layout: MergeLayout, input: any MergeInput, localEdits: LocalEdits?
  ) throws {
    self.localEdits = localEdits
    basis = MergeBasis(
      context: context, scope: scope, layout: layout,
      condition: try MergeCondition(scope.condition, layout: layout, context: context), input: input,
      inputByKey: InputIndex(input, keyWidth: layout.keys.count))
    pending = try PendingReconciliation(in: context, scope, layout: layout)
  }

  private var context: ActionContext { basis.context }
  private var scope: MergeScope { basis.scope }
  private var layout: MergeLayout { basis.layout }
  private var input: any MergeInput { basis.input }
  private var condition: MergeCondition { basis.condition }
  private var inputByKey: InputIndex { basis.inputByKey }

  /// Plans the merge, and makes its changes in the context. Called once.
  mutating func run() throws -> UnsavedMerge {
    let plan = try makePlan()
    self.plan = plan
    try context.refuseIfCanceled()
    if !plan.isEmpty {
      let store = try context.store(of: scope.options)
      let cascadeEdits = CascadeEdits(localEdits, pending)
      let linkedIDs = try linkedIDs(of: plan)
      let writer = MergeWriter(basis, insertingInto: store, keeping: cascadeEdits, linkedIDs: linkedIDs)
      let omitted = try writer.apply(plan)
      result.updated -= omitted.updates + omitted.equalUpdates
      result.unchanged += omitted.equalUpdates
      result.deleted -= omitted.deletions
      result.skipped += omitted.updates + omitted.deletions
    }
    try pending?.carryOut(countingIn: &result)
    return UnsavedMerge(result: result, check: try commitCheck(plan))
  }

  private func commitCheck(_ plan: MergePlan) throws -> CommitCheck? {
    guard !plan.updates.isEmpty || !plan.deletes.isEmpty || pending?.decisions.isEmpty == false else { return nil }
    return try CommitCheck(of: plan, from: basis, respectsPendingEdits: pending != nil)
  }

  // MARK: Keys and links of the input

  /// Adds the input records to the index by their keys, and excludes duplicates and records without a complete key.
  private mutating func indexInput() throws {
    var key = [AttributeValue](repeating: .null, count: layout.keys.count)
    let replacesEarlier = scope.options.duplicates == .lastWins
    for record in 0..<input.count {
      if record % 1024 == 0 { try context.refuseIfCanceled() }
      try input.readKey(record, into: &key)
      if key.isIncompleteKey {
        if scope.options.missingKeys == .fail { throw missingKeyError(record) }
        inputByKey.exclude(record)
      } else if try inputByKey.insert(record, key: key, replacesEarlier: replacesEarlier),
        scope.options.duplicates == .fail
      {
        throw duplicateKeyError(record)
      }
    }
    result.skipped += inputByKey.excludedCount
  }

  /// Returns the keys of the links, by relationship. Called after `indexInput`, because a record may exclude an earlier
  /// one, whose links need no destinations.
  private func linkedKeys() throws -> [RelationshipDescription: Set<MergeKey>] {
    var links: [RelationshipDescription: Set<MergeKey>] = [:]
    for record in 0..<input.count {
      if record % 1024 == 0 { try context.refuseIfCanceled() }
      // Reading the links of an excluded record too finds unknown names in any input.
      for (relationship, link) in try input.links(record) where !inputByKey.isExcluded(record) {
        links[relationship, default: []].formUnion(link.keys)
      }
    }
    return links
  }

  private func missingKeyError(_ record: Int) -> CoherenceError {
    CoherenceError(
      .invalidMergeKey,
      "Input record \(record) for '\(layout.entity.name)' lacks a value for its key \(layout.keyNames); give it the "
        + "value, or set `missingKeys` to `.skip`.")
  }

  private func duplicateKeyError(_ record: Int) -> CoherenceError {
    CoherenceError(
      .invalidMergeKey,
      "Input record \(record) for '\(layout.entity.name)' has the same key \(layout.keyNames) as an earlier one; send one "
        + "of them, or choose a policy for `duplicates`.")
  }

  // MARK: Planning

  /// Compares the input with the stored rows, and plans the changes.
  private mutating func makePlan() throws -> MergePlan {
    try indexInput()
    let links = try linkedKeys()
    try LinkConsistency(input: input, layout: layout, inputByKey: inputByKey).check(Set(links.keys))
    let targets = try MergeTargets(
      links, layout: layout, context: context, inputByKey: inputByKey, pending: pending,
      scope.options)
    let expectation = MergeExpectation(input, layout: layout, targets: targets, pending: pending)
    let scan = RowScan(
      layout.storedRows(in: context), inputByKey: inputByKey, expected: expectation, options: scope.scanOptions(layout))
    try read(scan)
    let lists = try MemberComparison(input: input, layout: layout, targets: targets, context: context)
      .differing(of: expectation.listOwners)
    return try plan(scan, targets, lists)
  }

  /// Scans the rows that the merge may delete, then the rows of the input's keys.
  private mutating func read(_ scan: RowScan) throws {
    if scope.options.mode == .replace {
      try scan.readAll(where: scope.subsetFilter)
      try scan.resolveDuplicates(where: scope.subsetFilter)
      storedCount = scan.matched.count + scan.superfluousRows.count
      // Without a subset filter all rows were read: a record without a row is new.
      if scope.subsetFilter == nil { return }
    }
    try scan.readUnmatched()
    try scan.resolveDuplicates()
  }

  /// Plans the changes that the condition, the pending edits and the local edits allow. Throws above the deletion
  /// limit.
  private mutating func plan(
    _ scan: RowScan, _ targets: MergeTargets, _ lists: [MemberComparison.ExpectedMembers]
  ) throws -> MergePlan {
    let updates = try updates(scan, lists)
    let allowedUpdates = try condition.filter(updates, row: \.row, index: \.index, input: input)
    let allowedDeletes = try condition.filter(scan.superfluousRows, row: { $0 }, index: { _ in nil }, input: input)
    let planned = PendingReconciliation.Changes(
      inserts: inputByKey.indexes(notIn: scan.matched), updates: allowedUpdates, deletes: allowedDeletes)
    try targets.refuseMissing(in: input, layout, inserts: planned.inserts, updates: allowedUpdates.map(\.index))
    let allowed =
      try pending?.remainder(of: planned, .init(input: input, inputByKey: inputByKey, targets: targets)) ?? planned
    let deletes = allowed.deletes
    if scope.options.mode == .replace {
      try DeletionLimit(scope).check(
        deletes.count, of: max(storedCount, deletes.count), isInputEmpty: inputByKey.excludedCount == input.count)
    }
    protected = Set(updates.map(\.index)).subtracting(allowedUpdates.map(\.index))
    let full: MergePlan
    switch scope.options.missingTargets {
    case .fail:
      try refuseLinks(to: deletes, matched: scan.matched, targets)
      full = MergePlan(allowed, targets: targets)
    case .leaveOut: full = try planLeavingOutLinks(of: allowed, targets)
    }
    let plan = localEdits?.remainder(of: full) ?? full
    pending?.forgetDecisions(over: full.recordIDs.subtracting(plan.recordIDs))
    result.inserted = plan.inserts.count
    result.updated = plan.updates.count
    result.unchanged = scan.matched.count - updates.count
    result.deleted = plan.deletes.count
    result.skipped += updates.count + scan.superfluousRows.count - allowedUpdates.count - allowedDeletes.count
    result.skipped += planned.count - plan.count
    return plan
  }

  /// The plan without links to missing records, and to records that the plan deletes. Counts the links.
  private mutating func planLeavingOutLinks(
    of allowed: PendingReconciliation.Changes, _ targets: MergeTargets
  ) throws -> MergePlan {
    var (allowed, targets) = (allowed, targets)
    targets.leaveOut(Set(allowed.deletes.map(\.id)))
    let missing = MissingLinks(input: input, inputByKey: inputByKey, layout: layout, targets: targets)
    allowed.inserts = try missing.remainder(of: allowed.inserts)
    allowed.updates = try missing.keepingTargets(of: allowed.updates)
    result.missingLinks = try missing.count(besides: protected)
    return MergePlan(allowed, targets: targets)
  }

  /// The updates of records whose attributes, to-one relationships or members differ.
  private func updates(
    _ scan: RowScan, _ lists: [MemberComparison.ExpectedMembers]
  ) throws -> [MergePlan.Update] {
    let listsByIndex = Dictionary(grouping: lists, by: \.index)
    let changed = Set(scan.changes.map(\.index))
    let rows = try context.rows(of: lists.filter { !changed.contains($0.index) }.map(\.owner))
    var updates = scan.changes.map { change in
      MergePlan.Update(index: change.index, row: change.row, lists: listsByIndex[change.index] ?? [])
    }
    for (index, group) in listsByIndex.sorted(by: { $0.key < $1.key }) where !changed.contains(index) {
      guard let row = rows[group[0].owner] else { continue }
      updates.append(MergePlan.Update(index: index, row: row, lists: group))
    }
    return updates
  }

  /// Refuses input that links to a record which the same merge deletes: the link would be cleared, and a second merge of
  /// the same input would fail.
  ///
  /// - Parameter matched: The indexes of input records with a row.
  private func refuseLinks(to deletes: [Row], matched: IndexBits, _ targets: MergeTargets) throws {
    guard !deletes.isEmpty else { return }
    let deletedIDs = Set(deletes.map(\.id))
    let affected = layout.ownRelationships.filter { !targets.existingIDs(of: $0).isDisjoint(with: deletedIDs) }
    guard !affected.isEmpty else { return }
    var linked: Set<ManagedObjectID> = []
    for record in 0..<input.count where !inputByKey.isExcluded(record) && !protected.contains(record) {
      for (relationship, link) in try input.links(record) where affected.contains(relationship) {
        if layout.ignores(relationship), matched.contains(record) { continue }
        for case .existing(let id)? in link.keys.map({ targets.target($0, of: relationship) }) { linked.insert(id) }
      }
    }
    linked.formIntersection(deletedIDs)
    if !linked.isEmpty { throw layout.deletedTargetsError(linked) }
  }
}

// MARK: - Pages

extension Merge {
  /// Returns the keys and the link destinations of the input, for the deletion at the end of a paged merge. Called after
  /// ``run()``.
  func pageKeys() throws -> PagedKeys {
    var keys = PagedKeys()
    for record in 0..<input.count {
      let key = try key(at: record)
      if !key.isIncomplete { keys.all.insert(key) }
    }
    guard let plan else { return keys }
    for record in plan.inserts { keys.inserted.insert(try key(at: record)) }
    try setLinks(of: &keys, plan.targets)
    return keys
  }

  /// Returns the link destinations of input that is merged after the deletion at the end of a paged merge. Called instead
  /// of ``run()``.
  mutating func linksBeforeDeletion() throws -> PagedKeys {
    try indexInput()
    var options = scope.options
    options.missingTargets = .leaveOut
    let targets = try MergeTargets(
      try linkedKeys(), layout: layout, context: context, inputByKey: inputByKey, pending: pending, options)
    var keys = PagedKeys()
    try setLinks(of: &keys, targets)
    return keys
  }

  /// Sets the stored records that the deletion may delete, also by delete rules, and to which links of the input lead,
  /// without the links of records that the condition protects.
  private func setLinks(of keys: inout PagedKeys, _ targets: MergeTargets) throws {
    let relationships = cascadedRelationships.filter { !layout.ignores($0) }
    guard !relationships.isEmpty else { return }
    for record in 0..<input.count where !inputByKey.isExcluded(record) && !protected.contains(record) {
      for (relationship, link) in try input.links(record) where relationships.contains(relationship) {
        var ids: Set<ManagedObjectID> = []
        for case .existing(let id)? in link.keys.map({ targets.target($0, of: relationship) }) { ids.insert(id) }
        keys.setLink(PagedKeys.LinkSource(owner: try key(at: record), relationship: relationship.name), to: ids)
      }
    }
  }

  /// The stored records to which links of the input lead and that delete rules of the plan's deletions may reach. The
  /// links that the merge leaves out do not count.
  private func linkedIDs(of plan: MergePlan) throws -> Set<ManagedObjectID> {
    let relationships = plan.deletes.isEmpty ? [] : cascadedRelationships
    guard !relationships.isEmpty else { return [] }
    let inserts = Set(plan.inserts)
    var ids: Set<ManagedObjectID> = []
    for record in 0..<input.count where !inputByKey.isExcluded(record) && !protected.contains(record) {
      for (relationship, link) in try input.links(record) where relationships.contains(relationship) {
        if layout.ignores(relationship), !inserts.contains(record) { continue }
        ids.formUnion(plan.targets.existingIDs(of: link, relationship))
      }
    }
    return ids
  }

  /// The relationships to records that delete rules may delete with a record of the merge's entity.
  private var cascadedRelationships: Set<RelationshipDescription> {
    Set(
      layout.relationships.filter { relationship in
        layout.entity.reachesByCascades { $0.root === relationship.destination.root }
      })
  }

  private func key(at record: Int) throws -> MergeKey { MergeKey(values: try inputByKey.key(at: record)) }
}
