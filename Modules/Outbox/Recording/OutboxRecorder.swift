import CoherenceCore
import Foundation

/// Adds the changes of forwarded records to each save, as one record of the log, or as several for a large save.
///
/// The recorder reads nothing from the stores, and entries are made later, see ``OutboxLogRecord``. The cost of a save
/// is the record, a copy of each changed value, and a signal, which wakes the forwarders of the store in all
/// processes.
final class OutboxRecorder: SaveParticipant {
  private let entities: [ObjectIdentifier: RecordedEntity]
  private let slots: LogSlots
  private let sequence: OutboxSequence
  private let now: @Sendable () -> Date

  /// - Parameters:
  ///   - names: The names of the forwarded entities, subentities included.
  ///   - model: A model with the entities of an outbox.
  init(
    forwarding names: Set<String>, in model: ManagedObjectModel, sequence: OutboxSequence,
    now: @escaping @Sendable () -> Date
  ) throws {
    slots = LogSlots(try model.entity(named: OutboxLogRecord.entityName))
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
    let changes = save.changes
    let sequences = sequence.reserve(changes.count, at: date)
    let transaction = sequences.upperBound - 1
    var log = LogWriter()
    var isRecorded = false
    for index in 0..<changes.count {
      let change = changes[index]
      guard let entity = entities[ObjectIdentifier(change.entity)] else { continue }
      log.add(change, entity, sequence: sequences.lowerBound + Int64(index))
      if log.isFull {
        try insert(log, transaction, date, into: &save)
        isRecorded = true
        log = LogWriter()
      }
    }
    if log.firstSequence != nil {
      try insert(log, transaction, date, into: &save)
      isRecorded = true
    }
    if isRecorded { save.signal(OutboxChannel.entries) }
  }

  private func insert(
    _ log: borrowing LogWriter, _ transaction: Int64, _ date: Date, into save: inout SaveParticipation
  ) throws {
    guard let first = log.firstSequence else { return }
    let values = slots.values(
      sequence: first, transaction: transaction, author: save.author, date: date, payload: log.payload)
    try save.insert(slots.entity, values)
  }
}

/// The slots of ``OutboxLogRecord``.
private struct LogSlots {
  let entity: EntityDescription
  private let sequence, transaction, author, enqueued, payload: Int

  init(_ entity: EntityDescription) {
    self.entity = entity
    let table = OutboxLogRecord.Properties.table
    // This module declares the entity with all of these attributes, so that the lookup cannot fail.
    func slot(_ name: String) -> Int { entity.attribute(named: name)!.slot }
    sequence = slot(table.sequence.name)
    transaction = slot(table.transaction.name)
    author = slot(table.author.name)
    enqueued = slot(table.enqueued.name)
    payload = slot(table.payload.name)
  }

  /// The values of a new record by slot.
  func values(sequence: Int64, transaction: Int64, author: String?, date: Date, payload: Data) -> [AttributeValue] {
    var values = entity.defaultValues
    values[self.sequence] = .int(sequence)
    values[self.transaction] = .int(transaction)
    if let author { values[self.author] = .string(author) }
    values[enqueued] = date.attributeValue
    values[self.payload] = .data(payload)
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
