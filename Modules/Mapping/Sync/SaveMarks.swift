import CoherenceCore

/// What synchronisation has to say to a save.
protocol SaveMarks<Record> {
  associatedtype Record: DataRecord
  /// Whether a stored record may be changed or deleted for what is saved.
  func mayReplace(_ record: Record) throws -> Bool
  /// Marks a record that was set from a model.
  func note(_ record: Record) throws
  /// Removes a record that no model stands for, or marks it as deleted. Answers whether there was need to.
  func remove(_ record: Record) throws -> Bool
}

extension SaveMarks {
  func remove(_ record: Record) -> Bool {
    record.managedObjectContext?.delete(record)
    return true
  }
}

/// Records without marks.
struct NoMarks<Record: DataRecord>: SaveMarks {
  func mayReplace(_ record: Record) -> Bool { true }
  func note(_ record: Record) {}
}

/// The marks of records that are synchronised.
struct SyncMarks<Record: SyncRecord>: SaveMarks {
  let origin: SyncOrigin

  func mayReplace(_ record: Record) -> Bool {
    origin != .server(.kept) || record.isUploaded
  }

  func note(_ record: Record) throws {
    // There is a model of it again.
    if record.wasDeleted { record.wasDeleted = false }
    switch origin {
    case .here:
      if record.hasChanges { record.isUploaded = false }
    case .server:
      record.isUploaded = true
      try record.setKnownToServer()
    }
  }

  /// What is deleted here is deleted for the server to be told.
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
}

extension SyncRecord {
  /// Notes that the server knows the record, where that is kept.
  func setKnownToServer() throws {
    if let key = Self.isKnownToServerKey { try setValue(true, for: key) }
  }

  /// Whether the server may know the record.
  func mayBeKnownToServer() throws -> Bool {
    try Self.isKnownToServerKey.map { try value(for: $0, as: Bool.self) } ?? true
  }
}
