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
  /// log: their records, and all later saves, wait for the next call. In a store with a save that cannot be
  /// read, later saves wait until that save is dropped. Values over 32 KB are left out, see ``loaded(_:in:)``.
  ///
  /// - Parameters:
  ///   - date: The present time.
  ///   - limit: The greatest number of requests.
  ///   - maximumDelay: The longest time for which a forwarder postpones an attempt or claims an entry. A date further
  ///     in the future means that the clock was set back, and is ignored.
  ///   - onlyRetried: Whether only the records are selected whose first entries the user has retried since their last
  ///     attempts.
  ///   - validity: Returns the validity of a claim. Called for claimed entries.
  func selection(
    in context: ManagedObjectContext, at date: Date, limit: Int, maximumDelay: Duration? = nil,
    onlyRetried: Bool = false, validity: (OutboxNode) -> ClaimValidity = { _ in .untilLeaseEnds }
  ) throws -> OutboxSelection {
    guard limit > 0 else { return OutboxSelection() }
    let unread = try UnreadLog(in: context, except: readOnlyStores)
    var reader = NodeReader(in: context, before: unread)
    var size = 1024
    while true {
      try reader.read(size)
      reader.setClaimValidity(validity)
      OutboxSequence.shared.raise(to: reader.end)
      // Some of the records may wait for an insert after an unreadable save, and must not hide the others.
      let wantsAll = onlyRetried || !unread.unreadable.isEmpty
      let wantedCount = wantsAll ? Int.max : OutboxSurplus.wantedCount(limit: limit, readCount: reader.nodes.count)
      let ready = candidates(wantedCount, of: reader, at: date, maximumDelay)
        .filter { !unread.changes($0.ready.record) }
      let admitted = onlyRetried ? ready.filter(\.ready.isRetried) : ready
      if admitted.count >= limit || reader.isAtEnd {
        var surplus = OutboxSurplus(admitted, through: reader.knownEnd)
        var (selection, cancelled) = try take(limit, from: &surplus, of: reader, before: unread, in: context)
        let isChanged = try remove(cancelled, in: context)
        if !selection.steps.isEmpty || reader.isAtEnd && !isChanged {
          let removed = Set(isChanged ? cancelled.map(\.id) : [])
          selection.nodes = reader.nodes.filter { !removed.contains($0.id) }
          selection.isComplete = reader.isAtEnd && unread.isEmpty
          selection.unreadable = unread.unreadable
          selection.holdsBack = admitted.count < ready.count
          selection.surplus = surplus
          return selection
        }
        // Entries without an effect counted against the limit, so that the search begins again without them.
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
  /// ``selection(in:at:limit:maximumDelay:onlyRetried:validity:)``.
  func selection(
    from surplus: OutboxSurplus, in context: ManagedObjectContext, at date: Date, limit: Int
  ) throws -> OutboxSelection {
    guard limit > 0, !surplus.isEmpty else { return OutboxSelection() }
    let unread = try UnreadLog(in: context, except: readOnlyStores)
    var surplus = surplus
    while !surplus.isEmpty {
      let candidates = surplus.take(limit).filter { !unread.changes($0.ready.record) }
      let end = min(surplus.end, unread.start - 1)
      var (selection, cancelled) = try plan(candidates, through: end, before: unread, in: context)
      // Another process may have claimed or tried a record since the search.
      selection.steps.removeAll { $0.head.state != .pending || $0.head.nextAttemptDate.map { $0 > date } == true }
      let deferred = selection.steps.reduce(into: Set()) { $0.formUnion($1.stored($1.deferredReferences)) }
      try removeStepsBeforeInserts(from: &selection.steps, ignoring: deferred, in: context)
      let isChanged = try remove(cancelled, in: context)
      if !selection.steps.isEmpty {
        selection.surplus = surplus
        selection.unreadable = unread.unreadable
        return selection
      }
      // The save has ended the unit of work, in which the log was read.
      if isChanged { break }
    }
    return OutboxSelection()
  }

  /// The requests of the first records of a surplus that depend on no insert behind the read entries, and the entries
  /// without an effect.
  private func take(
    _ limit: Int, from surplus: inout OutboxSurplus, of reader: NodeReader, before unread: UnreadLog,
    in context: ManagedObjectContext
  ) throws -> (selection: OutboxSelection, cancelled: [OutboxEntry]) {
    while true {
      var (selection, cancelled) = try plan(surplus.take(limit), through: surplus.end, before: unread, in: context)
      if !reader.isAtEnd || !unread.unreadable.isEmpty {
        try removeStepsBeforeInserts(from: &selection.steps, ignoring: reader.records, in: context)
      }
      // With all entries read, a later search would remove the same requests again.
      guard reader.isAtEnd, selection.steps.isEmpty, cancelled.isEmpty, !surplus.isEmpty else {
        return (selection, cancelled)
      }
    }
  }

  /// The sendable records of all stores.
  ///
  /// - Parameter count: The greatest number of records of each store.
  private func candidates(
    _ count: Int, of reader: NodeReader, at date: Date, _ maximumDelay: Duration?
  ) -> [OutboxSurplus.Candidate] {
    reader.completeNodes.flatMap { store, nodes in
      let graph = CausalGraph(nodes)
      let left = recordsOfLaterModel(nodes, store)
      return graph.ready(at: date, limit: count, longestWait: maximumDelay, without: left).map {
        OutboxSurplus.Candidate(store: store, ready: $0)
      }
    }
  }

  /// The records of entities that the model does not have, if a program with a later model has opened the store. The
  /// entries of these records are left to the later program. Without a later model no program can send such entries, so
  /// that they are parked.
  ///
  /// A subentity may be unknown in a known hierarchy: the later program has added it while this program was running.
  private func recordsOfLaterModel(_ nodes: [OutboxNode], _ identifier: StoreIdentifier) -> Set<OutboxRecord> {
    let unknown = Set(nodes.lazy.filter { !$0.isEntityKnown }.map(\.record))
    guard !unknown.isEmpty, let store = coordinator.persistentStore(with: identifier),
      let metadata = try? store.metadata()
    else { return [] }
    return metadata.age(ofModelWith: store.environment.modelRecord.versionHashes) == .older ? unknown : []
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
      for ready in group.map(\.ready) {
        let knownEntries = (entries[ready.record] ?? []).prefix {
          $0.transaction <= end && unread.isBeforeUnreadable($0.transaction, in: store)
        }
        let plan = OutboxPlan(entries: Array(knownEntries))
        cancelled += plan.cancelled
        // A parked first step blocks the record until the user decides.
        guard var step = plan.steps.first, step.head.state != .parked else { continue }
        step.deferredReferences = ready.deferred.intersection(step.newReferences)
        selection.steps.append(step)
      }
    }
    selection.steps.sort { $0.head.cursor < $1.head.cursor }
    return (selection, cancelled)
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
  private func entries(
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
    } catch ErrorCode.versionConflict {
      // Another process has deleted or changed the entries at the same time; the next search reads their new state.
      context.rollback()
      return false
    }
  }

  /// Returns the request with its values over 32 KB, which
  /// ``selection(in:at:limit:maximumDelay:onlyRetried:validity:)`` leaves out. Does not add the properties that the
  /// request does not send.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` when an entry of the request no longer exists; errors of the store.
  func loaded(_ step: OutboxStep, in context: ManagedObjectContext) throws -> OutboxStep {
    guard step.changes.contains(where: \.hasOmittedValue) else { return step }
    let decoder = EntryDecoder(coordinator: coordinator)
    let entries = try step.entries.map { try decoder.entry(try record($0.id, in: context), includesContent: true) }
    return step.withValues(of: entries)
  }
}

extension OutboxStep {
  /// The records that the request relates to its record: new targets and added members.
  var newReferences: Set<OutboxRecord> {
    guard kind != .delete else { return [] }
    return Set(changes.compactMap { $0.value?.record } + members.flatMap(\.added))
  }

  /// Records of the step's store.
  fileprivate func stored(_ records: Set<OutboxRecord>) -> Set<StoredRecord> {
    Set(records.map { StoredRecord(store: head.id.storeIdentifier, record: $0) })
  }
}
