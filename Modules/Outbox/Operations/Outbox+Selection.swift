import CoherenceCore
import Foundation

extension Outbox {
  /// Returns the requests to send now, in the order of their first entries: at most one request for each record, and
  /// none before a request on which it depends. Deletes entries without an effect, with a save of the context.
  ///
  /// The function reads entries from the oldest on until it has found enough requests. The read entries are the
  /// complete history up to some save, so that later entries cannot change the causal order of the requests. Later
  /// entries of the same records wait for the next call. The cost grows with the number of waiting entries before the
  /// sendable ones.
  ///
  /// Called inside of the context, after ``makeEntries(through:limit:)``. Saves of the time in between are still in the
  /// log: their records, and all later saves, wait for the next call. In a store with an unreadable
  /// save, later saves wait until that save is dropped. Values over 32 KB are left out, see ``loaded(_:in:)``.
  ///
  /// - Parameters:
  ///   - date: The present time.
  ///   - limit: The greatest number of requests.
  ///   - maximumDelay: The longest time for which a forwarder postpones an attempt. A date further in the future means
  ///     that the clock was set back, and is ignored.
  ///   - maximumLease: The longest time for which a forwarder claims an entry, likewise.
  ///   - onlyRetried: Whether only the records are selected whose first entries the user has retried since their last
  ///     attempts.
  ///   - validity: Returns the validity of a claim. Called for claimed entries.
  func selection(
    in context: ManagedObjectContext, at date: Date, limit: Int, maximumDelay: Duration? = nil,
    maximumLease: Duration? = nil, onlyRetried: Bool = false,
    validity: (OutboxNode) -> ClaimValidity = { _ in .untilLeaseEnds }
  ) throws -> OutboxSelection {
    guard limit > 0 else { return OutboxSelection() }
    let unread = try UnreadLog(in: context, except: readOnlyStores)
    var reader = NodeReader(in: context, before: unread)
    var left: Set<StoredRecord> = []
    // The records among those left that wait for a key of another record.
    var waiting: Set<StoredRecord> = []
    // A save ends the state of the stores in which the log was read.
    var hasSaved = false
    var size = 1024
    while true {
      try reader.read(size)
      reader.setClaimValidity(validity)
      OutboxSequence.shared.raise(to: reader.end)
      // Some of the records may wait for an insert after an unreadable save, and must not hide the others.
      let wantsAll = onlyRetried || !unread.unreadable.isEmpty
      let wantedCount = wantsAll ? Int.max : OutboxSurplus.wantedCount(limit: limit, readCount: reader.nodes.count)
      let ready = try candidates(wantedCount, of: reader, without: left, at: date, maximumDelay, maximumLease)
        .filter { !unread.changes($0.ready.record) }
      let admitted = onlyRetried ? ready.filter(\.ready.isRetried) : ready
      if admitted.count >= limit || reader.isAtEnd {
        var surplus = OutboxSurplus(admitted, through: reader.knownEnd)
        var (selection, cancelled) = try take(limit, from: &surplus, of: reader, before: unread, in: context)
        // Without the new keys, all records may seem to wait for each other.
        if reader.isAtEnd, selection.hasNoRecords, cancelled.isEmpty,
          try !waiting.isEmpty || hasReplacedKeys(foundBy: reader, before: unread, in: context)
        {
          (selection, cancelled) = try requestsByNewKeys(
            limit, of: reader, without: left.subtracting(waiting), onlyRetried: onlyRetried, at: date, maximumDelay,
            maximumLease, before: unread, in: context)
        }
        if !cancelled.isEmpty { hasSaved = true }
        let isChanged = try remove(cancelled, in: context)
        if !selection.steps.isEmpty || reader.isAtEnd && !isChanged && selection.left.isEmpty {
          let removed = Set(isChanged ? cancelled.map(\.id) : [])
          selection.nodes = reader.nodes.filter { !removed.contains($0.id) }
          selection.isComplete = reader.isAtEnd && unread.isEmpty
          selection.hasEmptyLog = unread.isEmpty && !hasSaved
          selection.unreadable = unread.unreadable
          selection.holdsBack = admitted.count < ready.count
          selection.surplus = surplus
          return selection
        }
        // Left records and entries without an effect counted against the limit, so that the search continues without
        // the records, and begins again without the entries.
        left.formUnion(selection.left.union(selection.waiting))
        waiting = waiting.union(selection.waiting).subtracting(selection.left.subtracting(selection.waiting))
        if isChanged { (reader, size) = (NodeReader(in: context, before: unread), 512) }
      }
      // The size doubles, so that all graphs together cost at most twice as much as the last graph.
      size *= 2
    }
  }

  /// Returns requests of the surplus of a former search, in the order of their first entries; none when the surplus has
  /// no sendable record any more, so that another search is due.
  ///
  /// The cost grows with the limit. Otherwise as
  /// ``selection(in:at:limit:maximumDelay:maximumLease:onlyRetried:validity:)``.
  func selection(
    from surplus: OutboxSurplus, in context: ManagedObjectContext, at date: Date, limit: Int
  ) throws -> OutboxSelection {
    guard limit > 0, !surplus.isEmpty else { return OutboxSelection() }
    let unread = try UnreadLog(in: context, except: readOnlyStores)
    var surplus = surplus
    var hasSaved = false
    while !surplus.isEmpty {
      let candidates = surplus.take(limit).filter { !unread.changes($0.ready.record) }
      let end = min(surplus.end, unread.start - 1)
      var (selection, cancelled) = try plan(candidates, through: end, before: unread, in: context)
      // Another process may have claimed or tried a record since the search.
      selection.steps.removeAll { $0.head.state != .pending || $0.head.nextAttemptDate.map { $0 > date } == true }
      try leaveOutKeyTakers(of: &selection, from: surplus, before: unread, in: context)
      let deferred = selection.steps.reduce(into: Set()) { $0.formUnion($1.stored($1.deferredReferences)) }
      try removeStepsBeforeInserts(from: &selection.steps, ignoring: deferred, in: context)
      if !cancelled.isEmpty { hasSaved = true }
      let isChanged = try remove(cancelled, in: context)
      if !selection.steps.isEmpty {
        selection.hasEmptyLog = unread.isEmpty && !hasSaved
        selection.surplus = surplus
        selection.unreadable = unread.unreadable
        return selection
      }
      // The save has ended the unit of work, in which the log was read.
      if isChanged { break }
    }
    return OutboxSelection()
  }

  /// The requests of the first records of a surplus that wait for no key of another record and depend on no insert
  /// behind the read entries, and the entries without an effect.
  private func take(
    _ limit: Int, from surplus: inout OutboxSurplus, of reader: NodeReader, before unread: UnreadLog,
    in context: ManagedObjectContext
  ) throws -> (selection: OutboxSelection, cancelled: [OutboxEntry]) {
    var left: Set<StoredRecord> = []
    var waiting: Set<StoredRecord> = []
    var count = limit
    while true {
      var (selection, cancelled) = try plan(surplus.take(count), through: surplus.end, before: unread, in: context)
      try leaveOutKeyTakers(of: &selection, &surplus, foundBy: reader, before: unread, in: context)
      left.formUnion(selection.left)
      waiting.formUnion(selection.waiting)
      (selection.left, selection.waiting) = (left, waiting)
      if !reader.isAtEnd || !unread.unreadable.isEmpty {
        try removeStepsBeforeInserts(from: &selection.steps, ignoring: reader.records, in: context)
      }
      // With all entries read, a later search would remove the same requests again.
      guard reader.isAtEnd, selection.steps.isEmpty, cancelled.isEmpty, !surplus.isEmpty else {
        surplus.putBack(Array(selection.steps.dropFirst(limit)), from: selection.candidates)
        selection.steps.removeLast(max(0, selection.steps.count - limit))
        return (selection, cancelled)
      }
      // The count doubles, so that the number of graphs does not grow with the number of waiting records.
      count *= 2
    }
  }

  /// The requests that a search with all new keys finds, and the entries without an effect.
  ///
  /// - Parameter left: The records whose requests are left to another program.
  private func requestsByNewKeys(
    _ limit: Int, of reader: NodeReader, without left: Set<StoredRecord>, onlyRetried: Bool, at date: Date,
    _ maximumDelay: Duration?, _ maximumLease: Duration?, before unread: UnreadLog, in context: ManagedObjectContext
  ) throws -> (selection: OutboxSelection, cancelled: [OutboxEntry]) {
    let isDamaged = !unread.unreadable.isEmpty
    let found = try candidates(
      onlyRetried || isDamaged ? .max : limit, of: reader, without: left, at: date, maximumDelay, maximumLease
    ) { try newKeys(of: $1, in: $0, foundBy: reader, before: unread, in: context) }
    let allowed = found.filter { !unread.changes($0.ready.record) && ($0.ready.isRetried || !onlyRetried) }
    // Some of the records may wait for an insert after the unreadable save, and must not hide the others.
    var (selection, cancelled) = try plan(
      isDamaged ? allowed : Array(allowed.prefix(limit)), through: reader.knownEnd, before: unread, in: context)
    if isDamaged {
      try removeStepsBeforeInserts(from: &selection.steps, ignoring: reader.records, in: context)
      selection.steps = Array(selection.steps.prefix(limit))
    }
    return (selection, cancelled)
  }

  /// The sendable records of all stores.
  ///
  /// - Parameters:
  ///   - count: The greatest number of records of each store.
  ///   - left: The records whose requests are left to another program, or wait for a key of another record.
  ///   - takenKeys: Returns the new keys of the requests of a store, see ``CausalGraph/init(_:taking:)``.
  private func candidates(
    _ count: Int, of reader: NodeReader, without left: Set<StoredRecord>, at date: Date, _ maximumDelay: Duration?,
    _ maximumLease: Duration?,
    taking takenKeys: (StoreIdentifier, [OutboxNode]) throws -> [OutboxRecord: CausalGraph.TakenKey] = { _, _ in [:] }
  ) throws -> [OutboxSurplus.Candidate] {
    try reader.completeNodes.flatMap { store, nodes in
      let graph = CausalGraph(nodes, taking: try takenKeys(store, nodes))
      let excluded = unknownRecords(nodes).union(left.lazy.filter { $0.store == store }.map(\.record))
      let ready = graph.ready(
        at: date, limit: count, longestWait: maximumDelay, longestLease: maximumLease, without: excluded)
      return ready.map { OutboxSurplus.Candidate(store: store, ready: $0) }
    }
  }

  /// The records of entities that the model does not have. Their entries wait for a program that has the entities: a
  /// later program has added them, or an earlier program has saved them before the model removed them.
  ///
  /// The models of the store do not distinguish these two cases. An earlier program that attaches the store
  /// for the first time has the last model of the store, as a later program without the entity.
  private func unknownRecords(_ nodes: [OutboxNode]) -> Set<OutboxRecord> {
    Set(nodes.lazy.filter { !$0.isEntityKnown }.map(\.record))
  }

  /// Whether edits with properties that the model does not have are left to another program. A handler that makes the
  /// body of its request from its own properties would lose the values of the others.
  ///
  /// An edit waits while a later model has opened the store, and while the last program that opened the store has
  /// another model. Otherwise the model itself has removed the properties, and the edit is sent.
  private func leavesUnknownProperties(in identifier: StoreIdentifier) -> Bool {
    guard let store = coordinator.persistentStore(with: identifier), let metadata = try? store.metadata() else {
      return false
    }
    let hashes = store.environment.modelRecord.versionHashes
    return metadata.versionHashes != hashes || metadata.age(ofModelWith: hashes) == .older
  }

  /// The next request of each ready record in the order of the first entries, and the entries without an effect.
  ///
  /// - Parameters:
  ///   - end: The ``OutboxNode/transaction`` of the last known save. Entries of later saves are ignored.
  ///   - unread: The log. Entries of saves after an unreadable one are ignored too.
  private func plan(
    _ candidates: [OutboxSurplus.Candidate], through end: Int64, before unread: UnreadLog,
    in context: ManagedObjectContext
  ) throws -> (selection: OutboxSelection, cancelled: [OutboxEntry]) {
    var selection = OutboxSelection()
    selection.candidates = candidates
    var cancelled: [OutboxEntry] = []
    for (store, group) in Dictionary(grouping: candidates, by: \.store) {
      let entries = try entries(of: group.map(\.ready.record), store: store, &selection.objects, in: context)
      // Read at the first edit with an unknown property.
      var leavesUnknown: Bool?
      for ready in group.map(\.ready) {
        let knownEntries = (entries[ready.record] ?? []).prefix {
          $0.transaction <= end && unread.isBeforeUnreadable($0.transaction, in: store)
        }
        let (plan, undone) = try plan(Array(knownEntries), in: context)
        cancelled += undone + plan.cancelled
        // A parked first step blocks the record until the user decides.
        guard var step = plan.steps.first, step.head.state != .parked else { continue }
        if step.hasUnknownProperties {
          let isLeft = leavesUnknown ?? leavesUnknownProperties(in: store)
          leavesUnknown = isLeft
          if isLeft {
            selection.left.insert(StoredRecord(store: store, record: ready.record))
            continue
          }
        }
        step.deferredReferences = ready.deferred.intersection(step.newReferences)
        selection.steps.append(step)
      }
    }
    selection.steps.sort { $0.head.cursor < $1.head.cursor }
    return (selection, cancelled)
  }

  /// The plan of the entries of one record, and the entries before it whose request would have no change to send. Reads
  /// the values over 32 KB of updates that may have restored them.
  private func plan(
    _ entries: [OutboxEntry], in context: ManagedObjectContext
  ) throws -> (plan: OutboxPlan, undone: [OutboxEntry]) {
    var entries = entries
    var undone: [OutboxEntry] = []
    while true {
      let plan = OutboxPlan(entries: entries)
      guard let step = plan.steps.first, step.mayBeEmptyUpdate else { return (plan, undone) }
      let loaded = try loaded(step, in: context)
      // The plan leaves out an update without changes, which is known here alone for omitted values.
      guard OutboxPlan(entries: loaded.entries).steps.isEmpty else { return (plan, undone) }
      let ids = Set(step.entries.map(\.id))
      entries.removeAll { ids.contains($0.id) }
      undone += step.entries
    }
  }

  /// Removes the requests that refer to a record whose insert is stored behind the read entries. A clock set back
  /// between two runs of the program gives such an insert a greater sequence than a later entry that refers to it.
  ///
  /// - Parameter ignored: The records whose inserts delay no request: the search has ordered the requests by them, or
  ///   the requests leave their references out.
  private func removeStepsBeforeInserts(
    from steps: inout [OutboxStep], ignoring ignored: Set<StoredRecord>, in context: ManagedObjectContext
  ) throws {
    var unsentInserts: Set<StoredRecord> = []
    let targets = steps.reduce(into: Set<StoredRecord>()) { $0.formUnion($1.stored($1.newReferences)) }
      .subtracting(ignored)
    for (rootName, group) in Dictionary(grouping: targets, by: \.record.rootName) {
      let rootNames = coordinator.managedObjectModel.recordedNames(ofRoot: rootName)
      let keys = Set(group.map(\.record.key))
      for object in try records(ofKeys: Array(keys), rootNames: rootNames, in: context) where object.kind == .insert {
        let record = OutboxRecord(rootName: rootName, key: object.recordKey)
        unsentInserts.insert(StoredRecord(store: object.storeIdentifier, record: record))
      }
    }
    // The keys have found records of the other stores too.
    unsentInserts.formIntersection(targets)
    if !unsentInserts.isEmpty { steps.removeAll { !$0.stored($0.newReferences).isDisjoint(with: unsentInserts) } }
  }

  /// The entries of records of one store, in the order of each record's saves.
  ///
  /// - Parameter objects: Receives the objects of the entries.
  func entries(
    of records: [OutboxRecord], store: StoreIdentifier, _ objects: inout [ManagedObjectID: OutboxEntryRecord],
    in context: ManagedObjectContext
  ) throws -> [OutboxRecord: [OutboxEntry]] {
    var result: [OutboxRecord: [OutboxEntry]] = [:]
    let decoder = EntryDecoder(coordinator: coordinator)
    for (rootName, group) in Dictionary(grouping: records, by: \.rootName) {
      let rootNames = coordinator.managedObjectModel.recordedNames(ofRoot: rootName)
      for object in try self.records(ofKeys: group.map(\.key), rootNames: rootNames, in: context)
      where object.storeIdentifier == store {
        let entry = try decoder.entry(object)
        objects[entry.id] = object
        result[entry.record, default: []].append(entry)
      }
    }
    return result.mapValues { $0.sorted { $0.precedes($1) } }
  }

  /// Deletes entries without an effect, and saves.
  ///
  /// - Returns: Whether entries were deleted.
  private func remove(_ entries: [OutboxEntry], in context: ManagedObjectContext) throws -> Bool {
    let objects = try records(entries.map(\.id), in: context)
    guard !objects.isEmpty else { return false }
    for object in objects { context.delete(object) }
    do {
      try context.save()
      return true
    } catch let error as CoherenceError where error.isVersionConflict {
      // Another process has deleted or changed the entries at the same time; the next search reads their new state.
      context.rollback()
      return false
    }
  }

  /// Returns the request with its values over 32 KB, which
  /// ``selection(in:at:limit:maximumDelay:maximumLease:onlyRetried:validity:)`` leaves out. Does not add the properties
  /// that the request does not send.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` when an entry of the request no longer exists; errors of the store.
  func loaded(_ step: OutboxStep, in context: ManagedObjectContext) throws -> OutboxStep {
    guard step.changes.contains(where: \.hasOmittedValue) else { return step }
    let decoder = EntryDecoder(coordinator: coordinator)
    let entries = try step.entries.map { try decoder.entry(try record($0.id, in: context), includesContent: true) }
    return step.withValues(of: entries)
  }
}

extension CoherenceError {
  /// Whether a save of another writer refused the save, in its only store or in one of several stores.
  fileprivate var isVersionConflict: Bool {
    code == .versionConflict || code == .partialSave && (underlying as? CoherenceError)?.code == .versionConflict
  }
}

extension OutboxStep {
  /// The records that the request relates to its record: new targets and added members. A delete has neither.
  var newReferences: Set<OutboxRecord> {
    Set(changes.compactMap { $0.value?.record } + members.flatMap(\.added))
  }

  /// Records of the step's store.
  fileprivate func stored(_ records: Set<OutboxRecord>) -> Set<StoredRecord> {
    Set(records.map { StoredRecord(store: head.id.storeIdentifier, record: $0) })
  }
}
