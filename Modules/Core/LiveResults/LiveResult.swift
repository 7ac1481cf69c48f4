/// Keeps the result of a request up to date.
///
/// The result has one entry for each matching record, in order. After a change, only the changed records are evaluated
/// again; see ``ResultDependencies`` for changes of related records. Used inside the context.
final class LiveResult {
  /// The request without its range.
  private(set) var request: FetchRequest<ManagedObject>
  private let range: FetchRange
  private let isRange: Bool
  private let hasSections: Bool
  private(set) var interest: ResultInterest
  /// The identifiers in the predicate, and those of unsaved records among them.
  private var namedIDs: Set<ManagedObjectID>
  private var namedTemporaryIDs: Set<ManagedObjectID>
  private(set) weak var sink: (any ResultSink)?
  /// Whether the sink receives no further delivery.
  private(set) var isEnded = false

  private(set) var plan: FetchPlan?
  private var order = ResultOrder(keys: nil)
  private var entries = SortedEntries(order: ResultOrder(keys: nil))
  private(set) var entriesByID: [ManagedObjectID: ResultEntry] = [:]
  /// The number of changes of the entries.
  private(set) var changeCount = 0
  private var sections: SectionCounts?
  /// The last entry after a read that reached its limit, or after a removal of spare entries: matching records behind
  /// this entry have no entries. `nil` when all matching records have entries.
  private var lastCoveredEntry: ResultEntry?
  /// The revision given last; see ``ResultEntry/revision``.
  private var lastRevision: UInt64 = 0
  /// Whether a failed update has left changes out, so that the next update runs the request again.
  private var isBehind = false
  /// Whether the last update read unsaved related records: by the objects and lists of the context.
  private var readsUnsaved = false
  /// The changed entries, and the new identifiers by former identifier, that the sink has not received.
  private var touched = TouchedEntries()
  private var renamed: [ManagedObjectID: ManagedObjectID] = [:]
  /// The revisions of the visible entries at the last delivery; `nil` for a request without a range.
  private var deliveredRevisions: [UInt64]?
  /// See ``takeEntered()``. At most one record more than ``LiveInbox/bound``, so that a run of the request does not
  /// retain the rows of a large result.
  private var entered: [RecordState] = []
  /// The context's number of resets that the sink knows.
  private var resetCount = 0

  init(_ checked: CheckedRequest, for sink: any ResultSink) {
    request = checked.request
    range = checked.range
    isRange = checked.isRange
    hasSections = checked.hasSections
    interest = checked.interest
    namedIDs = checked.namedIDs
    namedTemporaryIDs = checked.namedIDs.filter(\.isTemporaryID)
    self.sink = sink
  }

  /// Has the sink receive no further delivery.
  func end() { isEnded = true }

  /// Whether the request reads from one of some stores.
  func reads(anyOf stores: [any AnyObject & Sendable]) -> Bool {
    guard !stores.isEmpty, let plan else { return false }
    return plan.stores.contains { store in stores.contains { $0 === store } }
  }

  /// The number of records up to the end of the range, and of spare records behind it, which refill the range without a
  /// read.
  private var rangeCounts: (wanted: Int, spare: Int)? {
    guard let limit = range.limit else { return nil }
    let spare = max(32, min(limit, 1_000))
    let (wanted, isBeyond) = limit.addingReportingOverflow(range.offset)
    // No result reaches a range with an end that leaves no room for the spare records.
    return isBeyond || wanted > Int.max - 2 * spare ? nil : (wanted, spare)
  }

  /// Delivers the state to the sink, if the state has changed.
  func publish(in context: ManagedObjectContext, isFirst: Bool = false) {
    if isFirst { resetCount = context.storage.resetCount }
    // Most turns change no entry of a result. Its state costs a pass over the chunks of the entries.
    if !isRange, !isFirst, touched.isEmpty { return }
    let state = state
    if isRange {
      let visible = state.visibleEntries.map(\.revision)
      guard isFirst || visible != deliveredRevisions || !renamed.isEmpty else { return touched = TouchedEntries() }
      deliveredRevisions = visible
    }
    defer { (touched, renamed) = (TouchedEntries(), [:]) }
    exposeTemporaryIDs(of: state, in: context)
    sink?.receive(ResultDelivery(state: state, touched: touched, renamed: renamed), in: context)
  }

  private var state: ResultState { ResultState(entries, range: range, isRange: isRange, sections: sections) }

  /// Has the sink replace objects that a reset of the context has detached since the last call.
  func publishReset(in context: ManagedObjectContext) {
    guard resetCount != context.storage.resetCount else { return }
    resetCount = context.storage.resetCount
    if !isEnded { sink?.replaceObjects(of: state, in: context) }
  }

  /// Records that the user of the sink knows the temporary identifiers of a state, so that they lead to their records
  /// after a save too.
  private func exposeTemporaryIDs(of state: ResultState, in context: ManagedObjectContext) {
    guard request.includesPendingChanges, UnsavedHierarchies(in: context).contains(interest.root) else { return }
    // The touched entries leave out the records that come into a range by the delete of another record.
    let entries = isRange ? state.visibleEntries : touched.pairs.compactMap { $0.new }
    for entry in entries where entry.id.isTemporaryID { context.exposeTemporaryID(entry.id) }
  }

  // MARK: Running the request

  /// Runs the request and compares the result with the entries.
  ///
  /// - Parameters:
  ///   - changed: The records whose unsaved state or members changed: an equal version does not mean equal values for
  ///     them. `nil` if any record may have changed.
  ///   - afterChanges: Whether new entries are records that entered the result, see ``takeEntered()``.
  func run(
    in context: ManagedObjectContext, _ work: inout LiveWork, changed: Set<ManagedObjectID>? = [],
    afterChanges: Bool = false
  ) throws {
    work.runs += 1
    var request = request
    request.fetchLimit = rangeCounts.map { $0.wanted + $0.spare }
    let newEntries = try context.reading(request) { plan in
      self.plan = plan
      readsUnsaved = readsRecords(of: request.includesPendingChanges ? UnsavedHierarchies(in: context) : .init())
      order = ResultOrder(keys: plan.order)
      let entries =
        plan.needsOverlay
        ? try read(plan, in: context, with: ContextRecords(context: context), changed, afterChanges)
        : try read(plan, in: context, with: StoredRecords(context: context), changed, afterChanges)
      work.evaluatedRows += entries.count
      return entries
    }
    changeCount += 1
    var former = entriesByID
    entriesByID = Dictionary(minimumCapacity: newEntries.count)
    for entry in newEntries {
      let old = former.removeValue(forKey: entry.id)
      if old?.revision != entry.revision { touched.add(entry.id, from: old, to: entry) }
      entriesByID[entry.id] = entry
    }
    for old in former.values { touched.add(old.id, from: old, to: nil) }
    entries = SortedEntries(newEntries, order: order)
    lastCoveredEntry = newEntries.count == request.fetchLimit ? entries.last : nil
    sections = hasSections ? SectionCounts(isRange ? [] : entries.entries(in: 0..<entries.count), order: order) : nil
  }

  /// Reads the records of a plan and makes their entries. The rows of a batch are released before the next batch, unless
  /// the order reads related records: these are read once for all records.
  private func read(
    _ plan: FetchPlan, in context: ManagedObjectContext, with source: some PreloadingSource,
    _ changed: Set<ManagedObjectID>?, _ afterChanges: Bool
  ) throws -> [ResultEntry] {
    var entries: [ResultEntry] = []
    var bufferedRecords: [RecordState] = []
    let isStreamed = plan.order?.dependencies.relationships.isEmpty != false
    var sink = BatchSink { [self] records in
      if request.includesPendingChanges { for record in records { context.renewObject(of: record) } }
      guard isStreamed else { return bufferedRecords += records }
      entries += try makeEntries(records, in: source, changed, afterChanges)
    }
    try FetchExecution(plan, in: context).run(into: &sink)
    return isStreamed ? entries : try makeEntries(bufferedRecords, in: source, changed, afterChanges)
  }

  /// The entry of a record; `nil` for a record outside of the result and its spare records.
  func entry(of id: ManagedObjectID) -> ResultEntry? { entriesByID[id] }

  /// Makes the entries of records. An unchanged record keeps its entry, and so its revision.
  private func makeEntries(
    _ records: [RecordState], in source: some PreloadingSource, _ changed: Set<ManagedObjectID>?, _ afterChanges: Bool
  ) throws -> [ResultEntry] {
    for key in request.sortKeys {
      try source.preload(try ResolvedPath(key.path, from: interest.entity), of: records)
    }
    return try records.map { record in
      let values = try order.keys?.sortValues(of: record, in: source) ?? []
      let version = record.version
      if let former = entriesByID[record.id], former.version == version, changed?.contains(record.id) == false,
        former.values == values
      {
        return former
      }
      if afterChanges, entriesByID[record.id] == nil { noteEntered(record) }
      return ResultEntry(values: values, id: record.id, version: version, revision: nextRevision())
    }
  }

  private func nextRevision() -> UInt64 {
    lastRevision += 1
    return lastRevision
  }

  private func noteEntered(_ record: RecordState) {
    if entered.count <= LiveInbox.bound { entered.append(record) }
  }

  /// Returns the present states of the records that entered the result since the last call; `nil` for more records than
  /// ``LiveInbox/bound``. The records of the first run, and those that refilled a range, are not among them.
  func takeEntered() -> [RecordState]? {
    defer { entered = [] }
    guard entered.count <= LiveInbox.bound else { return nil }
    // An update that failed after it noted a record may have been followed by other changes of the record.
    return entered.filter { entriesByID[$0.id]?.version == $0.version }
  }

  // MARK: Changes

  /// Updates the result after changes of the stores and of unsaved records. After a failure, the next call runs the
  /// request again.
  func process(_ content: LiveInbox.Content, in context: ManagedObjectContext, _ work: inout LiveWork) throws {
    let wasBehind = isBehind
    isBehind = true
    try update(content, wasBehind, in: context, &work)
    isBehind = false
  }

  private func update(
    _ content: LiveInbox.Content, _ wasBehind: Bool, in context: ManagedObjectContext, _ work: inout LiveWork
  ) throws {
    let changed = request.includesPendingChanges ? Set(content.touched.flatMap(\.ids)) : []
    var due = DueRecords(unsaved: request.includesPendingChanges ? UnsavedHierarchies(in: context) : .init())
    let names = content.changes.map(\.renamed) + content.touched.map(\.renamed)
    for name in names { rename(name, &due) }
    if content.isEverything { noteRenamed(in: context) }
    let isRenamed = try renewNamedIDs(names, content, in: context)
    // The objects and lists of a child may show former edits of its parents, which the stores do not have.
    let readUnsaved = readsUnsaved
    readsUnsaved = readsRecords(of: due.unsaved)
    let isReadElsewhere = context.parent != nil && readsUnsaved != readUnsaved
    // A run of the request does not find changes of members, which leave the version of the owner.
    let knownChanges = relinksAll(content) ? nil : changed.union(content.changes.flatMap(\.relinked.keys))
    if wasBehind || content.isEverything || isRenamed || isReadElsewhere {
      let isUnknown = content.hasLostTouched || content.lostOwnerRoots.contains(ObjectIdentifier(interest.root))
      let known = wasBehind || isUnknown ? nil : knownChanges
      return try run(in: context, &work, changed: known, afterChanges: true)
    }
    for changes in content.changes {
      collect(changes, isUncertain: changes.isOverlapped || content.isUncertain, &due, in: context)
    }
    for id in changed { collect(touched: id, &due) }
    try lookUp(&due, in: context)
    guard !due.runsAgain else { return try run(in: context, &work, changed: knownChanges, afterChanges: true) }
    try evaluate(due, changed: changed, in: context, &work)
    if due.refreshesAll { for id in entriesByID.keys { due.refresh(id, version: nil) } }
    for (id, version) in due.refreshed where due.states[id] == nil { renewRevision(id, version: version) }
    try adjustSpareEntries(in: context, &work)
  }

  /// Whether any listed record may have other members, because a batch request changed members of unknown owners.
  private func relinksAll(_ content: LiveInbox.Content) -> Bool {
    content.changes.contains { $0.relinkedByBatch.contains { $0.entity.root === interest.root } }
  }

  /// Whether the request reads records of some hierarchies beyond the fetched records themselves.
  private func readsRecords(of hierarchies: UnsavedHierarchies) -> Bool {
    hierarchies.areRead(by: plan?.predicate, sortKeys: request.sortKeys, of: interest.entity)
  }

  /// Has the entries of records with new identifiers made again under these identifiers.
  private func rename(_ names: [ManagedObjectID: ManagedObjectID], _ due: inout DueRecords) {
    for (former, id) in names where entriesByID[former] != nil {
      renamed[former] = id
      due.states[former] = .gone
      if due.states[id] == nil { due.states[id] = .unread }
    }
  }

  /// Finds the new identifiers of listed unsaved records, which the inbox may have dropped.
  private func noteRenamed(in context: ManagedObjectContext) {
    for id in entriesByID.keys where id.isTemporaryID {
      let current = context.current(id)
      if current != id { renamed[id] = current }
    }
  }

  /// Replaces former identifiers in the predicate by the present ones. The request must not depend on the context's
  /// memory of former identifiers, which ends with a reset.
  ///
  /// - Returns: Whether the predicate has changed.
  private func renewNamedIDs(
    _ names: [[ManagedObjectID: ManagedObjectID]], _ content: LiveInbox.Content, in context: ManagedObjectContext
  ) throws -> Bool {
    guard !namedIDs.isEmpty else { return false }
    let renamedIDs = names.flatMap { name in name.keys.filter { namedIDs.contains($0) } }
    let candidates = content.isEverything ? namedIDs : namedTemporaryIDs.union(renamedIDs)
    var present: [ManagedObjectID: ManagedObjectID] = [:]
    for id in candidates {
      var current = context.current(id)
      // A reset in the block of the save has dropped the former identifiers. Without unsaved records, nothing in the
      // context refers to them.
      if current == id, context.storage.unsaved.count == 0 { current = names.compactMap { $0[id] }.last ?? id }
      if current != id { present[id] = current }
    }
    guard !present.isEmpty else { return false }
    request.predicate = try request.predicate?.flattened().replacingReferences { present[$0] ?? $0 }
    namedIDs = Set(namedIDs.map { present[$0] ?? $0 })
    namedTemporaryIDs = namedIDs.filter(\.isTemporaryID)
    interest.only = request.predicate?.savedRecord
    return true
  }

  // MARK: Evaluating

  /// - Parameter changed: The records whose unsaved state changed.
  private func evaluate(
    _ due: DueRecords, changed: Set<ManagedObjectID>, in context: ManagedObjectContext, _ work: inout LiveWork
  ) throws {
    guard !due.states.isEmpty else { return }
    let states = try context.states(of: due.states, includingUnsaved: request.includesPendingChanges)
    let (stored, present) = (StoredRecords(context: context), ContextRecords(context: context))
    for (id, state) in states {
      let values: [AttributeValue]?
      if let state {
        work.evaluatedRows += 1
        if request.includesPendingChanges { context.renewObject(of: state) }
        values =
          readsUnsaved || state.isUnsaved
          ? try sortValues(of: state, in: present) : try sortValues(of: state, in: stored)
      } else {
        values = nil
      }
      // A record that only leads to changed records is unchanged itself.
      if let former = entriesByID[id], former.version == state?.version, former.values == values,
        !changed.contains(id), !due.refreshesAll, due.refreshed[id] == nil
      {
        continue
      }
      let entry = values.map { ResultEntry(values: $0, id: id, version: state?.version ?? 0, revision: nextRevision()) }
      let isNew = entriesByID[id] == nil
      put(entry, for: id)
      if isNew, entriesByID[id] != nil, let state { noteEntered(state) }
    }
  }

  /// Returns the sort values of a record; `nil` for a record that does not satisfy the request.
  private func sortValues<Source: RecordSource>(
    of state: RecordState, in source: Source
  ) throws -> [AttributeValue]? where Source.Record == RecordState {
    guard interest.isFetched[state.entity.position], try plan?.predicate?.matches(state, in: source) != false else {
      return nil
    }
    return try order.keys?.sortValues(of: state, in: source) ?? []
  }

  /// Sets the entry of a record; `nil` removes the entry.
  private func put(_ entry: ResultEntry?, for id: ManagedObjectID) {
    let old = entriesByID[id]
    var entry = entry
    if let lastCoveredEntry, let new = entry, order.precedes(lastCoveredEntry, new) { entry = nil }
    guard old != nil || entry != nil else { return }
    changeCount += 1
    touched.add(id, from: old, to: entry)
    entriesByID[id] = entry
    if let old, let entry, old.values == entry.values { return entries.replace(entry) }
    if let old {
      entries.remove(old)
      if !isRange { sections?.remove(old) }
    }
    if let entry {
      entries.insert(entry)
      if !isRange { sections?.insert(entry) }
    }
  }

  /// Gives an entry a new revision after a change of values that the request does not read. With the version of the
  /// present state, a later run of the request does not report the change again.
  private func renewRevision(_ id: ManagedObjectID, version: Int64) {
    guard var entry = entriesByID[id] else { return }
    entry.version = max(entry.version, version)
    entry.revision = nextRevision()
    put(entry, for: id)
  }

  /// Runs the request again if the range is short of entries, or removes surplus spare entries.
  private func adjustSpareEntries(in context: ManagedObjectContext, _ work: inout LiveWork) throws {
    guard let rangeCounts else { return }
    if lastCoveredEntry != nil, entries.count < rangeCounts.wanted { return try run(in: context, &work) }
    guard entries.count > rangeCounts.wanted + 2 * rangeCounts.spare else { return }
    changeCount += 1
    for entry in entries.removeLast(keeping: rangeCounts.wanted + rangeCounts.spare) {
      entriesByID[entry.id] = nil
      touched.add(entry.id, from: entry, to: nil)
    }
    lastCoveredEntry = entries.last
  }
}
