import CoherenceCore
import Foundation

/// The requests whose updates give their records the keys of other records. The payloads alone have the new keys, so
/// that a search finds these requests among those that it has selected, after the graph of the entries without payloads.
extension Outbox {
  /// Leaves out the requests with a new key that another pending request gives up, unless the records exchange their
  /// keys, and those that name a record by a key which another request changes.
  ///
  /// The cost grows with the number of entries if a selected request has a new key or names another record. Otherwise
  /// the function reads nothing.
  ///
  /// - Parameter surplus: Receives the keys of the records in the stores of such requests, and loses the records that
  ///   are found to wait.
  func leaveOutKeyTakers(
    of selection: inout OutboxSelection, _ surplus: inout OutboxSurplus, foundBy reader: NodeReader,
    before unread: UnreadLog, in context: ManagedObjectContext
  ) throws {
    // Noted without such requests too: each later request that names a record would read that record's entries.
    if !surplus.isEmpty { surplus.noteUpdatedRecords(in: reader.completeNodes) }
    let newKeys = newKeys(in: selection)
    let namedRecords = namedRecords(in: selection)
    guard !newKeys.isEmpty || !namedRecords.isEmpty else { return }
    for (store, nodes) in reader.completeNodes where newKeys[store] != nil || namedRecords[store] != nil {
      let updates = UpdateReader(outbox: self, store: store, end: reader.knownEnd, unread: unread, context: context)
      var keys = newKeys[store] ?? [:]
      let named = namedRecords[store, default: []].subtracting(keys.keys)
      let updated: Set<OutboxRecord> =
        named.isEmpty ? [] : surplus.updatedRecords[store] ?? nodes.updatedRecords
      for (record, key) in try updates.newKeys(of: Array(named.intersection(updated))) { keys[record] = key }
      guard !keys.isEmpty else { continue }
      let selected = selection.steps.filter { $0.head.id.storeIdentifier == store }.map(\.record)
      let graph = try updates.graph(of: nodes, taking: keys, for: Set(selected))
      let waiting = graph.waitingForKeys
      selection.steps.removeAll { $0.head.id.storeIdentifier == store && waiting.contains($0.record) }
      selection.left.formUnion(waiting.intersection(selected).map { StoredRecord(store: store, record: $0) })
      selection.waiting.formUnion(waiting.map { StoredRecord(store: store, record: $0) })
      surplus.ownedKeys[store] = graph.ownedKeys
      surplus.namedRecords[store] = Set(nodes.lazy.flatMap(\.references).map(\.record))
      surplus.remove(selection.waiting)
    }
  }

  /// Leaves out the requests of a surplus with a new key that another record may still have, those whose records other
  /// requests name, and those that name a record whose key changes. The next search reads the entries again, and decides
  /// about these requests.
  func leaveOutKeyTakers(
    of selection: inout OutboxSelection, from surplus: OutboxSurplus, before unread: UnreadLog,
    in context: ManagedObjectContext
  ) throws {
    let newKeys = newKeys(in: selection)
    selection.steps.removeAll { step in
      guard let store = step.head.id.storeIdentifier, let taken = newKeys[store]?[step.record] else { return false }
      return surplus.namedRecords[store]?.contains(step.record) ?? true
        || surplus.ownedKeys[store]?.contains(taken.key) ?? true
    }
    for (store, named) in namedRecords(in: selection) {
      let updated = surplus.updatedRecords[store].map { named.intersection($0) } ?? named
      guard !updated.isEmpty else { continue }
      let updates = UpdateReader(outbox: self, store: store, end: surplus.end, unread: unread, context: context)
      let changed = Set(try updates.newKeys(of: Array(updated)).keys)
      selection.steps.removeAll {
        $0.head.id.storeIdentifier == store && !$0.namedRecords.isDisjoint(with: changed)
      }
    }
  }

  /// The new keys of all first requests of a store. A search without payloads takes a new record for one with the key of
  /// its insert, although the request may have the key of a later update. When all records seem to wait for each other,
  /// the new keys show which of them do not. Reads the entries of all records with updates.
  func newKeys(
    of nodes: [OutboxNode], in store: StoreIdentifier, foundBy reader: NodeReader, before unread: UnreadLog,
    in context: ManagedObjectContext
  ) throws -> [OutboxRecord: CausalGraph.TakenKey] {
    let updates = UpdateReader(outbox: self, store: store, end: reader.knownEnd, unread: unread, context: context)
    return try updates.newKeys(of: Array(CausalGraph(nodes).keyTakers))
  }

  /// Whether a new record waits for the key of its insert although its request has the key of a later update. Reads the
  /// entries of the new records with updates that wait so.
  func hasReplacedKeys(
    foundBy reader: NodeReader, before unread: UnreadLog, in context: ManagedObjectContext
  ) throws -> Bool {
    try reader.completeNodes.contains { store, nodes in
      let updates = UpdateReader(outbox: self, store: store, end: reader.knownEnd, unread: unread, context: context)
      return try !updates.newKeys(of: CausalGraph(nodes).waitingForFirstKeys).isEmpty
    }
  }

  /// The records that the selected requests name, by store.
  private func namedRecords(in selection: OutboxSelection) -> [StoreIdentifier: Set<OutboxRecord>] {
    var result: [StoreIdentifier: Set<OutboxRecord>] = [:]
    for step in selection.steps where !step.namedRecords.isEmpty {
      if let store = step.head.id.storeIdentifier { result[store, default: []].formUnion(step.namedRecords) }
    }
    return result
  }

  /// The new keys of the selected requests, by store and record.
  private func newKeys(in selection: OutboxSelection) -> [StoreIdentifier: [OutboxRecord: CausalGraph.TakenKey]] {
    var result: [StoreIdentifier: [OutboxRecord: CausalGraph.TakenKey]] = [:]
    for step in selection.steps {
      guard let store = step.head.id.storeIdentifier, let key = newKey(of: step, selection.objects) else { continue }
      result[store, default: [:]][step.record] = key
    }
    return result
  }

  /// The key that an update gives its record, alone or in the request of an insert; `nil` for another request, and for a
  /// request with the key of its first entry.
  fileprivate func newKey(
    of step: OutboxStep, _ objects: [ManagedObjectID: OutboxEntryRecord]
  ) -> CausalGraph.TakenKey? {
    guard step.kind == .update || step.kind == .insert && step.entries.count > 1,
      step.changes.contains(where: { step.identity[$0.name] != nil }), let head = objects[step.head.id],
      let last = step.entries.last
    else { return nil }
    let scope = coordinator.managedObjectModel.entity(recordedAs: head.entityName)?.identifyingScope.name
    var newValues: [String: OutboxValue] = [:]
    for change in step.changes { newValues[change.recordedName] = change.value }
    guard let key = OutboxNode.UniqueKey(head.identity, in: scope, replacing: newValues),
      key != OutboxNode.UniqueKey(head.identity, in: scope)
    else { return nil }
    return CausalGraph.TakenKey(key: key, transaction: last.transaction)
  }
}

/// Reads the new keys of the requests for which other requests wait.
private struct UpdateReader {
  let outbox: Outbox
  let store: StoreIdentifier
  /// The ``OutboxNode/transaction`` of the last known save.
  let end: Int64
  let unread: UnreadLog
  let context: ManagedObjectContext

  /// The number of links of a chain of requests that are read one by one. All requests are read for a longer chain, so
  /// that its cost does not grow with the square of its length.
  private static let longestWalk = 3
  /// The number of records whose payloads are in memory at the same time.
  private static let pageSize = 256

  /// Makes the graph with some new keys, and with those of all requests that decide whether these keys are exchanged.
  ///
  /// - Parameter selected: The records whose waits are asked for.
  func graph(
    of nodes: [OutboxNode], taking keys: [OutboxRecord: CausalGraph.TakenKey], for selected: Set<OutboxRecord>
  ) throws -> CausalGraph {
    var known = keys
    var read = Set(keys.keys)
    var graph = CausalGraph(nodes, taking: known)
    var length = 0
    while true {
      let awaited = graph.keyTakers(awaitedBy: graph.waitingForKeys.intersection(selected)).subtracting(read)
      guard !awaited.isEmpty else { return graph }
      length += 1
      let next = length > Self.longestWalk ? graph.keyTakers.subtracting(read) : awaited
      read.formUnion(next)
      for (record, key) in try newKeys(of: Array(next)) { known[record] = key }
      graph = CausalGraph(nodes, taking: known)
    }
  }

  /// Reads the new keys of the first requests of records.
  func newKeys(of records: [OutboxRecord]) throws -> [OutboxRecord: CausalGraph.TakenKey] {
    var result: [OutboxRecord: CausalGraph.TakenKey] = [:]
    for start in stride(from: 0, to: records.count, by: Self.pageSize) {
      let page = Array(records[start..<min(start + Self.pageSize, records.count)])
      var objects: [ManagedObjectID: OutboxEntryRecord] = [:]
      for (record, entries) in try outbox.entries(of: page, store: store, &objects, in: context) {
        let known = entries.prefix { $0.transaction <= end && unread.isBeforeUnreadable($0.transaction, in: store) }
        guard let step = OutboxPlan(entries: Array(known)).steps.first else { continue }
        result[record] = outbox.newKey(of: step, objects)
      }
    }
    return result
  }
}

extension OutboxStep {
  /// The other records that the request names by their keys.
  fileprivate var namedRecords: Set<OutboxRecord> {
    kind == .delete ? [] : newReferences.union(members.flatMap(\.removed)).subtracting([record])
  }
}
