import CoherenceCore

/// The requests that a search has found, and the entries that the search has read.
///
/// Used inside of the context of the search.
struct OutboxSelection {
  /// The requests to send, in the order of their first entries.
  var steps: [OutboxStep] = []
  /// The records of the requests' entries, as the search has read them, by their identifiers.
  var objects: [ManagedObjectID: OutboxEntryRecord] = [:]
  /// The entries that the search has read and not deleted, without their values.
  var nodes: [OutboxNode] = []
  /// Whether ``nodes`` are all entries of the stores, and the log has no readable save.
  var isComplete = false
  /// Whether the log had no readable save when the search read the entries, and the search saved nothing in between. A
  /// context with a snapshot still reads that state of the stores.
  var hasEmptyLog = false
  /// The unreadable records of the log. The entries of later saves in their stores wait.
  var unreadable: Set<ManagedObjectID> = []
  /// Whether sendable records were left out, because only retried ones were wanted.
  var holdsBack = false
  /// The records from which ``steps`` were made, and records without a step, because another process has claimed or
  /// sent them since the search. The caller puts the records of unsent requests back into ``surplus``.
  var candidates: [OutboxSurplus.Candidate] = []
  /// The records among ``candidates``, and among earlier candidates without a request, whose requests are left to
  /// another program, or wait for a key of another record.
  var left: Set<StoredRecord> = []
  /// All records that are found to wait for a key of another record, in ``left`` or not.
  var waiting: Set<StoredRecord> = []
  /// The sendable records beyond the wanted number, from which the next requests are made without another search.
  var surplus = OutboxSurplus()

  /// Whether the search has neither found a request nor left one.
  var hasNoRecords: Bool { steps.isEmpty && left.isEmpty }
}
