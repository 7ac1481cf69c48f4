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

  /// The error of a store whose tables were removed, and in whose place another store was made.
  ///
  /// - Parameter location: The schema of the tables, with its name in quotation marks.
  package static func storeReplaced(in location: String) -> CoherenceError {
    CoherenceError(
      .schemaChanged,
      "Another program has removed the store in \(location) and made another one there; detach the store and attach it "
        + "again.")
  }

  /// The sentence of a save that inserts a record with a key of another record.
  package static func takenKeyMessage(of entity: EntityDescription) -> String {
    "A new record of '\(entity.name)' has the key of a record that another program has inserted; save again. If the "
      + "object has an obtained permanent identifier, insert another object instead."
  }

  /// The sentence of a violated reference for which the engine names neither the record nor the relationship.
  package static let danglingReferenceMessage =
    "A relationship leads to a record that does not exist, or a deleted record is still referred to; refresh the "
    + "objects and save again. If a program with a later model has added a relationship to the store meanwhile, detach "
    + "the store and attach it again."
}
