public import CoherenceActions
public import CoherenceCore
import Foundation

/// The entries of an outbox as the pending edits of merges.
///
/// An ``Outbox`` of a Connect makes the agreement and sets it as the Connect's `pendingEdits`. It reads and changes the
/// entries in the context of the merge, so that one save commits the merge and its effect on the entries.
public final class OutboxAgreement: PendingEdits {
  /// The names of the forwarded entities, subentities included.
  private let entityNames: Set<String>
  private let now: @Sendable () -> Date

  init(forwarding entityNames: Set<String>, now: @escaping @Sendable () -> Date) {
    self.entityNames = entityNames
    self.now = now
  }

  /// Has the merges of a Connect respect the entries of an outbox. A source that the application has set stays.
  static func register(_ agreement: @autoclosure () -> OutboxAgreement, with container: AnyObject) {
    guard let connect = container as? any Connect else { return }
    if connect.pendingEdits == nil || connect.pendingEdits is OutboxAgreement { connect.pendingEdits = agreement() }
  }

  // MARK: PendingEdits

  public func covers(_ entity: EntityDescription) -> Bool {
    entityNames.contains(entity.name) || entity.hierarchy.contains { entityNames.contains($0.name) }
  }

  public func pendingEdits(_ query: PendingEditsQuery, in context: ManagedObjectContext) throws -> [PendingEdit] {
    guard let reader = PendingEntryReader(in: context) else { return [] }
    // A confirmation is remembered before its entry goes, so that the entries are read first.
    let confirmed = query.requestedAt.flatMap { time in
      context.persistentStoreCoordinator.map { ConfirmedEdits(coordinator: $0, requestedAt: time) }
    }
    var edits: [PendingEdit]
    switch query.selection {
    case .insertsAndDeletions:
      edits = try reader.insertsAndDeletions(of: query.entity)
      confirmed?.addDeletions(of: query.entity, to: &edits)
    case .records(let ids):
      edits = try reader.edits(of: ids)
      confirmed?.addEdits(of: ids, to: &edits)
    }
    return edits
  }

  public func carryOut(_ decisions: [PendingDecision], in context: ManagedObjectContext) throws {
    try EntryRewriter(in: context, now: now)?.carryOut(decisions)
  }
}

extension OutboxAgreement {
  /// Keeps the refusal of a request by the server, with the server's values, as a conflict for the user. Called inside of
  /// the context of a forwarder, which parks the entry and saves. The entries of the record wait until the conflict is
  /// resolved.
  ///
  /// A refused insert becomes an update with the server's values as bases, because the server has a record with its key;
  /// nothing remains of an insert with the server's values.
  ///
  /// - Parameters:
  ///   - serverValues: The server's values by property; `nil` if the server has deleted the record.
  ///   - keys: The names of the properties that identify the record.
  static func noteConflict(
    over id: ManagedObjectID, serverValues: [String: AttributeValue]?, keys: Set<String>,
    in context: ManagedObjectContext, now: @escaping @Sendable () -> Date
  ) throws {
    guard let reader = PendingEntryReader(in: context), let rewriter = EntryRewriter(in: context, now: now),
      let edit = try reader.edits(of: [id]).first
    else { return }
    try rewriter.carryOutRefusal(of: edit, serverValues: serverValues, keys: keys)
  }
}
