public import CoherenceActions
public import CoherenceCore
import Foundation

/// Presents the entries of an outbox to merges as pending edits, and applies the decisions of merges to the entries.
///
/// An ``Outbox`` of a Connect sets an agreement as the Connect's `pendingEdits`. The agreement reads and changes
/// entries in the context of the merge, so that one save commits the merge and its effect on the entries. Used by
/// merges on the threads of their contexts.
public final class OutboxAgreement: PendingEdits {
  /// The names of the forwarded entities, subentities included.
  private let entityNames: Set<String>
  private let confirmations: Confirmations
  private let now: @Sendable () -> Date

  /// - Parameters:
  ///   - entityNames: The names of the forwarded entities, subentities included.
  ///   - confirmations: The edits of this process that the server has confirmed.
  ///   - now: The clock of this process.
  init(forwarding entityNames: Set<String>, _ confirmations: Confirmations, now: @escaping @Sendable () -> Date) {
    self.entityNames = entityNames
    self.confirmations = confirmations
    self.now = now
  }

  /// Makes an agreement the source of a Connect's pending edits. A different source set by the application stays.
  static func register(_ agreement: @autoclosure () -> OutboxAgreement, with container: AnyObject) {
    guard let connect = container as? any Connect else { return }
    if connect.pendingEdits == nil || connect.pendingEdits is OutboxAgreement { connect.pendingEdits = agreement() }
  }

  // MARK: PendingEdits

  /// Whether the outbox forwards the entity or one of its subentities.
  public func covers(_ entity: EntityDescription) -> Bool {
    entityNames.contains(entity.name) || entity.hierarchy.contains { entityNames.contains($0.name) }
  }

  /// Reads the pending edits that a merge asks for, with the edits that the server has confirmed since the request of
  /// the merged page.
  ///
  /// - Throws: Errors of the store; `ErrorCode.storeCorrupt` while the log of a store with the query's records has a save
  ///   that cannot be read, because the merge would replace the values of its edits. A read-only store counts as a store
  ///   without such a save: it refuses the merge's changes anyway.
  public func pendingEdits(_ query: PendingEditsQuery, in context: ManagedObjectContext) throws -> [PendingEdit] {
    let requested = query.requestedAt.map { requestedAt in
      let now = self.now()
      return (time: now.addingTimeInterval(-((ContinuousClock.now - requestedAt) / .seconds(1))), now: now)
    }
    guard let reader = PendingEntryReader(in: context, requested: requested, skipsUnreadable: false) else { return [] }
    // The entries are read before the confirmations: a forwarder keeps the confirmation of an edit before it deletes
    // the entries, so that no edit is missed.
    let confirmed = query.requestedAt.flatMap { ConfirmedEdits(since: $0, in: context, confirmations, now: now) }
    var edits: [PendingEdit]
    switch query.selection {
    case .insertsAndDeletions:
      edits = try reader.insertsAndDeletions(of: query.entity)
      try confirmed?.addDeletions(of: query.entity, to: &edits)
    case .records(let ids):
      edits = try reader.edits(of: ids)
      try confirmed?.addEdits(of: ids, to: &edits)
    }
    return edits
  }

  /// Changes the entries as a merge has decided, and writes its conflicts. The merge saves.
  ///
  /// - Throws: Errors of the store.
  public func carryOut(_ decisions: [PendingDecision], in context: ManagedObjectContext) throws {
    try EntryRewriter(in: context, now: now)?.carryOut(decisions)
  }
}

extension OutboxAgreement {
  /// Writes a conflict for a request that the server has refused, with the server's values. Called in the context of a
  /// forwarder, which parks the entry and saves. The entries of the record wait until the user resolves the conflict.
  ///
  /// A refused insert becomes an update with the server's values as bases, because the server has a record with the
  /// same key. An insert whose values all equal the server's is deleted.
  ///
  /// - Parameters:
  ///   - serverValues: The server's values by property; `nil` if the server has deleted the record.
  ///   - keys: The names of the properties that identify the record.
  static func noteConflict(
    over id: ManagedObjectID, serverValues: [String: AttributeValue]?, keys: Set<String>,
    in context: ManagedObjectContext, now: @escaping @Sendable () -> Date
  ) throws {
    guard let reader = PendingEntryReader(in: context, skipsUnreadable: true),
      let rewriter = EntryRewriter(in: context, now: now),
      let edit = try reader.edits(of: [id]).first
    else { return }
    try rewriter.carryOutRefusal(of: edit, serverValues: serverValues, keys: keys)
  }
}
