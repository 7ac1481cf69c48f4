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
  func steps(
    in context: ManagedObjectContext, at date: Date, limit: Int, maximumDelay: Duration? = nil
  ) throws -> [OutboxStep] {
    guard limit > 0 else { return [] }
    var reader = NodeReader(in: context)
    var size = 1024
    while true {
      try reader.read(size)
      OutboxSequence.shared.raise(to: reader.end)
      var ready: [(store: StoreIdentifier, record: CausalGraph.Ready)] = []
      for (store, nodes) in reader.completeNodes {
        let graph = CausalGraph(nodes)
        ready += graph.ready(at: date, limit: limit, longestWait: maximumDelay).map { (store, $0) }
      }
      if ready.count >= limit || reader.isAtEnd {
        return try self.steps(for: ready, through: reader.end, limit: limit, in: context)
      }
      // Doubled, so that all graphs together cost as much as the last one.
      size *= 2
    }
  }

  /// The next request of each record.
  ///
  /// - Parameter end: The end of the saves that count.
  private func steps(
    for ready: [(store: StoreIdentifier, record: CausalGraph.Ready)], through end: Int64, limit: Int,
    in context: ManagedObjectContext
  ) throws -> [OutboxStep] {
    var steps: [OutboxStep] = []
    var cancelled: [OutboxEntry] = []
    for (store, group) in Dictionary(grouping: ready, by: \.store) {
      let entries = try entries(of: group.map(\.record.record), store: store, in: context)
      for ready in group.map(\.record) {
        let known = (entries[ready.record] ?? []).prefix { $0.transaction <= end }
        let plan = OutboxPlan(entries: Array(known))
        cancelled += plan.cancelled
        // A step behind a parked entry waits.
        guard var step = plan.steps.first, step.head.state != .parked else { continue }
        step.deferredReferences = ready.deferred.intersection(step.newReferences)
        steps.append(step)
      }
    }
    try remove(cancelled, in: context)
    return Array(steps.sorted { $0.head.cursor < $1.head.cursor }.prefix(limit))
  }

  /// The entries of records of one store, in the order of each record's saves.
  private func entries(
    of records: [OutboxRecord], store: StoreIdentifier, in context: ManagedObjectContext
  ) throws -> [OutboxRecord: [OutboxEntry]] {
    var result: [OutboxRecord: [OutboxEntry]] = [:]
    let decoder = EntryDecoder(coordinator: coordinator)
    for (rootName, group) in Dictionary(grouping: records, by: \.rootName) {
      let rootNames = coordinator.managedObjectModel.recordedNames(ofRoot: rootName)
      for object in try self.records(ofKeys: group.map(\.key), rootNames: rootNames, in: context)
      where object.objectID.storeIdentifier == store {
        let entry = try decoder.entry(object)
        result[entry.record, default: []].append(entry)
      }
    }
    return result.mapValues { $0.sorted { $0.precedes($1) } }
  }

  /// Deletes entries without an effect.
  private func remove(_ entries: [OutboxEntry], in context: ManagedObjectContext) throws {
    guard !entries.isEmpty else { return }
    for object in try records(entries.map(\.id), in: context) { context.delete(object) }
    do {
      try context.save()
    } catch ErrorCode.versionConflict {
      // Another process removes or changes the entries; the next selection sees them as they are then.
      context.rollback()
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
