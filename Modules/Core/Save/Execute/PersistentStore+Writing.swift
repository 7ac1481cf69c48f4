extension PersistentStore {
  /// Runs a write of the store: a save, a batch request or a claim.
  ///
  /// - Throws: The errors of the store. An error of another type says nothing about the outcome, so that it becomes the
  ///   underlying error of an ``ErrorCode/inputOutput`` whose outcome is unknown.
  func writing<T>(_ write: () throws -> T) throws -> T {
    do {
      return try write()
    } catch let error where !(error is CoherenceError || error is StoreConflict.Failure) {
      throw CoherenceError(
        .inputOutput,
        "The store failed to save with an error that does not say whether the changes were applied; read the records to "
          + "see it.", underlying: error, outcome: .unknown)
    }
  }
}
