public import CoherenceCore

/// The version of a record at the time of its upload, so that an edit during the upload is not marked as uploaded.
///
/// ```swift
/// let sent = try await worker.perform { worker in
///   let records: [FruitRecord] = try manager.fetchRecordsToUpdate(context: worker)
///   return records.map { ($0.toModel(), $0.uploadReceipt) }
/// }
/// try await server.upload(sent.map(\.0))
/// try await manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: sent.map(\.1))
/// ```
///
/// Deletions are sent by another request: the receipts of the records of
/// ``PersistenceManager/fetchRecordsToDelete(entity:context:)`` mark them in the same way.
public struct UploadReceipt: Sendable, Hashable {
  /// The uploaded record.
  public let objectID: ManagedObjectID
  /// The uploaded version.
  let version: Int64
}

extension SyncRecord {
  /// A receipt for the record's current version. The record must not have unsaved changes: after a rollback of changes
  /// that were uploaded, the record would be marked as uploaded although the server has other values.
  ///
  /// Call it in the record's context, in the block that makes the model. A fault is loaded.
  public var uploadReceipt: UploadReceipt {
    // A fault has no version. A receipt of a record whose load fails matches no version, so that the record is uploaded
    // again.
    try? load()
    return UploadReceipt(objectID: objectID, version: version)
  }
}
