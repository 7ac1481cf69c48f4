/// The new state of a stored row, with the version that the row must have before the update.
public struct RowUpdate: Sendable {
  /// The whole row at its new version.
  public var row: Row
  /// The version of the stored row on which the update is based. A store without the row, or with another version,
  /// reports a conflict.
  public var baseVersion: Int64

  /// Makes an update on top of a base version.
  public init(row: Row, baseVersion: Int64) {
    self.row = row
    self.baseVersion = baseVersion
  }
}

/// A row to delete, with the version that the row must have before the delete.
public struct RowDelete: Sendable {
  /// The identifier of the record.
  public var id: ManagedObjectID
  /// The version of the stored row on which the delete is based. A store whose row has another version reports a
  /// conflict.
  public var baseVersion: Int64

  /// Makes a delete on top of a base version.
  public init(id: ManagedObjectID, baseVersion: Int64) {
    self.id = id
    self.baseVersion = baseVersion
  }
}
