package import CoherenceCore

// The parts of decoding rows that do not depend on a store: each store reads cells in its own way.

extension RowLayout {
  /// For each slot of an entity, the space of the records to which the slot refers. Slots without references have the
  /// space of the rows, so that a decoder looks up spaces without a test.
  package func spaces(of entity: EntityDescription, in spaces: IDSpaces) -> [IDSpace] {
    entity.slots.map { slot in
      if case .reference(let relationship) = slot { return spaces[relationship.destination] }
      return spaces[table.root]
    }
  }

  // MARK: Errors

  /// The error for a row of an entity that the layout does not have.
  package var unknownEntity: CoherenceError {
    CoherenceError(
      .incompatibleModel,
      "Table '\(table.name)' has a record of an entity that the model does not have: a program with a newer model has "
        + "saved it. Update this program, or attach the store again, which lists such records.")
  }

  /// The error for a row without a key or a version.
  package var wrongKey: CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "Table '\(table.name)' has a record without a key or a version; restore the store from a backup.")
  }

  /// Returns the error for a value that does not have its column's type.
  ///
  /// - Parameter index: The index of the column in the statement.
  package func wrongValue(at index: Int, as storage: StorageType) -> CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "Column '\(columns[index - (hasEntity ? 3 : 2)].name)' of table '\(table.name)' has a value that is not of type "
        + "\(storage); correct it, or restore the store from a backup.")
  }
}
