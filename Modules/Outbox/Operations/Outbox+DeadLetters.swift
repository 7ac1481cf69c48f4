public import CoherenceCore
import Foundation

extension Outbox {
  /// Makes an entry due at once: a parked entry, or an entry that waits for its next attempt. A started outbox sends
  /// the entry after the entries on which it depends, also while the outbox holds edits back because the server is
  /// unavailable. The entries on which it depends are held back then, see ``ForwardOptions/retry``.
  ///
  /// An entry that the server refused gets a new idempotency key, and is sent together with the later edits of the
  /// record, which may correct the refused values. An entry whose attempts have an unknown result is sent as before,
  /// with its old key, by which the server recognizes a repeated request.
  ///
  /// A retry decides the conflict for which the entry waits: the call deletes the conflict. ``edit(_:_:)`` and
  /// ``drop(_:)`` delete it too.
  ///
  /// - Throws: `ErrorCode.objectNotFound` when the entry is already sent or dropped, `ErrorCode.illegalState` while a
  ///   process sends the entry, `ErrorCode.versionConflict` when another process changes the entry at the same time,
  ///   `ErrorCode.storeCorrupt` for the entry of an unreadable save, and errors of the store.
  public func retry(_ id: OutboxEntry.ID) async throws {
    try await change { context in
      let record = try self.record(id, in: context)
      try self.checkIsIdle(record)
      try self.removeConflict(of: record, in: context)
      try self.reset([record], in: context)
    }
  }

  /// Makes all parked entries due at once, as ``retry(_:)`` does for a single entry. Each transaction changes at most
  /// 500 entries.
  ///
  /// - Parameter entityName: As in ``entries(in:state:limit:after:)``.
  /// - Returns: The number of entries.
  /// - Throws: `ErrorCode.versionConflict` when another process changes one of the entries at the same time, and errors
  ///   of the store. Earlier transactions of the call stay committed.
  @discardableResult
  public func retryAll(in entityName: String? = nil) async throws -> Int {
    try await changePages(of: entityName, [.parked]) { records, context in
      try self.removeConflicts(over: records, in: context)
      try self.reset(records, in: context)
    }
  }

  /// Parks an entry: it is not sent until it is retried. The later entries of its record wait, and so do the records
  /// that refer to a parked insert, that take a key which a parked update or deletion gives up, or that name a record
  /// whose key a parked update with an unknown result changes. All other entries are sent.
  ///
  /// - Parameter error: The reason, which becomes ``OutboxEntry/lastError``. The reason must not contain values of the
  ///   record. `nil` keeps the former error.
  /// - Throws: As ``retry(_:)``; `ErrorCode.illegalState` also for an entry that the attempted request of an earlier
  ///   entry includes, because a repeated request has the same entries.
  public func park(_ id: OutboxEntry.ID, error: String? = nil) async throws {
    try await change { context in
      let record = try self.record(id, in: context)
      try self.checkIsIdle(record)
      guard try self.headsOfRequests(with: record, in: context).allSatisfy(\.isRejected) else {
        throw CoherenceError(
          .illegalState,
          "An attempt has sent the entry of '\(record.entityName)' together with an earlier entry of its record; park "
            + "the earlier entry, for which this one waits.")
      }
      record.state = .parked
      if let error { record.lastError = error }
    }
  }

  /// Removes an entry without sending it. The record in the store keeps its values, which differ from the values of the
  /// server until a merge brings these.
  ///
  /// The insert of a record is dropped with all entries of the record, because the server cannot accept them without
  /// the insert. An entry is also dropped with the later entries that its attempted request includes.
  ///
  /// The entry of an unreadable save stands for all edits of the save, or for a part of a large save. After the
  /// drop, later edits are sent. The server refuses them if they need one of the dropped edits, such as the insert of
  /// their record.
  ///
  /// - Returns: The number of removed entries.
  /// - Throws: As ``retry(_:)``, except for `ErrorCode.storeCorrupt`; `ErrorCode.illegalState` also for an entry that
  ///   the attempted request of an earlier entry includes.
  @discardableResult
  public func drop(_ id: OutboxEntry.ID) async throws -> Int {
    try await change { context in
      if let log = try self.unreadableLog(id, in: context) {
        context.delete(log)
        return 1
      }
      let record = try self.record(id, in: context)
      let dropped = try self.entriesToDrop(with: record, in: context)
      try self.removeConflict(of: record, in: context)
      for record in dropped {
        try self.checkIsIdle(record)
        context.delete(record)
      }
      return dropped.count
    }
  }

  /// Changes the values that an entry sends, and gives the entry a new idempotency key, because a server may know the
  /// old key with the old values. So does the earlier entry whose attempted request includes this one. The state of the
  /// entry stays: retry a parked entry afterwards.
  ///
  /// ```swift
  /// try await outbox.edit(entry.id) { try $0.set("title", to: "Milk") }
  /// try await outbox.retry(entry.id)
  /// ```
  /// The record in the store keeps its values. To correct the record too, change the object, which adds an entry of its
  /// own.
  ///
  /// The request of an update names the record by the key from before the update. After an attempt with an unknown
  /// result, the server may know the record by the key of the update: retry such an entry, and change the key of the
  /// object, instead of an edit of the entry's key.
  ///
  /// - Parameters:
  ///   - id: The identifier of the entry.
  ///   - change: Sets the new values. Called once, on the thread of a context. A block that sets no value leaves the
  ///     entry as it is.
  /// - Throws: As ``retry(_:)``; errors of the block.
  public func edit(_ id: OutboxEntry.ID, _ change: @escaping @Sendable (inout OutboxEdit) throws -> Void) async throws {
    try await self.change { context in
      let record = try self.record(id, in: context)
      try self.checkIsIdle(record)
      let entry = try EntryDecoder(coordinator: self.coordinator).entry(record, includesContent: true)
      var edit = OutboxEdit(entry, entity: self.coordinator.managedObjectModel.entity(recordedAs: entry.entityName))
      try change(&edit)
      guard edit.isChanged else { return }
      let store = record.storeIdentifier.flatMap { self.coordinator.persistentStore(with: $0) }
      try record.write(edit.changes, entry.members, store: store)
      record.renewKey()
      for head in try self.headsOfRequests(with: record, in: context) { head.renewKey() }
      try self.removeConflict(of: record, in: context)
    }
  }

  /// Gives all entries new idempotency keys. Each transaction changes at most 500 entries.
  ///
  /// A copy of a store has the entries of the original with the same keys. A server that receives the entries of both
  /// stores applies each change once, which is right for a backup that replaces the original. When the copy and the
  /// original are used side by side as different stores, call this function on the copy before its outbox starts.
  ///
  /// - Returns: The number of entries.
  /// - Throws: As ``retryAll(in:)``.
  @discardableResult
  public func renewKeys() async throws -> Int {
    try await changePages(of: nil, OutboxEntryState.allCases) { records, _ in
      for record in records { record.renewKey() }
    }
  }
}

// MARK: - Inside of a context

extension Outbox {
  /// Makes the entries of the log, changes entries in a new context, saves, and wakes the forwarders of the store.
  private func change<T: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> T) async throws -> T {
    let context = newContext()
    return try await context.perform {
      try self.makeEntries()
      let result = try body(context)
      context.signalOnSave(OutboxChannel.entries)
      try context.save()
      return result
    }
  }

  /// Changes all entries in some states, with one save for each page.
  ///
  /// - Returns: The number of entries.
  private func changePages(
    of entityName: String?, _ states: [OutboxEntryState],
    _ body: @escaping @Sendable ([OutboxEntryRecord], ManagedObjectContext) throws -> Void
  ) async throws -> Int {
    let names = recordedNames(of: entityName)
    var count = 0
    var cursor: OutboxCursor?
    while true {
      let after = cursor
      let page = try await change { context in
        let records = try self.page(of: names, states, limit: Self.pageSize, after: after, in: context)
        let last = records.last?.cursor
        try body(records, context)
        return (count: records.count, last: last)
      }
      count += page.count
      guard let last = page.last else { return count }
      cursor = last
    }
  }

  private static let pageSize = 500

  /// - Throws: ``ErrorCode/illegalState`` while a process sends the entry.
  private func checkIsIdle(_ record: OutboxEntryRecord) throws(CoherenceError) {
    guard record.isBeingSent(at: options.now()) else { return }
    throw CoherenceError(
      .illegalState,
      "A process sends the entry of '\(record.entityName)' now; try again after the process has finished.",
      isRetryable: true)
  }

  /// Makes entries pending and due, without attempts. A refused entry gets a new idempotency key.
  private func reset(_ records: [OutboxEntryRecord], in context: ManagedObjectContext) throws {
    let ends = try endsOfRequests(of: records.filter(\.isRejected), in: context)
    for record in records {
      record.endRefusal(with: ends[record.objectID] ?? [record])
      record.makePending(from: OutboxEntryRecord.retried)
    }
  }

  /// The last entries of refused requests with several entries, by the first entries. Reads the entries of all requests
  /// together.
  private func endsOfRequests(
    of refused: [OutboxEntryRecord], in context: ManagedObjectContext
  ) throws -> [ManagedObjectID: [OutboxEntryRecord]] {
    let heads = refused.filter { $0.groupEnd != nil && $0.groupEnd != $0.sequence }
    var ends: [ManagedObjectID: [OutboxEntryRecord]] = [:]
    for (rootName, heads) in Dictionary(grouping: heads, by: \.rootName) {
      let headsByKey = Dictionary(grouping: heads, by: \.recordKey)
      let rootNames = coordinator.managedObjectModel.recordedNames(ofRoot: rootName)
      for entry in try records(ofKeys: Array(headsByKey.keys), rootNames: rootNames, in: context) {
        let head = headsByKey[entry.recordKey, default: []].first { head in
          head.groupEnd == entry.sequence && head.storeIdentifier == entry.storeIdentifier
        }
        if let head { ends[head.objectID, default: []].append(entry) }
      }
    }
    return ends
  }

  /// The earlier entry of the record whose attempted request includes an entry; empty without one.
  ///
  /// - Throws: ``ErrorCode/illegalState`` while a process sends the request.
  private func headsOfRequests(
    with record: OutboxEntryRecord, in context: ManagedObjectContext
  ) throws -> [OutboxEntryRecord] {
    let rootNames = coordinator.managedObjectModel.recordedNames(ofRoot: record.rootName)
    let heads = try records(ofKeys: [record.recordKey], rootNames: rootNames, in: context).filter { head in
      head !== record && head.storeIdentifier == record.storeIdentifier && head.precedes(record)
        && head.groupEnd.map { $0 >= record.sequence } == true
    }
    for head in heads { try checkIsIdle(head) }
    return heads
  }

  /// The entries to drop together with an entry, see ``drop(_:)``.
  private func entriesToDrop(
    with record: OutboxEntryRecord, in context: ManagedObjectContext
  ) throws -> [OutboxEntryRecord] {
    let rootNames = coordinator.managedObjectModel.recordedNames(ofRoot: record.rootName)
    let all = try records(ofKeys: [record.recordKey], rootNames: rootNames, in: context)
      .filter { $0.storeIdentifier == record.storeIdentifier }
      .sorted { $0.precedes($1) }
    if record.kind == .insert { return all }
    guard let head = all.first, let groupEnd = head.groupEnd, !head.isRejected,
      let last = all.firstIndex(where: { $0.sequence == groupEnd }), last > 0,
      all[...last].contains(where: { $0 === record })
    else { return [record] }
    guard head === record else {
      throw CoherenceError(
        .illegalState,
        "An attempt has sent the entry of '\(record.entityName)' together with an earlier entry of its record; drop "
          + "the earlier entry, which drops both.")
    }
    return Array(all[...last])
  }
}
