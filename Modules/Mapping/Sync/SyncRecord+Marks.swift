import CoherenceCore

extension SyncRecord {
  /// Marks the record as uploaded, so that the server has the record.
  func markAsUploaded() throws {
    isUploaded = true
    try setKnownToServer()
  }

  /// Marks the record as deleted, for the upload of the deletion. Deletes a record that the server never had.
  func markAsDeleted(in context: ManagedObjectContext) throws {
    guard try mayBeKnownToServer() else { return context.delete(self) }
    wasDeleted = true
    isUploaded = false
  }
}
