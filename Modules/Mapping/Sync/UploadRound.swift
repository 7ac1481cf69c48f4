import CoherenceCore

/// The marking of what was uploaded, which is tried again without what others turn out to have edited.
struct UploadRound<Record: SyncRecord> {
  private let receipts: [UploadReceipt]
  private let context: ManagedObjectContext
  /// The records that are not as they were sent.
  private(set) var changed: Set<ManagedObjectID> = []
  /// The records that have their marks, not saved yet where the context had something else to save.
  private var marked: [ManagedObjectID: Record] = [:]

  init(_ receipts: [UploadReceipt], in context: ManagedObjectContext) {
    self.receipts = receipts
    self.context = context
  }

  /// Marks what is as its receipt says.
  mutating func mark() throws {
    let open = receipts.filter { !changed.contains($0.objectID) }
    let objects = try context.existingObjects(with: open.map(\.objectID))
    for receipt in open {
      let id = receipt.objectID
      guard let record = objects[id] as? Record, try record.isAsSent(receipt), !record.hasChanges || marked[id] != nil
      else {
        changed.insert(id)
        continue
      }
      try record.markAsUploaded()
      marked[id] = record
    }
  }

  /// Takes the marks back of records that somebody else edited. Answers whether there were any.
  mutating func leaveOut(_ ids: [ManagedObjectID]) -> Bool {
    var isLess = false
    for id in ids {
      guard let record = marked.removeValue(forKey: id) else { continue }
      context.refresh(record, mergeChanges: false)
      changed.insert(id)
      isLess = true
    }
    return isLess
  }
}

extension SyncRecord {
  fileprivate func isAsSent(_ receipt: UploadReceipt) throws -> Bool {
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
