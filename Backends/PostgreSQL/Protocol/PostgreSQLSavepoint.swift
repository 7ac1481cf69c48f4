/// A savepoint of a transaction, with its statements.
struct PostgreSQLSavepoint {
  /// The statement that sets the savepoint.
  let setting: PostgreSQLText
  /// The statement that rolls the transaction back to the savepoint.
  let rollback: PostgreSQLText

  /// Makes a savepoint of a name.
  ///
  /// - Parameter isControl: As ``PostgreSQLText/isControl``, for the statement that sets the savepoint.
  init(_ name: String, isControl: Bool = false) {
    setting = PostgreSQLText("SAVEPOINT \"\(name)\"", isControl: isControl)
    rollback = PostgreSQLText("ROLLBACK TO \"\(name)\"", isControl: true)
  }
}
