import CoherenceCore
import Foundation

extension Outbox {
  /// The requests that can be sent, in the order of their first entries: no two of one record, each after everything
  /// that it waits for. Removes entries without an effect, with a save of the context.
  ///
  /// The entries are read from the oldest on, until enough requests are found. The read entries are a beginning of the
  /// history, up to the end of a save, so that the requests are in causal order whatever follows; later entries of a
  /// record wait for the next call. The cost grows with the number of entries that wait before the first ones that can
  /// be sent.
  ///
  /// Called inside of the context. Values over 32 KB are left out, see ``loaded(_:in:)``.
  ///
  /// - Parameters:
  ///   - date: The present time.
  ///   - limit: The greatest number of requests.
  ///   - maximumDelay: The longest time for which a forwarder postpones an attempt or claims an entry. A longer wait
  ///     means that the clock was set back, and is ignored.
  ///   - validity: The validity of a claim. Asked for entries that are claimed.
  func selection(
    in context: ManagedObjectContext, at date: Date, limit: Int, maximumDelay: Duration? = nil,
    validity: (OutboxNode) -> ClaimValidity = { _ in .untilLeaseEnds }
  ) throws -> OutboxSelection {
    guard limit > 0 else { return OutboxSelection() }
    try makeEntries()
    var reader = NodeReader(in: context)
    var size = 1024
    while true {
      try reader.read(size)
      reader.judgeClaims(validity)
      OutboxSequence.shared.raise(to: reader.end)
      var ready: [(store: StoreIdentifier, record: CausalGraph.Ready)] = []
      for (store, nodes) in reader.completeNodes {
        let graph = CausalGraph(nodes)
        ready += graph.ready(at: date, limit: limit, longestWait: maximumDelay).map { (store, $0) }
      }
      if ready.count >= limit || reader.isAtEnd {
        var (selection, cancelled) = try plan(ready, through: reader.end, in: context)
        if !reader.isAtEnd { try removeStepsBeforeInserts(from: &selection.steps, known: reader, in: context) }
        selection.steps = Array(selection.steps.sorted { $0.head.cursor < $1.head.cursor }.prefix(limit))
        let isChanged = try remove(cancelled, in: context)
        if !selection.steps.isEmpty || reader.isAtEnd && !isChanged {
          let removed = Set(isChanged ? cancelled.map(\.id) : [])
          selection.nodes = reader.nodes.filter { !removed.contains($0.id) }
          selection.isComplete = reader.isAtEnd
          return selection
        }
        // Entries without an effect took the places of others.
        if isChanged { (reader, size) = (NodeReader(in: context), 512) }
      }
      // Doubled, so that all graphs together cost as much as the last one.
      size *= 2
    }
  }

  /// The next request of each record, and the entries without an effect.
  ///
  /// - Parameter end: The end of the saves that count.
  private func plan(
    _ ready: [(store: StoreIdentifier, record: CausalGraph.Ready)], through end: Int64, in context: ManagedObjectContext
  ) throws -> (selection: OutboxSelection, cancelled: [OutboxEntry]) {
    var selection = OutboxSelection()
    var cancelled: [OutboxEntry] = []
    for (store, group) in Dictionary(grouping: ready, by: \.store) {
      let entries = try entries(of: group.map(\.record.record), store: store, &selection.objects, in: context)
      for ready in group.map(\.record) {
        let known = (entries[ready.record] ?? []).prefix { $0.transaction <= end }
        let plan = OutboxPlan(entries: Array(known))
        cancelled += plan.cancelled
        // A step behind a parked entry waits.
        guard var step = plan.steps.first, step.head.state != .parked else { continue }
        step.deferredReferences = ready.deferred.intersection(step.newReferences)
        selection.steps.append(step)
      }
    }
    return (selection, cancelled)
  }

  /// Removes the requests that refer to records whose inserts were not read. A clock that was set back between two runs of
  /// the program gives a later entry a smaller sequence than the insert that it refers to.
  private func removeStepsBeforeInserts(
    from steps: inout [OutboxStep], known reader: NodeReader, in context: ManagedObjectContext
  ) throws {
    let known = reader.records
    var waiting: Set<OutboxRecord> = []
    let targets = steps.reduce(into: Set<OutboxRecord>()) { $0.formUnion($1.newReferences) }.subtracting(known)
    for (rootName, group) in Dictionary(grouping: targets, by: \.rootName) {
      let rootNames = coordinator.managedObjectModel.recordedNames(ofRoot: rootName)
      for object in try records(ofKeys: group.map(\.key), rootNames: rootNames, in: context)
      where object.kind == .insert {
        waiting.insert(OutboxRecord(rootName: rootName, key: object.recordKey))
      }
    }
    if !waiting.isEmpty { steps.removeAll { !$0.newReferences.isDisjoint(with: waiting) } }
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
      // Another process removes or changes the entries; the next selection sees them as they are then.
      context.rollback()
      return false
    }
  }

  /// The request with values over 32 KB. A property without a value in the request stays without.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` when an entry was removed meanwhile; errors of the store.
  func loaded(_ step: OutboxStep, in context: ManagedObjectContext) throws -> OutboxStep {
    guard step.changes.contains(where: \.hasOmittedValue) else { return step }
    let decoder = EntryDecoder(coordinator: coordinator)
    let entries = try step.entries.map { try decoder.entry(try record($0.id, in: context), includesContent: true) }
    return step.replacing(entries)
  }
}

extension OutboxStep {
  /// The records that the request makes related.
  var newReferences: Set<OutboxRecord> {
    guard kind != .delete else { return [] }
    return Set(changes.compactMap { $0.value?.record } + members.flatMap(\.added))
  }
}
