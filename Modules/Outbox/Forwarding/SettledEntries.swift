import CoherenceCore

/// The entries that settlements change, read together in the context that writes the settlements.
struct SettledEntries {
  /// The entries that the forwarder has claimed. An entry that another forwarder has taken over is missing.
  let heads: [ManagedObjectID: OutboxEntryRecord]
  /// The entries of the records that get values of the server, in the order of each record's saves, logged changes
  /// included. They are read in the same state of the stores as the records.
  let entries: [ManagedObjectID: [OutboxEntryRecord]]

  init(of settlements: [ForwardSettlement], _ claim: ForwardClaim, in context: ManagedObjectContext) throws {
    let ids = settlements.compactMap(\.recordWithNewValues)
    entries = try context.entryRecords(of: ids)
    // If each settlement has such a record, the entries of these records include the claimed ones.
    guard ids.count == settlements.count else {
      heads = try claim.records(in: context)
      return
    }
    let claimed = entries.values.joined().filter { $0.state == .sending && $0.claimant == claim.claimant }
    heads = Dictionary(claimed.map { ($0.objectID, $0) }) { first, _ in first }
  }
}

extension ForwardSettlement {
  /// The record to which values of the server are written.
  fileprivate var recordWithNewValues: ManagedObjectID? {
    guard case .remove(let values) = consequence, !values.isEmpty else { return nil }
    return flight.step.head.recordID
  }
}
