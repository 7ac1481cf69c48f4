import CoherenceCore

/// The requests that a search has found, with the entries that the search has read.
///
/// Used inside of the context of the search.
struct OutboxSelection {
  /// The requests that can be sent.
  var steps: [OutboxStep] = []
  /// The objects of the requests' entries, as the search has read them.
  var objects: [ManagedObjectID: OutboxEntryRecord] = [:]
  /// The entries that the search has read, without those that it has removed.
  var nodes: [OutboxNode] = []
  /// Whether ``nodes`` are all entries of the stores.
  var isComplete = false
}
