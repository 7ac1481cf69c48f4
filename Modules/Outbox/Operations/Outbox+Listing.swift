public import CoherenceCore

extension Outbox {
  /// Returns a page of entries in the order of their sequences, the oldest first.
  ///
  /// ```swift
  /// var page = try await outbox.entries(limit: 50)
  /// while let last = page.last {
  ///   show(page)
  ///   page = try await outbox.entries(limit: 50, after: last.cursor)
  /// }
  /// ```
  /// Values over 32 KB are left out, see ``OutboxEntry/hasOmittedValues``. A page costs indexed reads of at most
  /// `limit` entries for each state and entity name; earlier pages add no cost.
  ///
  /// A save is unreadable if its record is damaged, or if a later release wrote it. It is one parked entry:
  /// ``OutboxEntry/isReadable`` is false, and the entity is unknown. The edits of later saves in its store wait until
  /// ``drop(_:)`` removes the entry.
  ///
  /// - Parameters:
  ///   - entityName: The name of an entity in the present model: the entries of its records and of its subentities'
  ///     records are returned. Another name finds the entries recorded under the name. `nil` returns the entries of all
  ///     entities.
  ///   - state: The state of the entries; `nil` for every state.
  ///   - limit: The greatest number of entries.
  ///   - cursor: The ``OutboxEntry/cursor`` of the previous page's last entry; `nil` for the first page.
  /// - Throws: `ErrorCode.invalidFetchRequest` for a negative limit; errors of the store.
  public func entries(
    in entityName: String? = nil, state: OutboxEntry.State? = nil, limit: Int = 100, after cursor: OutboxCursor? = nil
  ) async throws -> [OutboxEntry] {
    let names = recordedNames(of: entityName)
    // Entries made from the log are pending, so that the loop ends at once for other states.
    var size = 8
    while true {
      let context = newContext()
      let (logged, page) = try await context.perform {
        // The log is read before the entries: a forwarder may turn the log into entries in between.
        let log = try self.logStart(in: context)
        try self.makeReadOnlyEntries(in: context)
        let objects = try self.page(
          of: names, state.map { [$0] } ?? OutboxEntryState.allCases, limit: limit, after: cursor, in: context)
        let decoder = EntryDecoder(coordinator: self.coordinator)
        let entries = try objects.map { try decoder.entry($0) }
        guard state == nil || state == .parked, Self.listsUnreadableLogs(under: names) else {
          return (log.first, entries)
        }
        let unreadable = log.unreadable.map(decoder.entry(unreadable:))
        return (log.first, Self.page(of: entries, unreadable, limit: limit, after: cursor))
      }
      if state == .parked, logged != nil, size > 0, Self.listsUnreadableLogs(under: names) {
        // An unreadable record may follow readable ones, which become entries once.
        _ = try await newContext().perform { try self.makeEntries() }
        size = 0
        continue
      }
      guard state == nil || state == .pending else { return page }
      // A long log is made into entries about as far as the page reaches. Each read costs a search of the whole log, so
      // that the number of records doubles.
      let last = page.count == limit ? page.last?.sequence ?? .min : .max
      guard let logged, logged <= last else { return page }
      let count = max(size, limit - page.count)
      _ = try await newContext().perform { try self.makeEntries(through: last, limit: count) }
      size = min(count, 1 << 20) * 2
    }
  }

  /// Returns the entries of a record, in the order of the record's saves. The cost grows with the number of entries.
  ///
  /// - Throws: Errors of the store.
  public func entries(of record: ManagedObjectID) async throws -> [OutboxEntry] {
    let context = newContext()
    return try await context.perform {
      try self.makeEntries()
      try self.makeReadOnlyEntries(in: context)
      return try self.entries(ofKeys: [record.key], root: record.entity, in: context)[record.key]?
        .filter { ($0.recordID ?? $0.id).storeIdentifier == record.storeIdentifier } ?? []
    }
  }

  /// Returns an entry with all its values, those over 32 KB too.
  ///
  /// - Throws: `ErrorCode.objectNotFound` when the entry is already sent or dropped; errors of the store.
  public func entry(_ id: OutboxEntry.ID) async throws -> OutboxEntry {
    let context = newContext()
    return try await context.perform {
      let decoder = EntryDecoder(coordinator: self.coordinator)
      if let log = try self.unreadableLog(id, in: context) { return decoder.entry(unreadable: log.save) }
      return try decoder.entry(try self.record(id, in: context), includesContent: true)
    }
  }

  /// Returns the numbers of entries by state. The stores count by an index, at a cost that grows with the numbers. Each
  /// save that cannot be read counts as one parked entry, as in ``entries(in:state:limit:after:)``.
  ///
  /// - Parameter entityName: As in ``entries(in:state:limit:after:)``.
  /// - Throws: Errors of the store.
  public func counts(in entityName: String? = nil) async throws -> OutboxCounts {
    let context = newContext()
    return try await context.perform {
      try self.makeEntries()
      try self.makeReadOnlyEntries(in: context)
      let names = self.recordedNames(of: entityName)
      func count(_ state: OutboxEntryState) throws -> Int {
        var request = FetchRequest(OutboxEntryRecord.self).filter { $0.state == state }
        if let names { request = request.filter(Self.isNamed(names)) }
        return try context.count(for: request)
      }
      var counts = OutboxCounts(pending: try count(.pending), sending: try count(.sending), parked: try count(.parked))
      if Self.listsUnreadableLogs(under: names) { counts.parked += try context.forEachLoggedChange { _, _ in }.count }
      return counts
    }
  }
}

// MARK: - Inside of a context

extension Outbox {
  /// The names under which the entries of an entity and its subentities may be recorded; `nil` for all entities.
  func recordedNames(of entityName: String?) -> [String]? {
    guard let entityName else { return nil }
    guard let entity = coordinator.managedObjectModel.entity(recordedAs: entityName) else { return [entityName] }
    return entity.hierarchy.flatMap { [$0.name] + $0.formerNames }
  }

  private static func isNamed(_ names: [String]) -> FetchPredicate {
    .membership(.path(PropertyPath(names: ["entityName"])), in: names.map(AttributeValue.string))
  }

  /// The first entries after a position with some entity names and states, in the order of all entries. Each pair of
  /// name and state is read by the index, and the results are sorted together.
  func page(
    of names: [String]?, _ states: [OutboxEntryState], limit: Int, after cursor: OutboxCursor?,
    in context: ManagedObjectContext
  ) throws -> [OutboxEntryRecord] {
    var found: [OutboxEntryRecord] = []
    for state in states {
      for name in names.map({ $0.map(Optional.some) }) ?? [nil] {
        var request = FetchRequest(OutboxEntryRecord.self).filter { $0.state == state }
        if let name { request = request.filter { $0.entityName == name } }
        found += try page(of: request, limit: limit, after: cursor, in: context)
      }
    }
    return Array(found.sorted { $0.cursor < $1.cursor }.prefix(limit))
  }

  /// The page of entries with the unreadable records of the log.
  private static func page(
    of entries: [OutboxEntry], _ unreadable: [OutboxEntry], limit: Int, after cursor: OutboxCursor?
  ) -> [OutboxEntry] {
    guard !unreadable.isEmpty else { return entries }
    let later = unreadable.filter { entry in cursor.map { entry.cursor > $0 } ?? true }
    return Array((entries + later).sorted { $0.cursor < $1.cursor }.prefix(limit))
  }

  private func page(
    of request: FetchRequest<OutboxEntryRecord>, limit: Int, after cursor: OutboxCursor?,
    in context: ManagedObjectContext
  ) throws -> [OutboxEntryRecord] {
    guard let cursor else { return try context.fetch(request.sort(\.sequence).limit(limit)) }
    // Only entries of other processes can share the sequence of the cursor, so that they are few.
    let sequence = cursor.sequence
    let equal = try context.fetch(request.filter { $0.sequence == sequence }).filter { $0.cursor > cursor }
    return equal + (try context.fetch(request.filter { $0.sequence > sequence }.sort(\.sequence).limit(limit)))
  }

  /// The record of an entry.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` when the entry does not exist any more, or the identifier is of another
  ///   entity; ``ErrorCode/storeCorrupt`` for the entry of an unreadable save.
  func record(_ id: ManagedObjectID, in context: ManagedObjectContext) throws -> OutboxEntryRecord {
    guard let record = try records([id], in: context).first else {
      if try unreadableLog(id, in: context) != nil { throw LogReader.unreadable }
      throw CoherenceError(
        .objectNotFound, "The outbox no longer has the entry: it is already sent or dropped. Read the list again.")
    }
    return record
  }

  /// The records of the entries that still exist, in the order of the identifiers. Identifiers of other entities are
  /// skipped.
  func records(_ ids: [ManagedObjectID], in context: ManagedObjectContext) throws -> [OutboxEntryRecord] {
    try context.objects(
      for: ids.filter { $0.entity.name == OutboxEntryRecord.entityName }, as: OutboxEntryRecord.self)
  }

  /// All entries of some records of a hierarchy, in no order.
  ///
  /// - Parameters:
  ///   - keys: The keys of the records.
  ///   - rootNames: The present and former names of the hierarchy's root.
  func records(
    ofKeys keys: [Int64], rootNames: [String], in context: ManagedObjectContext
  ) throws -> [OutboxEntryRecord] {
    try context.entryRecords(ofKeys: keys, rootNames: rootNames)
  }

  /// The entries of some records of a hierarchy, by the keys of the records, each list in the order of the record's
  /// saves. One statement reads the entries of up to a thousand records. Records of two stores with the same key share
  /// a list.
  func entries(
    ofKeys keys: [Int64], root: EntityDescription, in context: ManagedObjectContext
  ) throws -> [Int64: [OutboxEntry]] {
    let decoder = EntryDecoder(coordinator: coordinator)
    let rootNames = [root.root.name] + root.root.formerNames
    let entries = try records(ofKeys: keys, rootNames: rootNames, in: context).map { try decoder.entry($0) }
    return Dictionary(grouping: entries, by: \.record.key).mapValues { $0.sorted { $0.precedes($1) } }
  }
}

extension OutboxEntryRecord {
  /// The position of the entry in the order of all entries.
  var cursor: OutboxCursor {
    OutboxCursor(sequence: sequence, key: objectID.key, store: storeIdentifier?.rawValue ?? "")
  }
}
