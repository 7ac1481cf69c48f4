public import CoherenceCore

/// The entities of the records that an outbox keeps: entries, large contents, conflicts, the log, and
/// confirmations.
enum OutboxModel {
  static var entities: [Entity] {
    [
      OutboxEntryRecord.entityDeclaration, OutboxContentRecord.entityDeclaration,
      OutboxConflictRecord.entityDeclaration, OutboxLogRecord.entityDeclaration,
      OutboxConfirmationRecord.entityDeclaration,
    ]
  }

  /// Checks that a model has the entities.
  ///
  /// - Throws: ``ErrorCode/invalidModel``, naming the function that adds them.
  static func require(in model: ManagedObjectModel) throws(CoherenceError) {
    for entity in entities where model.entitiesByName[entity.name]?.objectClass != entity.objectClass {
      throw CoherenceError(
        .invalidModel,
        "The model has no entity '\(entity.name)' for the entries of an outbox; make the container with "
          + "`model.addingOutbox()`.")
    }
  }
}

extension ManagedObjectModel {
  /// Returns the model with the entities of an outbox, in every configuration.
  ///
  /// The entries of an ``Outbox`` are records of these entities, in the stores of the application: a save writes them
  /// in its own transaction. A store without tables for these entities gets the tables when it is attached; its other
  /// records stay as they are. Calling the function on its result returns the same model.
  ///
  /// ```swift
  /// let model = try ManagedObjectModel(ToDo.self, Person.self, name: "ToDos").addingOutbox()
  /// ```
  /// Use only the result: it has descriptions of its own, which differ from the descriptions of the receiver.
  ///
  /// - Throws: ``ErrorCode/invalidModel`` when the model has entities of its own with the names of the outbox.
  public func addingOutbox() throws -> ManagedObjectModel { try adding(OutboxModel.entities) }
}
