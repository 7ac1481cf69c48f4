import CoherenceCore

/// One merge at work. It plans every change before it makes the first.
struct Merge {
  private let context: ActionContext
  private let scope: MergeScope
  private let layout: MergeLayout
  private let input: any MergeInput
  private let condition: MergeCondition
  private let localEdits: LocalEdits?
  private var result = MergeResult()
  /// Input records that are left out.
  private var left: PlaceSet
  /// How many stored records the merge may keep or delete, in the mode ``MergeOptions/Mode/replace``.
  private var storedCount = 0
  /// The changes that were planned last.
  private var planned: MergeWork?
  /// The places of the input records by key.
  private var index: MergeIndex?

  /// - Throws: ``ErrorCode/unknownProperty`` and ``ErrorCode/invalidPredicate`` for a condition that cannot be asked.
  init(
    in context: ActionContext, scope: MergeScope, layout: MergeLayout, input: any MergeInput, localEdits: LocalEdits?
  ) throws {
    self.localEdits = localEdits
    self.context = context
    self.scope = scope
    self.layout = layout
    self.input = input
    condition = try MergeCondition(scope.condition, layout: layout, context: context)
    left = PlaceSet(capacity: input.count)
  }

  /// Makes the merge's changes in the context.
  mutating func run() throws -> PlannedMerge {
    let work = try prepare()
    planned = work
    try context.refuseIfCanceled()
    if !work.isEmpty {
      let unwritten = try MergeWriter(context: context, input: input, layout: layout).write(work)
      result.updated -= unwritten
      result.skipped += unwritten
    }
    return PlannedMerge(result: result, check: try commitCheck(work))
  }

  private func commitCheck(_ work: MergeWork) throws -> CommitCheck? {
    guard let index, !work.updates.isEmpty || !work.deletes.isEmpty else { return nil }
    return try CommitCheck(
      of: work, scope: scope, condition: condition, layout: layout, index: index, input: input, context: context)
  }

  // MARK: Admitting

  /// Looks at the key of each input record, and notes what input links to.
  private mutating func admit() throws -> (MergeIndex, [RelationshipDescription: Set<MergeKey>]) {
    var index = MergeIndex(input, keyCount: layout.keys.count)
    var links: [RelationshipDescription: Set<MergeKey>] = [:]
    var key = [AttributeValue](repeating: .null, count: layout.keys.count)
    for place in 0..<input.count {
      if place % 1024 == 0 { try context.refuseIfCanceled() }
      try input.readKey(place, into: &key)
      if key.isIncompleteKey {
        try leaveOut(withoutKey: place)
      } else if let other = try index.enter(place, key: key, replacing: scope.options.duplicates == .lastWins) {
        try leaveOut(scope.options.duplicates == .lastWins ? other : place)
      }
      for (relationship, link) in try input.links(place) where !left.contains(place) {
        links[relationship, default: []].formUnion(link.keys)
      }
    }
    result.skipped += left.count
    return (index, links)
  }

  private mutating func leaveOut(withoutKey place: Int) throws {
    guard scope.options.missingKeys == .skip else {
      throw CoherenceError(
        .invalidMergeKey,
        "A record for '\(layout.entity.name)' lacks a value of \(layout.keyNames); give it one, or set `missingKeys` to "
          + "`.skip`.")
    }
    left.insert(place)
  }

  private mutating func leaveOut(_ place: Int) throws {
    guard scope.options.duplicates != .fail else {
      throw CoherenceError(
        .invalidMergeKey,
        "Two records for '\(layout.entity.name)' have the same \(layout.keyNames); send one, or choose a policy for "
          + "`duplicates`.")
    }
    left.insert(place)
  }

  // MARK: Preparing

  private mutating func prepare() throws -> MergeWork {
    var (index, links) = try admit()
    self.index = index
    try MergeLinkAgreement(input: input, layout: layout, left: left).check(Set(links.keys))
    let targets = try MergeTargets(links, layout: layout, context: context) { try index.place(of: $0) }
    let scan = MergeScan(
      input, index: index, layout: layout, options: scope.options, targets: targets,
      refuseIfCanceled: context.refuseIfCanceled)
    try read(scan)
    let lists = try MergeLists(input: input, layout: layout, targets: targets, context: context)
      .open(among: scan.listed)
    return try work(scan, targets, lists)
  }

  /// Puts to the scan all records that may concern it: those that may be deleted, then those that match.
  private mutating func read(_ scan: MergeScan) throws {
    let reach = MergeReach(
      context: context, entity: layout.entity, keyAttributes: layout.keys.map(\.description))
    if scope.options.mode == .replace {
      scan.collectsSurplus = true
      try reach.visitAll(where: scope.subsetFilter, with: scan)
      try scan.resolveDuplicates { _, collector in try reach.visitAll(where: scope.subsetFilter, with: collector) }
      storedCount = scan.matched.count + scan.surplus.count
      scan.settle()
      // What was not found among all records is not there.
      if scope.subsetFilter == nil { return }
    }
    try reach.visit(try keys(withoutMatchIn: scan), with: scan)
    try scan.resolveDuplicates(reach.visit)
  }

  private func keys(withoutMatchIn scan: MergeScan) throws -> [MergeKey] {
    try (0..<input.count).filter { !left.contains($0) && !scan.matched.contains($0) }.map { try key(at: $0) }
  }

  /// What the condition allows of what was found.
  private mutating func work(
    _ scan: MergeScan, _ targets: MergeTargets, _ lists: [MergeLists.Wish]
  ) throws -> MergeWork {
    let wishes = Dictionary(grouping: lists, by: \.place)
    let changedPlaces = Set(scan.changes.map(\.place))
    let relisted = try context.rows(of: lists.filter { !changedPlaces.contains($0.place) }.map(\.owner))
    var updates = scan.changes.map { MergeWork.Update(place: $0.place, row: $0.row, lists: wishes[$0.place] ?? []) }
    for (place, group) in wishes.sorted(by: { $0.key < $1.key }) where !changedPlaces.contains(place) {
      guard let row = relisted[group[0].owner] else { continue }
      updates.append(MergeWork.Update(place: place, row: row, lists: group))
    }
    let admitted = try condition.admitted(updates, row: \.row, place: \.place, input: input)
    let deletes = try condition.admitted(scan.surplus, row: { $0 }, place: { _ in nil }, input: input)
    let inserts = (0..<input.count).filter { !left.contains($0) && !scan.matched.contains($0) }
    if scope.options.mode == .replace {
      try DeletionLimit(scope).check(
        deletes.count, of: max(storedCount, deletes.count), isInputEmpty: left.count == input.count)
    }
    let protected = Set(updates.map(\.place)).subtracting(admitted.map(\.place))
    try refuseLinks(to: deletes, matched: scan.matched, protected: protected, targets)
    let wanted = MergeWork(inserts: inserts, updates: admitted, deletes: deletes, targets: targets)
    let work = localEdits?.allowed(of: wanted) ?? wanted
    result.inserted = work.inserts.count
    result.updated = work.updates.count
    result.unchanged = scan.matched.count - updates.count
    result.deleted = work.deletes.count
    result.skipped += updates.count - admitted.count + scan.surplus.count - deletes.count + wanted.count - work.count
    return work
  }

  /// A link of the input must not lead to a record that the same merge deletes: the link would be cleared, and the same
  /// input could not be merged again.
  ///
  /// - Parameters:
  ///   - matched: The places of the input records that have a stored record.
  ///   - protected: The places of those that the condition leaves as they are.
  private func refuseLinks(
    to deletes: [Row], matched: PlaceSet, protected: Set<Int>, _ targets: MergeTargets
  ) throws {
    guard !deletes.isEmpty else { return }
    let deletedIDs = Set(deletes.map(\.id))
    let ownLinks = layout.relationships.filter {
      $0.destination.root === layout.entity.root && !targets.existingIDs(of: $0).isDisjoint(with: deletedIDs)
    }
    guard !ownLinks.isEmpty else { return }
    var linked: Set<ManagedObjectID> = []
    for place in 0..<input.count where !left.contains(place) && !protected.contains(place) {
      for (relationship, link) in try input.links(place) where ownLinks.contains(relationship) {
        if layout.ignores(relationship), matched.contains(place) { continue }
        for case .existing(let id)? in link.keys.map({ targets.target($0, of: relationship) }) { linked.insert(id) }
      }
    }
    linked.formIntersection(deletedIDs)
    if !linked.isEmpty { throw layout.deletedTargets(linked) }
  }
}

// MARK: - Pages

extension Merge {
  /// The names that the input gave to records, for the deletion at the end of a paged merge. Known after ``run()``.
  func names() throws -> PagedNames {
    var names = PagedNames()
    for place in 0..<input.count {
      let key = try key(at: place)
      if !key.isIncomplete { names.keys.insert(key) }
    }
    guard let planned else { return names }
    for place in planned.inserts { names.insertedKeys.insert(try key(at: place)) }
    for relationship in layout.relationships
    where relationship.destination.root === layout.entity.root && !layout.ignores(relationship) {
      names.linkedIDs.formUnion(planned.targets.existingIDs(of: relationship))
    }
    return names
  }

  private func key(at place: Int) throws -> MergeKey {
    var key = [AttributeValue](repeating: .null, count: layout.keys.count)
    try input.readKey(place, into: &key)
    return MergeKey(values: key)
  }
}
