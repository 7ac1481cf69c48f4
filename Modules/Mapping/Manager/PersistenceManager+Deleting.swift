public import CoherenceCore

extension PersistenceManager {
  /// Deletes the records of a uid by the model's delete rules, in one transaction. A uid without a record is skipped.
  ///
  /// - Returns: The number of deleted records, without the records that delete rules added.
  /// - Throws: As ``delete(entity:predicate:saveEvery:context:)``, and ``ErrorCode/invalidUid``.
  @discardableResult
  public final func delete<Record: DataRecord>(
    entity: Record.Type, uid: Record.UidType, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entity: entity, uids: [uid], context: context)
  }

  /// Deletes the records of some uids by the model's delete rules, in one transaction. Uids without a record are
  /// skipped, and an empty list deletes nothing.
  ///
  /// - Parameters:
  ///   - entity: The class of the records.
  ///   - uids: The uids.
  ///   - context: The context of the deletion, whose other changes are saved too; by default a new context.
  /// - Returns: The number of deleted records, without the records that delete rules added.
  /// - Throws: As ``delete(entity:uid:context:)``.
  @discardableResult
  public final func delete<Record: DataRecord>(
    entity: Record.Type, uids: [Record.UidType], context: ManagedObjectContext? = nil
  ) throws -> Int {
    try writing(in: context) { try $0.delete(entity: entity, uids: uids) }
  }

  /// Another name of ``delete(entity:uids:context:)``.
  @discardableResult
  public final func deleteRecords<Record: DataRecord>(
    entity: Record.Type, uids: [Record.UidType], context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entity: entity, uids: uids, context: context)
  }

  /// Deletes the records of a model; see ``delete(entity:uid:context:)``.
  @discardableResult
  public final func deleteModel<Record: ModelRepresentable>(
    entity: Record.Type, model: Record.ModelType, context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entity: entity, uids: [model.uid], context: context)
  }

  /// Deletes the records of some models; see ``delete(entity:uids:context:)``.
  @discardableResult
  public final func deleteModels<Record: ModelRepresentable>(
    entity: Record.Type, models: [Record.ModelType], context: ManagedObjectContext? = nil
  ) throws -> Int {
    try delete(entity: entity, uids: models.map(\.uid), context: context)
  }
}
