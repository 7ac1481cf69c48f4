import CoherenceCore
import CoherenceReconciliation

/// The synchronisation marks that a save sets and respects.
protocol SaveMarks<Record> {
  associatedtype Record: DataRecord
  /// Whether the save may change or delete a stored record.
  func mayReplace(_ record: Record) throws -> Bool
  /// Marks a record after its values were set from a model.
  func mark(_ record: Record) throws
  /// Whether ``remove(_:)`` deletes a record, and does not mark it.
  func deletes(_ record: Record) throws -> Bool
  /// Deletes a record without a model, or marks it as deleted. Returns `false` for a record with an earlier mark.
  func remove(_ record: Record) throws -> Bool
  /// Loads together what ``remove(_:)`` reads of records. The caller retains the returned objects.
  func loadTargets(of records: [Record]) throws -> [ManagedObject]
  /// The records that stay although the delete rule of a deleted record reaches them; `nil` without such records.
  func protection(in context: ManagedObjectContext) -> (any CascadeProtection)?
}

extension SaveMarks {
  func deletes(_ record: Record) -> Bool { true }

  func remove(_ record: Record) -> Bool {
    record.managedObjectContext?.delete(record)
    return true
  }

  func loadTargets(of records: [Record]) -> [ManagedObject] { [] }

  func protection(in context: ManagedObjectContext) -> (any CascadeProtection)? { nil }
}

/// The marks of records without synchronisation: none.
struct NoMarks<Record: DataRecord>: SaveMarks {
  func mayReplace(_ record: Record) -> Bool { true }
  func mark(_ record: Record) {}
}

/// The marks of synchronised records.
struct SyncMarks<Record: SyncRecord>: SaveMarks {
  let origin: SyncOrigin

  func mayReplace(_ record: Record) -> Bool {
    origin != .server(.kept) || record.isUploaded
  }

  func mark(_ record: Record) throws {
    // A record with a model is not deleted.
    if record.wasDeleted {
      // The server has received the deletion, and has to insert the record again.
      if origin == .here, record.isUploaded { try record.setKnownToServer(false) }
      record.wasDeleted = false
    }
    switch origin {
    case .here:
      if record.hasChanges { record.isUploaded = false }
    case .server:
      record.isUploaded = true
      try record.setKnownToServer()
    }
  }

  func deletes(_ record: Record) throws -> Bool {
    guard origin == .here else { return true }
    return try !record.wasDeleted && !record.mayBeKnownToServer()
  }

  /// A local deletion stays as a mark until it is uploaded.
  func remove(_ record: Record) throws -> Bool {
    guard let context = record.managedObjectContext else { return false }
    guard origin == .here else {
      context.delete(record)
      return true
    }
    if record.wasDeleted { return false }
    try record.markAsDeleted(in: context)
    return true
  }

  func loadTargets(of records: [Record]) throws -> [ManagedObject] {
    guard origin == .here, let context = records.first?.managedObjectContext else { return [] }
    return try context.loadCascadeTargets(of: records)
  }

  func protection(in context: ManagedObjectContext) -> (any CascadeProtection)? {
    origin == .server(.kept) ? UnsentRecords(context: context) : nil
  }
}

/// Keeps the records whose edits await their upload, of all classes with synchronisation marks.
private struct UnsentRecords: CascadeProtection {
  let context: ManagedObjectContext

  func covers(_ entity: EntityDescription) -> Bool {
    entity.concreteEntities.contains { $0.objectClass is any SyncRecord.Type }
  }

  func protectedIDs(among rows: [Row]) -> Set<ManagedObjectID> {
    let records = context.objects(for: rows.filter { $0.entity.objectClass is any SyncRecord.Type })
    return Set(records.filter { ($0 as? any SyncRecord)?.isUploaded == false }.map(\.objectID))
  }

  func note(kept: Set<ManagedObjectID>, deleted: Set<ManagedObjectID>, owners: Set<ManagedObjectID>) {}
}

extension SyncRecord {
  /// Notes whether the server has the record, if the entity has the attribute for it.
  func setKnownToServer(_ isKnown: Bool = true) throws {
    if let key = Self.isKnownToServerKey { try setValue(isKnown, for: key) }
  }

  /// Whether the server may have the record.
  func mayBeKnownToServer() throws -> Bool {
    try Self.isKnownToServerKey.map { try value(for: $0, as: Bool.self) } ?? true
  }
}
