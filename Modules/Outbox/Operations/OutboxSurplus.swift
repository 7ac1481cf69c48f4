import CoherenceCore

/// The sendable records that a search has found beyond the wanted number of requests, in the order of their first
/// entries.
///
/// The next requests are made from these records without another search, so that the number of read entries grows with
/// the number of requests: a search reads at least the oldest save completely, however many entries that has. A record
/// stays sendable until its request is sent, because later entries do not change the causal order of earlier ones. The
/// entries of each record are read again before its request is made.
struct OutboxSurplus: Sendable {
  /// A sendable record and its store.
  struct Candidate: Sendable {
    let store: StoreIdentifier
    let ready: CausalGraph.Ready
  }

  private var candidates: ArraySlice<Candidate> = []
  /// The ``OutboxNode/transaction`` of the last save that the search has read. Entries of later saves wait for the next
  /// search.
  private(set) var end = Int64.min
  /// The keys by which the server may know records, in each store where the search has found a request with a new key.
  var ownedKeys: [StoreIdentifier: Set<OutboxNode.UniqueKey>] = [:]
  /// The records to which entries refer, in the same stores.
  var namedRecords: [StoreIdentifier: Set<OutboxRecord>] = [:]
  /// The records with updates, in each store.
  private(set) var updatedRecords: [StoreIdentifier: Set<OutboxRecord>] = [:]

  /// A search looks for one record in this number of read entries, and for at least the wanted requests. With a smaller
  /// number the surplus is larger, so that fewer searches read the entries of a large save. With a greater number the
  /// next search, which finds retried edits, comes earlier.
  private static let entriesPerRecord = 16

  /// No records.
  init() {}

  /// The records found by a search.
  init(_ candidates: [Candidate], through end: Int64) {
    self.candidates = candidates.sorted { $0.ready.sequence < $1.ready.sequence }[...]
    self.end = end
  }

  var isEmpty: Bool { candidates.isEmpty }

  /// The number of records that a search for some requests looks for, after it has read a number of entries.
  static func wantedCount(limit: Int, readCount: Int) -> Int { max(limit, readCount / entriesPerRecord) }

  /// Removes and returns the first records.
  mutating func take(_ count: Int) -> [Candidate] {
    defer { candidates = candidates.dropFirst(count) }
    return Array(candidates.prefix(count))
  }

  /// Notes the records with updates among the entries that the search has read.
  mutating func noteUpdatedRecords(in nodes: [StoreIdentifier: [OutboxNode]]) {
    if updatedRecords.isEmpty { updatedRecords = nodes.mapValues(\.updatedRecords) }
  }

  /// Removes records that wait for others.
  mutating func remove(_ records: Set<StoredRecord>) {
    candidates.removeAll { records.contains(StoredRecord(store: $0.store, record: $0.ready.record)) }
  }

  /// Puts the taken records of unsent requests back, before the others.
  mutating func putBack(_ steps: [OutboxStep], from taken: [Candidate]) {
    let unsent = Set(steps.map { StoredRecord(store: $0.head.id.storeIdentifier, record: $0.head.record) })
    candidates =
      taken.filter { unsent.contains(StoredRecord(store: $0.store, record: $0.ready.record)) } + candidates
  }
}

extension [OutboxNode] {
  /// The records with updates.
  var updatedRecords: Set<OutboxRecord> { Set(lazy.filter { $0.facts.kind == .update }.map(\.record)) }
}
