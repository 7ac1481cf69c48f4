import CoherenceCore

/// A record with marks for its synchronisation with a server.
///
/// | `isUploaded` | `wasDeleted` | |
/// |---|---|---|
/// | `false` | `false` | made or edited locally, to be uploaded |
/// | `true` | `false` | equal to the server's record |
/// | `false` | `true` | deleted locally, the deletion to be uploaded |
/// | `true` | `true` | deleted, and the deletion was uploaded: to be purged |
///
/// Both marks are boolean attributes of the entity with the default `false`.
public protocol SyncRecord: DataRecord {
  /// Whether the server has the current values of the record.
  var isUploaded: Bool { get set }
  /// Whether the record counts as deleted. It stays stored until the deletion is uploaded.
  var wasDeleted: Bool { get set }
  /// The order of fetched records to upload; by default the order of their keys.
  static var sort: SortInfo? { get }
  /// The name of the attribute behind ``isUploaded``.
  static var isUploadedKey: String { get }
  /// The name of the attribute behind ``wasDeleted``.
  static var wasDeletedKey: String { get }
  /// The name of a boolean attribute with the default `false`, `true` once the server has had the record; by default
  /// `nil`, without such an attribute. The attribute separates records that the server has to insert from records that
  /// it has to update, and a record that the server never had is deleted without an upload. A record that is saved
  /// again after the upload of its deletion is one that the server has to insert.
  static var isKnownToServerKey: String? { get }
}

extension SyncRecord {
  public static var sort: SortInfo? { nil }
  public static var isUploadedKey: String { "isUploaded" }
  public static var wasDeletedKey: String { "wasDeleted" }
  public static var isKnownToServerKey: String? { nil }
}
