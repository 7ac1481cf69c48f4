import CoherenceCore

/// The records of one upload, which get their marks in one save. If another writer has edited a record since the
/// upload, the record leaves the batch, and the rest is saved again.
struct UploadBatch<Record: SyncRecord> {
  private let receipts: [UploadReceipt]
  private let context: ManagedObjectContext
  /// The records edited or deleted since the upload.
  private(set) var changed: Set<ManagedObjectID> = []
  /// The marked records. In a context with other changes the marks may not be saved yet.
  private var marked: [ManagedObjectID: Record] = [:]

  init(_ receipts: [UploadReceipt], in context: ManagedObjectContext) {
    self.receipts = receipts
    self.context = context
  }

  /// Marks the records that still match one of their receipts. A record that was uploaded repeatedly has several.
  mutating func mark() throws {
    let remaining = Dictionary(grouping: receipts.filter { !changed.contains($0.objectID) }, by: \.objectID)
    let objects = try context.existingObjects(with: Array(remaining.keys))
    for (id, receipts) in remaining {
      // Unsaved changes are edits after the upload, except for the marks of an earlier attempt.
      guard let record = objects[id] as? Record, !record.hasChanges || marked[id] != nil,
        try receipts.contains(where: { try record.matches($0) })
      else {
        changed.insert(id)
        continue
      }
      try record.markAsUploaded()
      marked[id] = record
    }
  }

  /// Removes the marks of records that another writer edited.
  ///
  /// - Returns: Whether the batch had marked any of the records.
  mutating func exclude(_ ids: [ManagedObjectID]) -> Bool {
    var isSmaller = false
    for id in ids {
      guard let record = marked.removeValue(forKey: id) else { continue }
      context.refresh(record, mergeChanges: false)
      changed.insert(id)
      isSmaller = true
    }
    return isSmaller
  }
}

extension SyncRecord {
  /// Whether the record has the version of the receipt.
  fileprivate func matches(_ receipt: UploadReceipt) throws -> Bool {
    guard !isDeleted else { return false }
    do {
      // A fault has no version.
      try load()
    } catch let error as CoherenceError where error.code == .objectNotFound {
      return false
    }
    return version == receipt.version
  }
}
