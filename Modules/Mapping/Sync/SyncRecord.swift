import CoherenceCore

/// A record with marks of what a server knows of it.
///
/// | `isUploaded` | `wasDeleted` | |
/// |---|---|---|
/// | `false` | `false` | made or edited here, to be sent |
/// | `true` | `false` | as the server has it |
/// | `false` | `true` | deleted here, the server to be told |
/// | `true` | `true` | deleted, and the server knows: to be purged |
///
/// Both are attributes of the entity, booleans that are `false` by default.
public protocol SyncRecord: DataRecord {
  /// Whether the server has the record as it is here.
  var isUploaded: Bool { get set }
  /// Whether the record is deleted but for telling the server.
  var wasDeleted: Bool { get set }
  /// The order in which records to be sent are fetched. By key unless declared.
  static var sort: SortInfo? { get }
  /// The name of the attribute behind ``isUploaded``.
  static var isUploadedKey: String { get }
  /// The name of the attribute behind ``wasDeleted``.
  static var wasDeletedKey: String { get }
  /// The name of a boolean attribute, `false` by default, that says whether the server ever knew the record; `nil`, which
  /// is the default, when nobody keeps that. With it, what the server is to make is told from what it is to change, and a
  /// record that the server never knew is deleted without telling it.
  static var isKnownToServerKey: String? { get }
}

extension SyncRecord {
  public static var sort: SortInfo? { nil }
  public static var isUploadedKey: String { "isUploaded" }
  public static var wasDeletedKey: String { "wasDeleted" }
  public static var isKnownToServerKey: String? { nil }
}
