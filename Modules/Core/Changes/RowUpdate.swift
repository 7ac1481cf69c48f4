/// The new state of a row.
public struct RowUpdate: Sendable {
  /// The whole row at its new version.
  public var row: Row
  /// The version that the store must have.
  public var baseVersion: Int64

  /// Makes an update of a row that must be at a base version.
  public init(row: Row, baseVersion: Int64) {
    self.row = row
    self.baseVersion = baseVersion
  }
}

/// A row to remove.
public struct RowDelete: Sendable {
  /// The identifier of the record.
  public var id: ManagedObjectID
  /// The version that the store must have.
  public var baseVersion: Int64

  /// Makes a delete of a record that must be at a base version.
  public init(id: ManagedObjectID, baseVersion: Int64) {
    self.id = id
    self.baseVersion = baseVersion
  }
}
