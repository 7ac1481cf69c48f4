import CoherenceActions
import CoherenceCore
import Foundation

/// Brings the entries of records in line with the decisions of merges, inside of the context of a merge.
///
/// The caller saves. Entries that a forwarder sends at the moment are left alone.
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

  func carryOut(_ decisions: [PendingDecision]) throws {
    let records = try context.entryRecords(of: decisions.map(\.edit.recordID))
    var undecided: [(PendingDecision, entityName: String)] = []
    for decision in decisions {
      let entries = records[decision.edit.recordID] ?? []
      guard !entries.isEmpty, !entries.contains(where: { $0.state == .sending }) else { continue }
      let remaining = try rewrite(entries, decision)
      // Entries that waited for these may be ready.
      if entries.contains(where: \.hasChanges) { context.signalOnSave(OutboxChannel.entries) }
      if decision.isConflict, let head = remaining.first {
        undecided.append((decision, entityName: head.entityName))
        park(head)
      }
    }
    try conflicts.write(undecided)
  }

  /// Keeps the refusal of an edit as a conflict. The caller parks the entry.
  ///
  /// - Parameter keys: The names of the properties that identify the record, whose values the record has from the server.
  func carryOutRefusal(
    of edit: PendingEdit, serverValues: [String: AttributeValue]?, keys: Set<String>
  ) throws {
    guard let entries = try context.entryRecords(of: [edit.recordID])[edit.recordID], let head = entries.first else {
      return
    }
    var conflicting = edit.conflictingNames(with: serverValues)
    if edit.kind == .insert, let serverValues {
      // Without the server's values nothing is known to decide over.
      guard !serverValues.isEmpty else { return }
      let discarded = keys.intersection(serverValues.keys)
      let remaining = try makeUpdate(of: entries, serverValues, discarded: discarded)
      guard let first = remaining.first, first === head else { return }
      let changed = Set(try decoded(first).changes.map(\.name))
      let known = changed.intersection(serverValues.keys)
      conflicting = known.isEmpty ? changed : known
    }
    let decision = PendingDecision(
      over: edit, serverValues: serverValues, conflicting: conflicting, isConflict: true)
    try conflicts.write([(decision, entityName: head.entityName)])
  }

  /// The error of an entry that waits for a user.
  private static let reason = "The server has other values; resolve the conflict."

  private func park(_ head: OutboxEntryRecord) {
    guard head.state == .pending else { return }
    head.state = .parked
    head.lastError = Self.reason
  }

  // MARK: Entries

  /// - Returns: The entries that remain.
  private func rewrite(_ entries: [OutboxEntryRecord], _ decision: PendingDecision) throws -> [OutboxEntryRecord] {
    guard let server = decision.serverValues else {
      if decision.isConflict { return entries }
      delete(entries)
      return []
    }
    if decision.becomesUpdate { return try makeUpdate(of: entries, server, discarded: decision.discarded) }
    return try remove(decision.discarded, from: entries)
  }

  func delete(_ entries: [OutboxEntryRecord]) {
    for entry in entries { context.delete(entry) }
  }

  /// Makes an update of an insert: the server has a record with its key and other values.
  private func makeUpdate(
    of entries: [OutboxEntryRecord], _ server: [String: AttributeValue], discarded: Set<String>
  ) throws -> [OutboxEntryRecord] {
    guard let first = entries.first, first.kind == .insert else { return try remove(discarded, from: entries) }
    let entry = try decoded(first)
    let changes = entry.changes.compactMap { change -> OutboxChange? in
      guard !discarded.contains(change.name) else { return nil }
      // A value that neither the user nor the server has set is the server's.
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

  /// Removes properties from entries, and entries without a property.
  ///
  /// - Returns: The entries that remain.
  func remove(_ names: Set<String>, from entries: [OutboxEntryRecord]) throws -> [OutboxEntryRecord] {
    guard !names.isEmpty else { return entries }
    var remaining: [OutboxEntryRecord] = []
    var isChanged = false
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
    if isChanged, let head = remaining.first { renewKey(of: head) }
    return remaining
  }

  /// Replaces the bases of properties by the server's values.
  func rebase(_ names: Set<String>, on server: [String: OutboxValue], in entries: [OutboxEntryRecord]) throws {
    var rest = names.filter { server[$0] != nil }
    for record in entries where !rest.isEmpty {
      let entry = try decoded(record)
      var changes = entry.changes
      for index in changes.indices where rest.remove(changes[index].name) != nil {
        changes[index].base = server[changes[index].name]
      }
      if changes != entry.changes { try write(changes, entry.members, to: record) }
    }
  }

  /// Has the first entry sent.
  func release(_ entries: [OutboxEntryRecord]) {
    guard let head = entries.first else { return }
    if head.isRejected { renewKey(of: head) }
    head.isRejected = false
    head.state = .pending
    head.attempts = 0
    head.nextAttempt = OutboxEntryRecord.atOnce
    head.lease = nil
    head.claimant = nil
    head.lastError = nil
  }

  // MARK: Values

  func decoded(_ record: OutboxEntryRecord) throws -> OutboxEntry {
    try EntryDecoder(coordinator: coordinator).entry(record, includesContent: true)
  }

  /// Writes other values under a new key, because a server may know the old key with the old values.
  func write(_ changes: [OutboxChange], _ members: [OutboxMembers], to record: OutboxEntryRecord) throws {
    try record.write(changes, members, store: record.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) })
    renewKey(of: record)
  }

  func renewKey(of record: OutboxEntryRecord) {
    record.idempotencyKey = UUID()
    record.groupEnd = nil
  }

  func store(of id: ManagedObjectID) -> (any PersistentStore)? {
    id.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) }
  }
}
