import CoherenceCore
import Foundation

/// Writes settlements into a context, which the caller saves.
struct ForwardSettlementWriter: Sendable {
  let outbox: Outbox

  /// Writes a settlement; the caller saves.
  ///
  /// - Parameters:
  ///   - entries: The entries of the settlements.
  ///   - confirmations: Receives the confirmation of an accepted edit, or of an edit in conflict.
  /// - Returns: Whether the forwarder still has the claim. Without the claim nothing is written.
  func write(
    _ settlement: ForwardSettlement, _ entries: SettledEntries, _ confirmations: inout [Confirmation],
    in context: ManagedObjectContext
  ) throws -> Bool {
    let flight = settlement.flight
    guard let record = entries.heads[flight.head], Int(record.attempts) == flight.content.attempt else { return false }
    switch settlement.consequence {
    case .remove(var values, let bases, let members):
      var confirmation = Confirmation(of: flight.step)
      if !values.isEmpty || !bases.isEmpty || !members.isEmpty, let id = flight.step.head.recordID {
        values.merge(try restorable(bases, of: flight, id, in: context)) { reported, _ in reported }
        let former = try apply(values, takingBack: members, of: flight, id, entries, in: context)
        if flight.step.kind == .update { for (name, value) in former { confirmation?.add(value, name) } }
      }
      if let confirmation { confirmations.append(confirmation) }
      try outbox.acknowledge(flight.step, in: context)
    case .restore(let values):
      release(record, .pending, error: nil)
      try restore(values, of: flight, in: context)
    case .again(let date, let error, let counts):
      release(record, .pending, error: error)
      record.nextAttempt = date
      // The first attempt stays counted, because the server may have applied the edit.
      if !counts { record.attempts = max(1, record.attempts - 1) }
    case .release:
      // The signal lets another forwarder send the entry at once.
      context.signalOnSave(OutboxChannel.entries)
      release(record, .pending, error: record.lastError)
      record.attempts = Int64(flight.step.head.attempts)
      record.groupEnd = flight.step.head.groupEnd
    case .renew:
      release(record, .pending, error: nil)
      record.nextAttempt = OutboxEntryRecord.atOnce
      try replaceIdempotencyKey(of: flight, in: context)
      let values = settlement.serverValues ?? [:]
      try rebase(record, on: values, of: flight, in: context)
      try noteConflict(values, of: flight, &confirmations, in: context)
    case .park(let error, let isRefused):
      release(record, .parked, error: error)
      record.isRejected = isRefused
    case .keepConflict(let values, let error):
      release(record, .parked, error: error)
      record.isRejected = true
      try keepConflict(values, of: flight, record, in: context)
      try noteConflict(values, of: flight, &confirmations, in: context)
    }
    return true
  }

  private func release(_ record: OutboxEntryRecord, _ state: OutboxEntryState, error: String?) {
    record.state = state
    record.lease = nil
    record.claimant = nil
    record.lastError = error
  }

  /// Gives an edit a new idempotency key. A server may repeat its first decision for the old key. The next attempt has
  /// the same entries, so that the end of their group stays.
  private func replaceIdempotencyKey(of flight: ForwardFlight, in context: ManagedObjectContext) throws {
    let key = flight.content.idempotencyKey
    let ids = flight.step.entries.map(\.id)
    for record in try outbox.records(ids, in: context) where record.idempotencyKey == key {
      record.idempotencyKey = .random()
    }
  }

  // MARK: Conflicts

  /// Bases an edit that is sent again on the server's values. The entries have the bases, because every attempt under the
  /// new key has the same ones, also in a later run of the program and by another forwarder. An insert has no bases, and
  /// the values that the server assigns are none.
  private func rebase(
    _ record: OutboxEntryRecord, on values: [String: AttributeValue], of flight: ForwardFlight,
    in context: ManagedObjectContext
  ) throws {
    let assigned = flight.step.head.recordID.map { entity(of: flight, $0).serverAssignedNames } ?? []
    let names = Set(flight.step.changes.map(\.name)).intersection(values.keys).subtracting(assigned)
    guard flight.step.kind != .insert, !names.isEmpty else { return }
    let records = try outbox.records(flight.step.entries.map(\.id), in: context).filter { $0.kind != .insert }
    // The next attempt has the same entries, so that the end of their group stays.
    let groupEnd = record.groupEnd
    try EntryRewriter(in: context, now: outbox.options.now)?
      .rebase(names, on: values.mapValues { OutboxValue(recording: $0) }, in: records.sorted { $0.precedes($1) })
    record.groupEnd = groupEnd
  }

  /// Writes the server's values as a conflict for the user.
  private func keepConflict(
    _ values: [String: AttributeValue], of flight: ForwardFlight, _ record: OutboxEntryRecord,
    in context: ManagedObjectContext
  ) throws {
    guard let id = flight.step.head.recordID else { return }
    if record.kind == .insert { try applyKeys(values, of: flight, id, in: context) }
    try OutboxAgreement.noteConflict(
      over: id, serverValues: values, keys: Set(flight.step.identity.keys), in: context, now: outbox.options.now)
  }

  /// Inserts a deleted record again with the server's values, and deletes its entries, as for a user who resolves the
  /// conflict in favor of the server.
  private func restore(
    _ values: [String: AttributeValue], of flight: ForwardFlight, in context: ManagedObjectContext
  ) throws {
    // A record that the store does not hold any more cannot be inserted.
    guard let id = flight.step.head.recordID else { return try outbox.acknowledge(flight.step, in: context) }
    let resolver = try ConflictResolver(
      ofDeletionOf: id, entityName: flight.step.head.entityName, values, in: context, forwarding: outbox.entityNames,
      outbox.options)
    try resolver?.resolve(.server)
  }

  /// Writes the key of the server's record to a new record in conflict with it.
  private func applyKeys(
    _ values: [String: AttributeValue], of flight: ForwardFlight, _ id: ManagedObjectID,
    in context: ManagedObjectContext
  ) throws {
    let newKeys = values.filter { name, value in flight.step.identity[name].map { $0 != value } ?? false }
    guard !newKeys.isEmpty else { return }
    try outbox.replaceIdentifyingValues(
      of: id, by: flight.step.identity.merging(newKeys) { _, new in new }, in: context)
    guard let object = try context.existingObjects(with: [id])[id] else { return }
    try replaceCopies(of: object, flight.step.identity.merging(newKeys) { _, new in new }, in: context)
    for (name, value) in newKeys { try object.setAttributeValue(value, for: name) }
  }

  // MARK: Values of the server

  /// Writes the values that the server assigns, and keeps the reply against older pages.
  private func noteConflict(
    _ values: [String: AttributeValue], of flight: ForwardFlight, _ confirmations: inout [Confirmation],
    in context: ManagedObjectContext
  ) throws {
    let former = try applyAssigned(values, of: flight, in: context)
    if let reply = Confirmation(ofConflictOver: flight.step, values, replacing: former) { confirmations.append(reply) }
  }

  /// Writes the values that the server assigns to the record at once, because no decision of the user concerns them.
  /// The record's key is left to ``applyKeys(_:of:_:in:)``. Of a deleted record, the entry of the deletion gets the
  /// values, because the next request for the deletion may need them.
  ///
  /// - Returns: The former values of the changed attributes of the record.
  private func applyAssigned(
    _ values: [String: AttributeValue], of flight: ForwardFlight, in context: ManagedObjectContext
  ) throws -> [String: OutboxValue] {
    guard let id = flight.step.head.recordID else { return [:] }
    let names = entity(of: flight, id).serverAssignedNames.intersection(values.keys)
      .subtracting(flight.step.identity.keys)
    guard !names.isEmpty else { return [:] }
    guard let object = try context.existingObjects(with: [id])[id] else {
      let recorded = values.filter { names.contains($0.key) }.mapValues { OutboxValue(recording: $0) }
      let deletions = try context.entryRecords(of: [id])[id, default: []].filter { $0.kind == .delete }
      try EntryRewriter(in: context, now: outbox.options.now)?.rebase(names, on: recorded, in: deletions)
      return [:]
    }
    return try write(values.filter { names.contains($0.key) }, to: object)
  }

  /// The bases of a discarded edit to which the record can return. The result leaves out deleted targets, targets with
  /// another partner by now, and keys that the server has replaced.
  private func restorable(
    _ bases: [String: OutboxValue], of flight: ForwardFlight, _ id: ManagedObjectID, in context: ManagedObjectContext
  ) throws -> [String: AttributeValue] {
    guard !bases.isEmpty, let store = id.storeIdentifier.flatMap({ outbox.coordinator.persistentStore(with: $0) })
    else { return [:] }
    let values = bases.compactMapValues { $0.attributeValue(in: store) }
    return try context.restorable(
      values.filter { name, value in flight.step.identity[name].map { $0 == value } ?? true }, of: id,
      entity(of: flight, id))
  }

  /// Writes values to a record.
  ///
  /// - Returns: The former values of the changed attributes.
  private func write(
    _ values: [String: AttributeValue], to object: ManagedObject
  ) throws -> [String: OutboxValue] {
    var former: [String: OutboxValue] = [:]
    for (name, value) in values {
      let present = try object.value(for: name)
      guard present != value else { continue }
      former[name] = OutboxValue(recording: present)
      try object.setAttributeValue(value, for: name)
    }
    return former
  }

  /// The own entity of the record of an edit; the root of its hierarchy, if the model has lost the entity.
  private func entity(of flight: ForwardFlight, _ id: ManagedObjectID) -> EntityDescription {
    outbox.coordinator.managedObjectModel.entitiesByName[flight.step.head.entityName] ?? id.entity
  }

  /// Writes the server's values to the record, except for properties with a later edit. The later entries get assigned
  /// keys, and the server's values as bases, because the server compares the next edit with its own values.
  ///
  /// - Parameters:
  ///   - members: The changes of members of a discarded edit.
  ///   - settled: The entries of the settlements.
  /// - Returns: The former values of the changed attributes.
  private func apply(
    _ values: [String: AttributeValue], takingBack members: [OutboxMembers], of flight: ForwardFlight,
    _ id: ManagedObjectID, _ settled: SettledEntries,
    in context: ManagedObjectContext
  ) throws -> [String: OutboxValue] {
    let entries = settled.entries[id] ?? []
    let settledIDs = Set(flight.step.entries.map(\.id))
    let decoder = EntryDecoder(coordinator: outbox.coordinator)
    let laterRecords = entries.filter { !settledIDs.contains($0.objectID) }.sorted { $0.precedes($1) }
    let later = try laterRecords.map { try decoder.entry($0) }
    let identity = flight.step.identity(assigning: values)
    if !identity.isEmpty, !later.isEmpty || !flight.step.deferredReferences.isEmpty {
      outbox.replaceIdentifyingValues(in: entries, by: identity)
    }
    guard flight.step.kind != .delete else { return [:] }
    if !later.isEmpty {
      try EntryRewriter(in: context, now: outbox.options.now)?
        .rebase(Set(values.keys), on: values.mapValues { OutboxValue(recording: $0) }, in: laterRecords)
    }
    let keys = settled.mayHaveCopies ? identity : [:]
    guard let object = settled.objects[id] else {
      for copy in try copies(of: id, entity(of: flight, id), keys, in: context) { context.delete(copy) }
      return [:]
    }
    try replaceCopies(of: object, keys, in: context)
    try context.takeBack(members, besides: later.flatMap(\.members), of: object, forwarding: outbox.entityNames)
    let edited = Set(later.flatMap { $0.changes.map(\.name) })
    return try write(values.filter { !edited.contains($0.key) }, to: object)
  }
}
