extension ManagedObjectContext {
  /// Whether the coordinator's participants take part in the context's saves into stores and its batch requests; see
  /// ``SaveParticipant``. `true` unless set.
  ///
  /// Set `false` for a context that writes data received from the participants' own destination, such as a server, so
  /// that the data is not sent back. A save into a parent calls no participant; the parent's save into the stores does,
  /// if the parent records changes. May be set on any thread, and counts from the next save.
  public final var recordsChanges: Bool {
    get { settings.withLock { $0.recordsChanges } }
    set { settings.withLock { $0.recordsChanges = newValue } }
  }

  /// The name of the author of the context's saves, for participants and for attributes derived by
  /// ``Derivation/author``; `nil` unless set. Among nested contexts, the context that saves into the stores names the
  /// author. May be set on any thread, and counts from the next save.
  public final var transactionAuthor: String? {
    get { settings.withLock { $0.transactionAuthor } }
    set { settings.withLock { $0.transactionAuthor = newValue } }
  }

  /// Publishes the records that participants added to a save of this context, as if another context had saved them.
  ///
  /// - Parameter changes: Receives the records, for other contexts.
  final func publishAdded(_ records: ParticipantRecords, into changes: inout ChangeSet) {
    for group in records.groups {
      changes.inserted += group.rows
      for relationship in group.entity.listsDerivedFromRows { storage.invalidateLists(of: relationship) }
      guard group.rows.count <= Self.greatestListedCount else {
        events.noteEverything()
        continue
      }
      for row in group.rows { events.noteInserted(object(for: row)) }
    }
  }

  /// The greatest number of records of participants that notifications of the saving context list. Listing makes an
  /// object of each record.
  private static var greatestListedCount: Int { 1_000 }
}
