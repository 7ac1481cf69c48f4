import CoherenceActions
import CoherenceCore
import Foundation

/// Changes the entries of records as a merge or a user has decided, in the context of the merge or of the resolution.
///
/// The caller saves. ``carryOut(_:)`` skips a record while a forwarder sends one of its entries.
struct EntryRewriter {
  let context: ManagedObjectContext
  let coordinator: PersistentStoreCoordinator
  let conflicts: ConflictWriter

  /// - Returns: `nil` for a context without a coordinator.
  init?(in context: ManagedObjectContext, now: @escaping @Sendable () -> Date) {
    guard let coordinator = context.persistentStoreCoordinator else { return nil }
    self.context = context
    self.coordinator = coordinator
    conflicts = ConflictWriter(context: context, coordinator: coordinator, now: now)
  }

  /// Applies the decisions of a merge to the entries: discards edits, bases them on the server's values, parks the
  /// entries of records in conflict, and releases the entries whose conflict has ended.
  func carryOut(_ decisions: [PendingDecision]) throws {
    let records = try context.entryRecords(of: decisions.map(\.edit.recordID))
    var undecided: [(PendingDecision, entityName: String)] = []
    var ended: [ManagedObjectID] = []
    for decision in decisions {
      let entries = records[decision.edit.recordID] ?? []
      guard !entries.isEmpty, !entries.contains(where: { $0.state == .sending }) else { continue }
      let remaining = try rewrite(entries, decision)
      if decision.endsConflict { makePending(remaining) }
      // A merge of an older page, which does not know the conflict, may discard the edit too.
      if decision.endsConflict || remaining.isEmpty { ended.append(decision.edit.recordID) }
      // Other entries may have waited for the deleted entries, and be ready now.
      if entries.contains(where: \.hasChanges) { context.signalOnSave(OutboxChannel.entries) }
      if decision.isConflict, let firstEntry = remaining.first {
        undecided.append((decision, entityName: firstEntry.entityName))
        park(firstEntry)
      }
    }
    try conflicts.write(undecided, keepsNewer: true)
    for conflict in try context.conflictRecords(over: ended).values { context.delete(conflict) }
  }

  /// Writes a conflict for an edit that the server has refused. The caller parks the entry.
  ///
  /// - Parameter keys: The names of the identifying properties. The record already has the server's values for them.
  func carryOutRefusal(
    of edit: PendingEdit, serverValues: [String: AttributeValue]?, keys: Set<String>
  ) throws {
    let records = try context.entryRecords(of: [edit.recordID])
    guard let entries = records[edit.recordID], let firstEntry = entries.first else { return }
    var conflicting = edit.conflictingNames(with: serverValues, keys: keys)
    if edit.kind == .insert, let serverValues {
      // Without the server's values the user has nothing to compare the edit with.
      guard !serverValues.isEmpty else { return }
      let discarded = keys.intersection(serverValues.keys)
      let remaining = try makeUpdate(of: entries, serverValues, discarded: discarded)
      // An insert that equals the server's record has been deleted, and leaves no conflict.
      guard let update = remaining.first, update === firstEntry else { return }
      let changed = Set(try decoded(update).changes.map(\.name))
      let reported = changed.intersection(serverValues.keys)
      conflicting = reported.isEmpty ? changed : reported
    }
    let decision = PendingDecision(
      over: edit, serverValues: serverValues, conflicting: conflicting, isConflict: true)
    try conflicts.write([(decision, entityName: firstEntry.entityName)], keepsNewer: false)
  }

  /// The error of an entry parked by a merge.
  private static let reason = "The server has other values; resolve the conflict."

  private func park(_ firstEntry: OutboxEntryRecord) {
    guard firstEntry.state == .pending else { return }
    firstEntry.state = .parked
    firstEntry.lastError = Self.reason
  }

  // MARK: Entries

  /// Discards or rebases the edits of one record.
  ///
  /// - Returns: The remaining entries.
  private func rewrite(_ entries: [OutboxEntryRecord], _ decision: PendingDecision) throws -> [OutboxEntryRecord] {
    guard let server = decision.serverValues else {
      // A deletion on both sides is sent once more.
      if decision.isConflict || decision.endsConflict && decision.edit.kind == .delete { return entries }
      delete(entries)
      return []
    }
    if decision.becomesUpdate { return try makeUpdate(of: entries, server, discarded: decision.discarded) }
    return try remove(decision.discarded, from: entries)
  }

  func delete(_ entries: [OutboxEntryRecord]) {
    for entry in entries { context.delete(entry) }
  }

  /// Turns an insert into an update, because the server has a record with the same key.
  func makeUpdate(
    of entries: [OutboxEntryRecord], _ server: [String: AttributeValue], discarded: Set<String>
  ) throws -> [OutboxEntryRecord] {
    guard let first = entries.first, first.kind == .insert else { return try remove(discarded, from: entries) }
    let entry = try decoded(first)
    // An insert whose values cannot be read would seem to be equal to the server's record.
    guard entry.isReadable else { return entries }
    let changes = entry.changes.compactMap { change -> OutboxChange? in
      guard !discarded.contains(change.name) else { return nil }
      // A property without a value on either side is no change.
      guard let value = server[change.name] else { return change.value == .value(.null) ? nil : change }
      var change = change
      change.base = OutboxValue(recording: value)
      return change.base == change.value ? nil : change
    }
    let members = entry.members.filter { !discarded.contains($0.name) }
    let later = try remove(discarded, from: Array(entries.dropFirst()))
    guard !changes.isEmpty || !members.isEmpty else {
      context.delete(first)
      return later
    }
    first.kind = .update
    try write(changes, members, to: first)
    return [first] + later
  }

  /// Removes properties from inserts and updates, and deletes updates without a remaining property. If an entry
  /// changed, the first remaining entry gets a new idempotency key, because the server has not seen this edit yet. The
  /// remaining entries name the record by the key from before the removed changes.
  ///
  /// - Returns: The remaining entries.
  func remove(_ names: Set<String>, from entries: [OutboxEntryRecord]) throws -> [OutboxEntryRecord] {
    guard !names.isEmpty else { return entries }
    var remaining: [OutboxEntryRecord] = []
    var isChanged = false
    var formerKey: [String: AttributeValue] = [:]
    if let firstEntry = entries.first, firstEntry.kind != .insert {
      formerKey = try decoded(firstEntry).identity.filter { names.contains($0.key) && !$0.value.isNull }
    }
    for record in entries {
      let entry = try decoded(record)
      let changes = entry.changes.filter { !names.contains($0.name) }
      let members = entry.members.filter { !names.contains($0.name) }
      let isSame = changes.count == entry.changes.count && members.count == entry.members.count
      if isSame || record.kind == .delete {
        remaining.append(record)
        continue
      }
      isChanged = true
      if record.kind == .update, changes.isEmpty, members.isEmpty {
        context.delete(record)
      } else {
        try write(changes, members, to: record)
        remaining.append(record)
      }
    }
    // Without the removed changes, the server knows the record by the key from before them.
    if isChanged { try identify(remaining, by: formerKey) }
    if isChanged, let firstEntry = remaining.first { firstEntry.renewKey() }
    return remaining
  }

  /// Names the record of entries by other values of its key. Values of other properties have no effect.
  func identify(_ entries: [OutboxEntryRecord], by values: [String: AttributeValue]) throws {
    guard !values.isEmpty else { return }
    for record in entries {
      let former = try decoded(record).identity
      let identity = former.merging(values.filter { former[$0.key] != nil }) { $1 }
      guard identity != former else { continue }
      let fields = identity.sorted { $0.key < $1.key }.map { name, value in
        EntryFormat.Field(name: name, base: nil, value: .value(value))
      }
      record.identity = EntryWriter.identity(fields)
    }
  }

  /// Replaces the base of each property by the server's value. Changes only the first entry with the property: a later
  /// entry's base is the value of the entry before it. The first entry of the list gets a new idempotency key with a
  /// change, because a server may know the old key with the old bases.
  func rebase(_ names: Set<String>, on server: [String: OutboxValue], in entries: [OutboxEntryRecord]) throws {
    var remaining = names.filter { server[$0] != nil }
    var isChanged = false
    for record in entries where !remaining.isEmpty {
      let entry = try decoded(record)
      var changes = entry.changes
      for index in changes.indices where remaining.remove(changes[index].name) != nil {
        changes[index].base = server[changes[index].name]
      }
      guard changes != entry.changes else { continue }
      try write(changes, entry.members, to: record)
      isChanged = true
    }
    if isChanged { entries.first?.renewKey() }
  }

  /// Makes the first entry pending and due, without attempts. A refused entry gets a new idempotency key.
  func makePending(_ entries: [OutboxEntryRecord]) {
    guard let firstEntry = entries.first else { return }
    firstEntry.endRefusal(with: entries)
    firstEntry.makePending(from: OutboxEntryRecord.atOnce)
    firstEntry.lastError = nil
  }

  // MARK: Values

  func decoded(_ record: OutboxEntryRecord) throws -> OutboxEntry {
    try EntryDecoder(coordinator: coordinator).entry(record, includesContent: true)
  }

  /// Replaces the values of an entry, and renews its key, because a server may know the old key with the old values.
  func write(_ changes: [OutboxChange], _ members: [OutboxMembers], to record: OutboxEntryRecord) throws {
    try record.write(changes, members, store: record.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) })
    record.renewKey()
  }

  func store(of id: ManagedObjectID) -> (any PersistentStore)? {
    id.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) }
  }
}
