import CoherenceCore

/// Thrown for the steps of a save that the server refused, or that found another version of a record.
struct SaveRefusal: Error {
  /// The subjects of the steps; empty for statements on many rows, which do not name them.
  var subjects: [SaveSubject]
  /// The server's failure; `nil` when records had another version.
  var failure: PostgreSQLFailure?
}

/// The subject of one statement of a save.
enum SaveSubject {
  case row(Row, baseVersion: Int64?)
  case delete(RowDelete)
  case link(LinkTable, Link)

  var objectID: ManagedObjectID? {
    switch self {
    case .row(let row, _): row.id
    case .delete(let delete): delete.id
    case .link: nil
    }
  }
}
