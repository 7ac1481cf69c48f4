import CoherenceCore

/// The part of the log that a context reads beside the entries: the saves that no transaction has turned into entries
/// yet.
///
/// A search turns the log into entries before its context reads the stores. Between these two moments another context
/// can save an edit, whose record of the log the search then reads together with the older entries. The edit may belong
/// into the same request as an older entry of its record, and later entries may depend on the edit.
struct UnreadLog {
  private var records: Set<OutboxRecord> = []
  /// The transaction of the first readable save in the log; the greatest number without such a save.
  private(set) var start = Int64.max
  /// The unreadable records of the log, which stay until a person drops them.
  private(set) var unreadable: Set<ManagedObjectID> = []
  /// The transaction of the first unreadable save in the log of each store.
  private var unreadableStarts: [StoreIdentifier: Int64] = [:]

  /// Reads the log, with one statement, in the same state of the stores as the other records of the context.
  ///
  /// - Parameter stores: The stores whose logs stay, because their entries cannot be sent.
  init(in context: ManagedObjectContext, except stores: Set<StoreIdentifier>) throws {
    guard let model = context.persistentStoreCoordinator?.managedObjectModel else { return }
    let damaged = try context.forEachLoggedChange { change, save in
      guard save.id.storeIdentifier.map(stores.contains) != true else { return }
      start = min(start, save.transaction)
      records.insert(change.record.renamed(in: model))
    }
    for save in damaged {
      guard let store = save.id.storeIdentifier, !stores.contains(store) else { continue }
      unreadable.insert(save.id)
      unreadableStarts[store] = min(unreadableStarts[store] ?? .max, save.transaction)
    }
  }

  /// Whether no readable save is in the log.
  var isEmpty: Bool { records.isEmpty }

  /// Whether a transaction precedes every unreadable save of its store. Later edits may depend on the edits that cannot
  /// be read, or follow them in the order of their record.
  func isBeforeUnreadable(_ transaction: Int64, in store: StoreIdentifier) -> Bool {
    unreadableStarts[store].map { transaction < $0 } ?? true
  }

  /// Whether the log has a change of a record, which may belong into one request with the entries of the record.
  func changes(_ record: OutboxRecord) -> Bool { records.contains(record) }
}
