package import CoherenceCore

// Errors that the SQL stores have in common.

extension CoherenceError {
  /// The error of a read with a finished reader.
  package static var readerFinished: CoherenceError {
    CoherenceError(.illegalState, "The reader is finished; make another reader.")
  }

  /// The error of a change in a store that only reads.
  package static var openedToReadOnly: CoherenceError {
    CoherenceError(.storeReadOnly, "The store was opened to read only; open it without that option to save.")
  }

  /// The error of a store whose tables are missing.
  ///
  /// - Parameter location: The file or the schema of the tables, in quotation marks.
  package static func tablesRemoved(from location: String) -> CoherenceError {
    CoherenceError(
      .schemaChanged,
      "Another program has removed the tables of \(location); detach the store and attach it again.")
  }
}
