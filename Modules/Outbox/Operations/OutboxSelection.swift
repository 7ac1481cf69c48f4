import CoherenceCore

/// The requests that a search has found, and the entries that the search has read.
///
/// Used inside of the context of the search.
struct OutboxSelection {
  /// The requests to send, in the order of their first entries.
  var steps: [OutboxStep] = []
  /// The objects of the requests' entries, as the search has read them.
  var objects: [ManagedObjectID: OutboxEntryRecord] = [:]
  /// The entries that the search has read and not deleted.
  var nodes: [OutboxNode] = []
  /// Whether ``nodes`` are all entries of the stores.
  var isComplete = false
  /// The records of the requests, and records that another process has claimed or sent.
  var candidates: [OutboxSurplus.Candidate] = []
  /// The sendable records from which the next requests can be made.
  var surplus = OutboxSurplus()
}
