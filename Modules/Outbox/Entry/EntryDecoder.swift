import CoherenceCore
import Foundation

/// Decodes entries into ``OutboxEntry`` values, with the names that the model has now for their properties and
/// entities, and in the types of its attributes.
///
/// Used inside of the context of the records.
struct EntryDecoder {
  let coordinator: PersistentStoreCoordinator
  private var model: ManagedObjectModel { coordinator.managedObjectModel }

  init(coordinator: PersistentStoreCoordinator) { self.coordinator = coordinator }

  /// Decodes a stored entry.
  ///
  /// - Parameter includesContent: Whether the values over 32 KB are read, from a record of their own.
  /// - Throws: The errors of reading the values over 32 KB. An undecodable value is no error;
  ///   ``OutboxEntry/isReadable`` of its entry is false.
  func entry(_ object: OutboxEntryRecord, includesContent: Bool = false) throws -> OutboxEntry {
    let entity = model.entity(recordedAs: object.entityName)
    let payload = try payload(of: object, includesContent: includesContent)
    let values = try? EntryReader.payload(payload)
    let identity = object.identity.map { try? EntryReader.identity($0) } ?? []
    let record = OutboxRecord(rootName: object.rootName, key: object.recordKey).renamed(in: model)
    let store = object.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) }
    return OutboxEntry(
      id: object.objectID,
      recordID: store.flatMap { record.objectID(in: $0) },
      record: record,
      entityName: entity?.name ?? object.entityName,
      recordedEntityName: object.entityName,
      isEntityKnown: entity != nil,
      sequence: object.sequence,
      transaction: object.transaction,
      recordVersion: object.recordVersion,
      kind: object.kind,
      idempotencyKey: object.idempotencyKey,
      author: object.author,
      enqueuedDate: object.enqueued,
      state: object.state,
      attempts: Int(clamping: object.attempts),
      // The dates up to `retried` are constants, which stand for an attempt at any time.
      nextAttemptDate: object.nextAttempt <= OutboxEntryRecord.retried ? nil : object.nextAttempt,
      lastError: object.lastError,
      isRejected: object.isRejected,
      groupEnd: object.groupEnd,
      leaseEnd: object.lease,
      claimant: object.claimant,
      identity: Self.identity(identity ?? [], entity),
      changes: values.map { changes($0.0, entity, object.kind) } ?? [],
      members: values.map { members($0.1, entity) } ?? [],
      isReadable: values != nil && identity != nil)
  }

  /// Decodes a change of the log whose entry is not made yet. The result has the identifier of the log's record.
  ///
  /// - Parameter includesContent: Whether the result has the values over 32 KB.
  func entry(_ logged: LogChange, of save: LoggedSave, includesContent: Bool = false) -> OutboxEntry {
    let entity = model.entity(recordedAs: logged.entityName)
    let values = try? EntryReader.payload((includesContent ? logged.whole : nil) ?? logged.payload)
    let identity = logged.identity.map { try? EntryReader.identity($0) } ?? []
    let record = logged.record.renamed(in: model)
    let store = save.id.storeIdentifier.flatMap { coordinator.persistentStore(with: $0) }
    return OutboxEntry(
      id: save.id, recordID: store.flatMap { record.objectID(in: $0) }, record: record,
      entityName: entity?.name ?? logged.entityName, recordedEntityName: logged.entityName,
      isEntityKnown: entity != nil, sequence: logged.sequence, transaction: save.transaction,
      recordVersion: logged.recordVersion, kind: logged.kind, idempotencyKey: logged.idempotencyKey,
      author: save.author, enqueuedDate: save.enqueued, state: .pending, attempts: 0, nextAttemptDate: nil,
      lastError: nil, isRejected: false, groupEnd: nil, leaseEnd: nil, claimant: nil,
      identity: Self.identity(identity ?? [], entity), changes: values.map { changes($0.0, entity, logged.kind) } ?? [],
      members: values.map { members($0.1, entity) } ?? [], isReadable: values != nil && identity != nil)
  }

  /// The entry that stands for an unreadable record of the log: a parked change of the record of the log
  /// itself.
  func entry(unreadable save: LoggedSave) -> OutboxEntry {
    let name = OutboxLogRecord.entityName
    return OutboxEntry(
      id: save.id, recordID: nil, record: OutboxRecord(rootName: name, key: save.id.key), entityName: name,
      recordedEntityName: name, isEntityKnown: false, sequence: save.sequence, transaction: save.transaction,
      recordVersion: 1, kind: .update,
      // The log has the keys of its changes, and no request is made of this entry.
      idempotencyKey: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)), author: save.author,
      enqueuedDate: save.enqueued, state: .parked, attempts: 0, nextAttemptDate: nil,
      lastError: LogReader.unreadable.logText, isRejected: false, groupEnd: nil, leaseEnd: nil, claimant: nil,
      identity: [:], changes: [], members: [], isReadable: false)
  }

  private func payload(of object: OutboxEntryRecord, includesContent: Bool) throws -> Data {
    guard includesContent, object.contentSize > 0 else { return object.payload }
    let contents: [OutboxContentRecord] = try object.objects(for: "contents").compactMap { $0 as? OutboxContentRecord }
    return contents.first?.payload ?? object.payload
  }

  private static func identity(
    _ fields: [EntryFormat.Field], _ entity: EntityDescription?
  ) -> [String: AttributeValue] {
    var result: [String: AttributeValue] = [:]
    for field in fields {
      guard let value = field.value?.attributeValue else { continue }
      let property = entity?.property(recordedAs: field.name)
      result[property?.name ?? field.name] = (property as? AttributeDescription)?.converted(value) ?? value
    }
    return result
  }

  /// Leaves out the properties of an insert or an update whose values the server assigns since a change of the model.
  private func changes(
    _ fields: [EntryFormat.Field], _ entity: EntityDescription?, _ kind: OutboxEntryKind
  ) -> [OutboxChange] {
    fields.compactMap { field in
      let property = entity?.property(recordedAs: field.name)
      if kind != .delete, property?.isServerAssigned == true { return nil }
      return OutboxChange(
        name: property?.name ?? field.name, recordedName: field.name, isKnown: property != nil,
        base: field.base.map { present($0, of: property) }, value: field.value.map { present($0, of: property) })
    }
  }

  /// The value in the present type of its attribute, or with the present name of the target's hierarchy.
  private func present(_ value: OutboxValue, of property: PropertyDescription?) -> OutboxValue {
    switch value {
    case .record(let record): .record(record.renamed(in: model))
    case .value(let content): .value((property as? AttributeDescription)?.converted(content) ?? content)
    case .omitted: value
    }
  }

  private func members(_ changes: [EntryFormat.Members], _ entity: EntityDescription?) -> [OutboxMembers] {
    changes.compactMap { change in
      let property = entity?.property(recordedAs: change.name)
      if property?.isServerAssigned == true { return nil }
      return OutboxMembers(
        name: property?.name ?? change.name, recordedName: change.name, isKnown: property != nil,
        added: change.added.map { $0.renamed(in: model) },
        removed: change.removed.map { $0.renamed(in: model) }, isReordered: change.isReordered, isOwner: change.isOwner)
    }
  }
}
