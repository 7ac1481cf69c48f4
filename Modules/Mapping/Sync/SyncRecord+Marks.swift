import CoherenceCore

extension SyncRecord {
  func markAsUploaded() throws {
    isUploaded = true
    try setKnownToServer()
  }

  func markAsDeleted(in context: ManagedObjectContext) throws {
    guard try mayBeKnownToServer() else { return context.delete(self) }
    wasDeleted = true
    isUploaded = false
  }
}
