import CoherenceCore
import Foundation

/// Adds an entry for each change of a forwarded record to the save that makes the change.
///
/// Nothing is read. The cost is that of one more record for each change, and of a signal, which wakes the forwarders of
/// the store in all processes.
final class OutboxRecorder: SaveParticipant {
  private let entities: [ObjectIdentifier: RecordedEntity]
  private let slots: EntrySlots
  private let contentSlots: ContentSlots
  private let sequence: OutboxSequence
  private let now: @Sendable () -> Date

  /// - Parameters:
  ///   - names: The names of the forwarded entities, subentities included.
  ///   - model: A model with the entities of an outbox.
  init(
    forwarding names: Set<String>, in model: ManagedObjectModel, sequence: OutboxSequence,
    now: @escaping @Sendable () -> Date
  ) throws {
    slots = EntrySlots(try model.entity(named: OutboxEntryRecord.entityName))
    contentSlots = ContentSlots(try model.entity(named: OutboxContentRecord.entityName))
    entities = Dictionary(
      uniqueKeysWithValues: model.entities.filter { names.contains($0.name) }.map {
        (ObjectIdentifier($0), RecordedEntity($0, forwarding: names))
      })
    self.sequence = sequence
    self.now = now
  }

  func observes(_ entity: EntityDescription) -> Bool { entities[ObjectIdentifier(entity)] != nil }

  func participate(in save: inout SaveParticipation) throws {
    let date = now()
    let author = save.author
    let changes = save.changes
    let sequences = sequence.reserve(changes.count, at: date)
    var isRecorded = false
    for (sequence, change) in zip(sequences, changes) {
      guard let entity = entities[ObjectIdentifier(change.entity)],
        let content = EntryContent(of: change, entity)
      else { continue }
      let values = slots.values(
        of: change, content, sequence: sequence, transaction: sequences.upperBound - 1, author: author, date: date)
      let id = try save.insert(slots.entity, values)
      isRecorded = true
      if let whole = content.whole {
        try save.insert(contentSlots.entity, contentSlots.values(payload: whole, entry: id))
      }
    }
    if isRecorded { save.signal(OutboxChannel.entries) }
  }
}

/// The slots of ``OutboxEntryRecord``.
private struct EntrySlots {
  let entity: EntityDescription
  private let sequence, transaction, entityName, rootName, recordKey, recordVersion, kind, idempotencyKey: Int
  private let author, enqueued, identity, references, payload, contentSize: Int

  init(_ entity: EntityDescription) {
    self.entity = entity
    let table = OutboxEntryRecord.Properties.table
    // The entity is declared by this module, with all of these attributes.
    func slot(_ name: String) -> Int { entity.attribute(named: name)!.slot }
    sequence = slot(table.sequence.name)
    transaction = slot(table.transaction.name)
    entityName = slot(table.entityName.name)
    rootName = slot(table.rootName.name)
    recordKey = slot(table.recordKey.name)
    recordVersion = slot(table.recordVersion.name)
    kind = slot(table.kind.name)
    idempotencyKey = slot(table.idempotencyKey.name)
    author = slot(table.author.name)
    enqueued = slot(table.enqueued.name)
    identity = slot(table.identity.name)
    references = slot(table.references.name)
    payload = slot(table.payload.name)
    contentSize = slot(table.contentSize.name)
  }

  /// The values of a new entry by slot.
  func values(
    of change: RecordedChange, _ content: EntryContent, sequence: Int64, transaction: Int64, author: String?,
    date: Date
  ) -> [AttributeValue] {
    var values = entity.defaultValues
    values[self.sequence] = .int(sequence)
    values[self.transaction] = .int(transaction)
    values[entityName] = .string(change.entity.name)
    values[rootName] = .string(change.entity.root.name)
    values[recordKey] = .int(change.id.key)
    values[recordVersion] = .int(change.row?.version ?? (change.base?.version ?? 0) + 1)
    values[kind] = OutboxEntryKind(change.kind).attributeValue
    values[idempotencyKey] = .uuid(UUID())
    if let author { values[self.author] = .string(author) }
    values[enqueued] = date.attributeValue
    if let data = content.identity { values[identity] = .data(data) }
    if let data = content.references { values[references] = .data(data) }
    values[payload] = .data(content.payload)
    values[contentSize] = .int(Int64(content.whole?.count ?? 0))
    return values
  }
}

/// The slots of ``OutboxContentRecord``.
private struct ContentSlots {
  let entity: EntityDescription
  private let payload: Int
  private let entry: Int

  init(_ entity: EntityDescription) {
    self.entity = entity
    // The entity is declared by this module, with both properties.
    payload = entity.attribute(named: OutboxContentRecord.Properties.table.payload.name)!.slot
    entry = entity.relationship(named: OutboxContentRecord.Properties.table.entry.name)!.slot!
  }

  /// The values of a new record by slot.
  func values(payload: Data, entry: ManagedObjectID) -> [AttributeValue] {
    var values = entity.defaultValues
    values[self.payload] = .data(payload)
    values[self.entry] = .reference(entry)
    return values
  }
}

extension OutboxEntryKind {
  init(_ kind: RecordedChange.Kind) {
    switch kind {
    case .inserted: self = .insert
    case .updated: self = .update
    case .deleted: self = .delete
    }
  }
}
