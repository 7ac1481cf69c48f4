import CoherenceActions
import CoherenceCore
import Foundation

/// Reads the entries and the log of the stores as pending edits, inside of a context, in one unit of work. Leaves the
/// log unchanged: other code turns its records into entries.
struct PendingEntryReader {
  private let context: ManagedObjectContext
  private let coordinator: PersistentStoreCoordinator
  private let names: RecordedNames
  private let log: LoggedChanges
  private let conflicts: WaitingConflicts?

  /// - Parameters:
  ///   - requested: The time of the request for a merge's input, and the present time. The edits have the conflicts
  ///     that were found until the request; no conflicts without a time.
  ///   - skipsUnreadable: Whether unreadable saves in the log are left out. Otherwise the functions throw for
  ///     such a save in a store of their records, because its edits are unknown.
  /// - Returns: `nil` for a context without a coordinator.
  init?(in context: ManagedObjectContext, requested: (time: Date, now: Date)? = nil, skipsUnreadable: Bool) {
    guard let coordinator = context.persistentStoreCoordinator else { return nil }
    let names = RecordedNames(in: context, of: coordinator)
    self.context = context
    self.coordinator = coordinator
    self.names = names
    log = LoggedChanges(in: context, skipsUnreadable: skipsUnreadable)
    conflicts = requested.map { WaitingConflicts(in: context, names, until: $0.time, at: $0.now) }
  }

  // MARK: Inserts and deletions

  /// Returns the pending inserts and deletions of an entity and its subentities, and the pending updates with a
  /// conflict or without a reply. The values of inserts are not read.
  func insertsAndDeletions(of entity: EntityDescription) throws -> [PendingEdit] {
    let stores = coordinator.persistentStores.filter { $0.environment.entities.contains { $0.name == entity.name } }
    try log.refuseIfUnreadable(in: stores.map(\.identifier))
    let entityNames = Set(entity.hierarchy.flatMap { [$0.name] + $0.formerNames })
    let kinds = [OutboxEntryKind.insert, .delete].map(\.attributeValue)
    let request = FetchRequest(OutboxEntryRecord.self)
      .filter(.membership(.path(PropertyPath(names: ["entityName"])), in: entityNames.map(AttributeValue.string)))
      .filter(
        .or([
          .membership(.path(PropertyPath(names: ["kind"])), in: kinds),
          .comparison(.path(PropertyPath(names: ["state"])), .equal, .value(OutboxEntryState.parked.attributeValue)),
          .comparison(.path(PropertyPath(names: ["groupEnd"])), .notEqual, .value(.null)),
        ]))
    let sink = try EntryHeaderSink(names)
    try context.read(request, into: sink)
    try log.forEach { change, save in
      if change.kind != .update, entityNames.contains(change.entityName) { sink.add(EntryHeader(change, save, names)) }
    }
    let ids = sink.headers.compactMap { header in
      names.objectID(of: header.record, in: header.id).map { ($0, header) }
    }
    let deleted = Set(ids.filter { $1.kind == .delete }.map(\.0))
    let inserts = ids.filter { $1.kind == .insert && !deleted.contains($0) }
    let inserted = inserts.map { id, header in
      PendingEdit(
        of: id, .insert, isBeingSent: header.isBeingSent, isInsertUnanswered: header.isBeingSent,
        serverAssigned: names.serverAssigned(of: names.entity(header.entityName) ?? id.entity))
    }
    // Only the first entry of a record is parked or sent, and entries of any kind may follow it.
    let claimed = Set(ids.filter { $1.kind == .update && ($1.state == .parked || $1.isBeingSent) }.map(\.0))
    let changed = try edits(of: Array(deleted.union(claimed)))
    return inserted
      + changed.filter { $0.kind == .delete || $0.kind == .update && ($0.conflict != nil || $0.isUnanswered) }
  }

  // MARK: Edits

  /// Returns the pending edits of some records, each with all values of its entries. A record with a single update, the
  /// usual case, is read without an object.
  func edits(of ids: [ManagedObjectID]) throws -> [PendingEdit] {
    guard !ids.isEmpty else { return [] }
    try log.refuseIfUnreadable(in: ids.lazy.compactMap(\.storeIdentifier))
    let wanted = Set(ids)
    var edits: [PendingEdit] = []
    edits.reserveCapacity(ids.count)
    var parked: [ManagedObjectID] = []
    for (root, group) in Dictionary(grouping: ids, by: \.entity.root) {
      let rootNames = [root.name] + root.formerNames
      // The number of entries for each key. Records of two stores may share a key; the identifiers below distinguish
      // them.
      var counts = Dictionary(group.lazy.map { ($0.key, 0) }, uniquingKeysWith: { first, _ in first })
      let entries = try payloads(rootNames, counting: &counts)
      var combinedKeys: Set<Int64> = []
      for entry in entries {
        if entry.header.state == .parked, let id = names.objectID(of: entry.header.record, in: entry.header.id) {
          parked.append(id)
        }
        guard entry.header.kind == .update, counts[entry.header.record.key] == 1 else {
          combinedKeys.insert(entry.header.record.key)
          continue
        }
        guard let id = names.objectID(of: entry.header.record, in: entry.header.id), wanted.contains(id) else {
          continue
        }
        if let edit = edit(of: id, entry) {
          edits.append(edit)
        } else {
          combinedKeys.insert(entry.header.record.key)
        }
      }
      edits += try combinedEdits(ofKeys: Array(combinedKeys), rootNames).filter { wanted.contains($0.recordID) }
    }
    try conflicts?.add(to: &edits, of: parked)
    return edits
  }

  /// Reads the entries of some records of a hierarchy.
  ///
  /// - Parameter counts: Receives the number of entries for each of its keys, the keys of the records.
  private func payloads(
    _ rootNames: [String], counting counts: inout [Int64: Int]
  ) throws -> [EntryPayloadSink.Entry] {
    let sink = try EntryPayloadSink(names)
    try context.forEachEntryRequest(ofKeys: Array(counts.keys), rootNames: rootNames) {
      try context.read($0, into: sink)
    }
    for entry in sink.entries { counts[entry.header.record.key, default: 0] += 1 }
    try log.forEach { change, save in
      guard rootNames.contains(change.record.rootName), let count = counts[change.record.key] else { return }
      counts[change.record.key] = count + 1
      sink.add(EntryHeader(change, save, names), payload: change.payloadBytes)
    }
    return sink.entries
  }

  /// The edits of records with several entries, or with former values over 32 KB.
  private func combinedEdits(ofKeys keys: [Int64], _ rootNames: [String]) throws -> [PendingEdit] {
    try entries(ofKeys: keys, rootNames).compactMap { record, entries in
      guard let first = entries.first, let id = names.objectID(of: record.record, in: first.id) else { return nil }
      var edit = PendingEdit(id, entries, in: names.store(of: first.id))
      edit?.serverAssigned = names.serverAssigned(of: names.entity(first.entityName) ?? id.entity)
      return edit
    }
  }

  /// The edit of a record with a single update; `nil` if the payload leaves out a former value because of its size.
  private func edit(of id: ManagedObjectID, _ entry: EntryPayloadSink.Entry) -> PendingEdit? {
    var edit = PendingEdit(of: id, .update, isBeingSent: entry.header.state == .sending)
    edit.isUnanswered = entry.header.isBeingSent
    let entity = names.entity(entry.header.entityName) ?? id.entity
    edit.serverAssigned = names.serverAssigned(of: entity)
    guard let store = names.store(of: entry.header.id),
      let (fields, memberChanges) = try? EntryReader.payload(entry.payload)
    else {
      edit.keepAll(of: entity)
      return edit
    }
    for field in fields {
      guard let property = entity.property(recordedAs: field.name), !edit.serverAssigned.contains(property.name) else {
        continue
      }
      if case .omitted? = field.base { return nil }
      edit.changed.insert(property.name)
      let base = field.base?.attributeValue(in: store)
      edit.base[property.name] = base.map { (property as? AttributeDescription)?.converted($0) ?? $0 }
    }
    for change in memberChanges {
      guard let name = entity.property(recordedAs: change.name)?.name, !edit.serverAssigned.contains(name) else {
        continue
      }
      edit.changed.insert(name)
      edit.members[name] = PendingMembers(
        added: Set(change.added.compactMap { $0.objectID(in: store) }),
        removed: Set(change.removed.compactMap { $0.objectID(in: store) }))
    }
    return edit
  }

  /// The stored and the logged entries of some records, with their values over 32 KB. A merge compares its input with
  /// the former values, and would take an unknown former value for a change by the server.
  private func entries(ofKeys keys: [Int64], _ rootNames: [String]) throws -> [StoredRecord: [OutboxEntry]] {
    guard !keys.isEmpty else { return [:] }
    guard let coordinator = context.persistentStoreCoordinator else { return [:] }
    let decoder = EntryDecoder(coordinator: coordinator)
    var entries = try context.entryRecords(ofKeys: keys, rootNames: rootNames).map {
      try decoder.entry($0, includesContent: true)
    }
    let wantedKeys = Set(keys)
    try log.forEach { change, save in
      guard wantedKeys.contains(change.record.key), rootNames.contains(change.record.rootName) else { return }
      entries.append(decoder.entry(change, of: save, includesContent: true))
    }
    return Dictionary(grouping: entries) { StoredRecord(store: names.storeIdentifier(of: $0.id), record: $0.record) }
  }
}

/// The changes in the log. They are read once for all questions of a merge, because a merge has several, and a log that
/// no program reads grows without a limit.
private final class LoggedChanges {
  private let context: ManagedObjectContext
  private let skipsUnreadable: Bool
  private var log: (changes: [(LogChange, LoggedSave)], unreadable: [LoggedSave])?

  init(in context: ManagedObjectContext, skipsUnreadable: Bool) {
    self.context = context
    self.skipsUnreadable = skipsUnreadable
  }

  /// Calls a block with each change, in no order.
  func forEach(_ body: (LogChange, LoggedSave) throws -> Void) throws {
    for (change, save) in try read().changes { try body(change, save) }
  }

  /// Throws for a damaged save in the log of one of the stores, unless the reader skips such saves.
  ///
  /// The saves of a read-only store are skipped too. A merge cannot replace their edits, because the store refuses every
  /// change, and a person cannot drop them here.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt``.
  func refuseIfUnreadable(in stores: some Sequence<StoreIdentifier>) throws {
    guard !skipsUnreadable else { return }
    let unreadable = Set(try read().unreadable.compactMap(\.id.storeIdentifier))
    guard !unreadable.isEmpty, let coordinator = context.persistentStoreCoordinator else { return }
    let isRefused = stores.contains { store in
      unreadable.contains(store) && coordinator.persistentStore(with: store)?.environment.isReadOnly != true
    }
    if isRefused { throw LogReader.unreadable }
  }

  private func read() throws -> (changes: [(LogChange, LoggedSave)], unreadable: [LoggedSave]) {
    if let log { return log }
    var changes: [(LogChange, LoggedSave)] = []
    let unreadable = try context.forEachLoggedChange { change, save in changes.append((change, save)) }
    log = (changes, unreadable)
    return (changes, unreadable)
  }
}
