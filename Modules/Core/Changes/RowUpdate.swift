/// The new state of a row.
public struct RowUpdate: Sendable {
  /// The whole row at its new version.
  public var row: Row
  /// The version that the store must have.
  public var baseVersion: Int64
  public init(row: Row, baseVersion: Int64) {
    self.row = row
    self.baseVersion = baseVersion
  }
}

/// A row to remove.
public struct RowDelete: Sendable {
  public var id: ManagedObjectID
  /// The version that the store must have.
  public var baseVersion: Int64
  public init(id: ManagedObjectID, baseVersion: Int64) {
    self.id = id
    self.baseVersion = baseVersion
  }
}
