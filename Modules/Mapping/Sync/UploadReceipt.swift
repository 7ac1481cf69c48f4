public import CoherenceCore

/// A record as it was when it was fetched to be uploaded, so that an edit that is made during the upload is not taken for
/// uploaded.
///
/// ```swift
/// let sent = try await worker.perform {
///   let records: [FruitRecord] = try manager.fetchRecordsToUpload(context: worker)
///   return records.map { ($0.toModel(), $0.uploadReceipt) }
/// }
/// try await server.upload(sent.map(\.0))
/// try await manager.markRecordsAsUploaded(entity: FruitRecord.self, receipts: sent.map(\.1))
/// ```
public struct UploadReceipt: Sendable, Hashable {
  public let objectID: ManagedObjectID
  /// The version of the record that was sent.
  let version: Int64
}

extension SyncRecord {
  /// What tells later whether the record is still as it is now. Of a record without unsaved changes.
  public var uploadReceipt: UploadReceipt {
    // A fault has no version. One that cannot be loaded is to be sent again.
    try? load()
    return UploadReceipt(objectID: objectID, version: version)
  }
}
