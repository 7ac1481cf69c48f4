import CoherenceCore
import Foundation

/// Applies a user's decision over a conflict to the record and its entries, in a context that the caller saves.
struct ConflictResolver {
  private let context: ManagedObjectContext
  private let rewriter: EntryRewriter
  private let kind: OutboxConflictKind
  private let recordID: ManagedObjectID
  /// The name of the record's entity at the time of the conflict.
  private let entityName: String
  /// The store of the record; `nil` after its detachment.
  private let store: (any PersistentStore)?
  private let entries: [OutboxEntryRecord]
  /// The names of the properties in conflict.
  private let names: Set<String>
  /// Whether the server's values can be read.
  private let isReadable: Bool
  /// The server's values by property.
  private var server: [String: AttributeValue] = [:]
  /// The values on which the edit is based, of the properties in conflict that the server has not reported.
  private var unreportedBases: [String: AttributeValue] = [:]
  /// The names of the entities that the outbox forwards.
  private let entityNames: Set<String>
  private let options: OutboxOptions

  /// - Returns: `nil` for a context without a coordinator.
  /// - Throws: ``ErrorCode/illegalState`` while a process sends an entry of the record.
  init?(
    _ conflict: OutboxConflictRecord, of recordID: ManagedObjectID, in context: ManagedObjectContext,
    forwarding entityNames: Set<String>, _ options: OutboxOptions
  ) throws {
    guard let rewriter = EntryRewriter(in: context, now: options.now) else { return nil }
    self.context = context
    self.rewriter = rewriter
    self.recordID = recordID
    self.entityNames = entityNames
    self.options = options
    kind = conflict.kind
    entityName = conflict.entityName
    store = rewriter.store(of: conflict.objectID)
    entries = try context.entryRecords(of: [recordID])[recordID] ?? []
    let entity = context.persistentStoreCoordinator?.managedObjectModel.entity(recordedAs: conflict.entityName)
    let values = ConflictValues(of: conflict, entity, in: store)
    names = values.names
    isReadable = values.isReadable
    try Self.checkAreIdle(entries, options)
    for property in values.properties {
      server[property.name] = property.server
      if property.server == nil, names.contains(property.name) { unreportedBases[property.name] = property.base }
    }
  }

  /// Makes the resolver of a deletion that the server has refused, before a conflict over the deletion is stored.
  ///
  /// - Parameter serverValues: The values of the server's reply.
  /// - Returns: `nil` for a context without a coordinator.
  /// - Throws: ``ErrorCode/illegalState`` while a process sends an entry of the record.
  init?(
    ofDeletionOf recordID: ManagedObjectID, entityName: String, _ serverValues: [String: AttributeValue],
    in context: ManagedObjectContext, forwarding entityNames: Set<String>, _ options: OutboxOptions
  ) throws {
    guard let rewriter = EntryRewriter(in: context, now: options.now) else { return nil }
    self.context = context
    self.rewriter = rewriter
    self.recordID = recordID
    self.entityName = entityName
    self.entityNames = entityNames
    self.options = options
    kind = .deletedLocally
    store = rewriter.store(of: recordID)
    entries = try context.entryRecords(of: [recordID])[recordID] ?? []
    names = []
    isReadable = true
    server = serverValues
    try Self.checkAreIdle(entries, options)
  }

  /// - Throws: ``ErrorCode/illegalState`` while a process sends one of the entries.
  static func checkAreIdle(_ entries: [OutboxEntryRecord], _ options: OutboxOptions) throws(CoherenceError) {
    let now = options.now()
    guard let sent = entries.first(where: { $0.isBeingSent(at: now) }) else { return }
    throw CoherenceError(
      .illegalState,
      "A process sends an entry of '\(sent.entityName)' now; resolve the conflict after the process has finished.",
      isRetryable: true)
  }

  /// Changes the record and its entries as the user decided. The caller deletes the conflict and saves.
  ///
  /// - Throws: ``ErrorCode/storeCorrupt`` for a decision that needs values of the server that cannot be read. The edit
  ///   needs none: the next request finds the conflict again, with present values.
  func resolve(_ resolution: OutboxResolution) throws {
    if !isReadable, kind != .deletedOnServer {
      guard case .local = resolution else { throw unreadable }
    }
    let object = try context.objects(for: [recordID]).first
    switch kind {
    // The user has deleted the record since the conflict was found.
    case .bothChanged where object == nil: try resolveDeletionHere(resolution, nil)
    case .bothChanged: try resolveChange(resolution, object)
    case .deletedOnServer: try resolveDeletionOnServer(resolution, object)
    case .deletedLocally: try resolveDeletionHere(resolution, object)
    }
  }

  private var unreadable: CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "The server's values in a conflict over '\(entityName)' cannot be read: a later release wrote them, or "
        + "they are damaged. Update the program, keep the edit, or drop its entry.")
  }

  // MARK: Both sides changed the record

  private func resolveChange(_ resolution: OutboxResolution, _ object: ManagedObject?) throws {
    switch resolution {
    case .local:
      try rewriter.rebase(names, on: server.mapValues { OutboxValue(recording: $0) }, in: entries)
      rewriter.makePending(entries)
    case .server:
      if let object {
        try set(server.filter { names.contains($0.key) }, of: object)
        // The server's value is unknown. Its last known value is nearer to it than a discarded edit.
        try set(try context.restorable(unreportedBases, of: recordID, object.entity), of: object)
        let members = try entries.flatMap { try rewriter.decoded($0).members }
        try context.takeBack(members.filter { names.contains($0.name) }, of: object, forwarding: entityNames)
      }
      let remaining = try rewriter.remove(names, from: entries)
      try rewriter.identify(remaining, by: server.filter { names.contains($0.key) && !$0.value.isNull })
      rewriter.makePending(remaining)
    case .values(let values):
      // The change of the object is recorded, as an edit on top of the rebased entries.
      context.recordsChanges = true
      if let object { for (name, value) in values { try object.setValue(value, for: name) } }
      try rewriter.rebase(names, on: server.mapValues { OutboxValue(recording: $0) }, in: entries)
      rewriter.makePending(entries)
    }
  }

  // MARK: The server deleted the record

  /// Sends the record as a new one, with the chosen values, or deletes it with its entries.
  private func resolveDeletionOnServer(_ resolution: OutboxResolution, _ object: ManagedObject?) throws {
    // Without an object the user has deleted the record too: neither side has it, and nothing remains to be sent.
    guard let object, let firstEntry = entries.first else { return rewriter.delete(entries) }
    switch resolution {
    case .local: break
    case .server:
      context.delete(object)
      return rewriter.delete(entries)
    case .values(let values): for (name, value) in values { try object.setValue(value, for: name) }
    }
    let entity = RecordedEntity(object.entity, forwarding: entityNames)
    let changes = try entity.fields.filter { !$0.isServerAssigned }.map { field in
      OutboxChange(field.name, value: OutboxValue(recording: try object.value(for: field.name)))
    }
    rewriter.delete(Array(entries.dropFirst()))
    firstEntry.kind = .insert
    try rewriter.write(changes, try recordedMembers(of: object, entity), to: firstEntry)
    firstEntry.identity = try identity(of: object, entity)
    rewriter.makePending([firstEntry])
  }

  /// The members of the relationships that this record's entries describe, all as added: the insert of a new record
  /// sends them. Relationships to records without entries are among them.
  private func recordedMembers(of object: ManagedObject, _ entity: RecordedEntity) throws -> [OutboxMembers] {
    try object.entity.relationships.compactMap { relationship in
      let isOwner = if case .links(_, isForward: true) = relationship.storage { true } else { false }
      guard relationship.isToMany, entity.recordsLinks(of: relationship, isOwner: isOwner) else { return nil }
      let members = try object.objects(for: relationship.name).map { OutboxRecord($0.objectID) }
      guard !members.isEmpty else { return nil }
      return OutboxMembers(relationship.name, added: members.sorted { $0.key < $1.key }, isOwner: isOwner)
    }
  }

  private func identity(of object: ManagedObject, _ entity: RecordedEntity) throws -> Data? {
    let fields = try entity.identity.map { field in
      EntryFormat.Field(name: field.name, base: nil, value: OutboxValue(recording: try object.value(for: field.name)))
    }
    return fields.isEmpty ? nil : EntryWriter.identity(fields)
  }

  // MARK: The record was deleted here

  /// Sends the deletion as it is, or inserts the record again with the server's values. Values that the user has chosen
  /// become an update of the record. If the user has inserted a new record with the same key meanwhile, this record
  /// takes the place of the deleted one.
  private func resolveDeletionHere(_ resolution: OutboxResolution, _ object: ManagedObject?) throws {
    if case .local = resolution { return rewriter.makePending(entries) }
    guard let firstEntry = entries.first, object == nil, let store else {
      return rewriter.delete(entries)
    }
    var values: [String: AttributeValue] = [:]
    // The base of the first entry with a property is the oldest value; the server's values are newer.
    for entry in try entries.map(rewriter.decoded) {
      for change in entry.changes where values[change.name] == nil {
        values[change.name] = change.base?.attributeValue(in: store)
      }
      values.merge(entry.identity) { known, _ in known }
    }
    values.merge(server) { _, server in server }
    if let successor = try successor(withKeyOf: values, in: store) {
      return try resolve(resolution, succeededBy: successor)
    }
    let restored = try context.insertNewObject(forEntityName: recordEntityName)
    try context.assign(restored, to: store)
    try set(values, of: restored)
    guard case .values(let chosen) = resolution else { return rewriter.delete(entries) }
    for (name, value) in chosen { try restored.setValue(value, for: name) }
    // The update names the record by its permanent key.
    try context.obtainPermanentIDs(for: [restored])
    rewriter.delete(Array(entries.dropFirst()))
    firstEntry.kind = .update
    firstEntry.recordKey = restored.objectID.key
    firstEntry.recordVersion = 1
    let assigned = restored.entity.serverAssignedNames
    let changes = try chosen.keys.filter { !assigned.contains($0) }.sorted().map { name in
      OutboxChange(
        name, base: values[name].map { OutboxValue(recording: $0) },
        value: OutboxValue(recording: try restored.value(for: name)))
    }
    try rewriter.write(changes, [], to: firstEntry)
    rewriter.makePending([firstEntry])
  }

  /// The record with the key of the deleted one.
  private func successor(
    withKeyOf values: [String: AttributeValue], in store: any PersistentStore
  ) throws -> ManagedObject? {
    // The identifier knows the root of the record's hierarchy alone.
    let entity = recordEntity ?? recordID.entity
    let names = entity.identifyingAttributes.map(\.name)
    let keys = names.compactMap { name in values[name].map { (name, $0) } }
    guard !names.isEmpty, keys.count == names.count, !keys.contains(where: \.1.isNull) else { return nil }
    var request = FetchRequest<ManagedObject>(entityName: entity.identifyingScope.name)
    request.predicate = .and(
      keys.map { name, value in .comparison(.path(PropertyPath(names: [name])), .equal, .value(value)) })
    return try context.fetch(request).first { $0.objectID.storeIdentifier == store.identifier }
  }

  /// Lets the deletion go, and turns the insert of its successor into an update of the server's record. The values of
  /// the successor are the user's latest edits, and stay, apart from values that the server assigns.
  private func resolve(_ resolution: OutboxResolution, succeededBy object: ManagedObject) throws {
    let inserts = try context.entryRecords(of: [object.objectID])[object.objectID] ?? []
    try Self.checkAreIdle(inserts, options)
    _ = try rewriter.makeUpdate(of: inserts, server, discarded: [])
    rewriter.delete(entries)
    let assigned = object.entity.serverAssignedNames
    try set(server.filter { assigned.contains($0.key) }, of: object)
    guard case .values(let chosen) = resolution else { return }
    context.recordsChanges = true
    for (name, value) in chosen { try object.setValue(value, for: name) }
  }

  /// The record's entity by the name that the model has now.
  private var recordEntityName: String { recordEntity?.name ?? entityName }

  /// The record's entity; `nil` if the model does not have it any more.
  private var recordEntity: EntityDescription? {
    context.persistentStoreCoordinator?.managedObjectModel.entity(recordedAs: entityName)
  }

  // MARK: Values and entries

  /// Sets attributes, and to-one relationships to targets that exist. Leaves out derived attributes, which the save
  /// computes.
  private func set(_ values: [String: AttributeValue], of object: ManagedObject) throws {
    for (name, value) in values.sorted(by: { $0.key < $1.key }) {
      guard let property = object.entity.propertiesByName[name],
        (property as? AttributeDescription)?.derivation == nil
      else { continue }
      if case .reference(let id) = value {
        try object.setObject(try context.objects(for: [id]).first, for: name)
      } else {
        try object.setAttributeValue(value, for: name)
      }
    }
  }
}
