import CoherenceCore

/// What synchronisation has to say to a save.
protocol SaveMarks<Record> {
  associatedtype Record: DataRecord
  /// Whether a stored record may be changed or deleted for what is saved.
  func mayReplace(_ record: Record) throws -> Bool
  /// Marks a record that was set from a model.
  func note(_ record: Record) throws
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
    origin != .server(.kept) || record.isUploaded || record.isInserted
  }

  func note(_ record: Record) throws {
    switch origin {
    case .here:
      if record.hasChanges { record.isUploaded = false }
    case .server:
      record.isUploaded = true
      try record.setKnownToServer()
    }
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
