import Synchronization

extension ManagedObjectContext {
  /// Whether the context's saves into stores, and its batch requests, are shown to the participants of the coordinator;
  /// see ``SaveParticipant``. `true` unless set.
  ///
  /// `false` for a context that writes the data of the participants' own destination, which is not to be echoed. A save
  /// into a parent calls no participant: the parent's save into the stores does, if the parent records changes. May be
  /// set on any thread, and counts from the next save.
  public final var recordsChanges: Bool {
    get { settings.withLock { $0.recordsChanges } }
    set { settings.withLock { $0.recordsChanges = newValue } }
  }

  /// The name that participants are given for the author of the context's saves; `nil` unless set. Of nested contexts,
  /// the name of the context that saves into the stores counts. May be set on any thread, and counts from the next
  /// save.
  public final var transactionAuthor: String? {
    get { settings.withLock { $0.transactionAuthor } }
    set { settings.withLock { $0.transactionAuthor = newValue } }
  }

  /// Shows the records that participants added to a save of this context as records that another context saved.
  ///
  /// - Parameter changes: Receives the records in the form in which they travel to other contexts.
  final func adopt(_ records: ParticipantRecords, into changes: inout ChangeSet) {
    for group in records.groups {
      changes.inserted += group.rows
      for relationship in group.entity.listsDerivedFromRows { storage.invalidateLists(of: relationship) }
      guard group.rows.count <= Self.listedRecords else {
        events.noteEverything()
        continue
      }
      for row in group.rows { events.noteInserted(object(for: row)) }
    }
  }

  /// The greatest number of records of participants that notifications of the saving context list. Listing makes an
  /// object of each record.
  private static var listedRecords: Int { 1_000 }
}
