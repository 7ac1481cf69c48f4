import CoherenceCore
import Foundation

/// The claim of a forwarder on the entries that it sends.
///
/// A claim is a save that compares versions: when two forwarders claim the same entry, the second save fails with a
/// version conflict. The claim also fixes the entries of the edit, so that every later attempt has the same contents
/// under the same idempotency key.
struct ForwardClaim: Sendable {
  let outbox: Outbox
  let claimant: String

  /// Claims the first entries of steps. One transaction claims all of a store; after a conflict with another writer
  /// each entry of the store and of the next stores is claimed in its own transaction. When a store fails after another
  /// store's claims were committed, the claimed steps are returned, and the next search reports the failure.
  ///
  /// - Parameters:
  ///   - objects: The objects of the entries, as the context has read them with the steps.
  ///   - lease: The end of the claim.
  /// - Returns: The claimed steps. The entries of the missing steps have changed since the context read them.
  func take(
    _ steps: [OutboxStep], _ objects: [ManagedObjectID: OutboxEntryRecord], until lease: Date,
    in context: ManagedObjectContext
  ) throws -> [OutboxStep] {
    var claimed: [OutboxStep] = []
    var hasLostRace = false
    for group in steps.grouped(byStoreOf: \.head.id) {
      do {
        if !hasLostRace {
          do {
            claimed += try save(group, objects, lease, in: context)
            continue
          } catch  where Self.isLostRace(error) {
            // The context drops its objects, because they have values from before the conflict.
            context.reset()
            hasLostRace = true
          }
        }
        for step in group { claimed += try takeAlone(step, until: lease, in: context) }
      } catch {
        guard !claimed.isEmpty else { throw error }
        context.rollback()
        break
      }
    }
    // In the order of the steps, not of the stores.
    let heads = Set(claimed.map(\.head.id))
    return steps.filter { heads.contains($0.head.id) }
  }

  /// Claims a step in its own transaction, after a conflict.
  private func takeAlone(
    _ step: OutboxStep, until lease: Date, in context: ManagedObjectContext
  ) throws -> [OutboxStep] {
    let records = try outbox.records([step.head.id], in: context)
    do {
      return try save([step], Dictionary(records.map { ($0.objectID, $0) }) { first, _ in first }, lease, in: context)
    } catch  where Self.isLostRace(error) {
      context.reset()
      return []
    }
  }

  private func save(
    _ steps: [OutboxStep], _ objects: [ManagedObjectID: OutboxEntryRecord], _ lease: Date,
    in context: ManagedObjectContext
  ) throws -> [OutboxStep] {
    let claimed = steps.filter { step in
      guard let record = objects[step.head.id], Self.isUnchanged(record, since: step.head) else { return false }
      record.state = .sending
      record.lease = lease
      record.claimant = claimant
      record.groupEnd = step.groupEnd
      // A damaged entry may have the greatest number, which has no successor.
      if record.attempts < .max { record.attempts += 1 }
      return true
    }
    if !claimed.isEmpty { try context.save() }
    return claimed
  }

  private static func isUnchanged(_ record: OutboxEntryRecord, since entry: OutboxEntry) -> Bool {
    record.state == entry.state && Int(record.attempts) == entry.attempts && record.groupEnd == entry.groupEnd
      && record.claimant == entry.claimant && record.lease == entry.leaseEnd
  }

  /// Reads the entries that this forwarder has claimed, by their identifiers. An entry that another forwarder has taken
  /// over is missing.
  func records(in context: ManagedObjectContext) throws -> [ManagedObjectID: OutboxEntryRecord] {
    let request = FetchRequest(OutboxEntryRecord.self)
      .filter { $0.state == OutboxEntryState.sending && $0.claimant == claimant }
    return Dictionary(try context.fetch(request).map { ($0.objectID, $0) }) { first, _ in first }
  }

  /// Extends the claims of edits on their way to the server. A claim that a failed save has left without an edit is not
  /// extended, and expires. After ten lost races the claims are left to the next renewal.
  ///
  /// - Parameters:
  ///   - heads: The first entries of the edits.
  ///   - lease: The end of the claims.
  func renew(_ heads: Set<ManagedObjectID>, until lease: Date, in context: ManagedObjectContext) throws {
    for _ in 0..<10 {
      for (head, record) in try records(in: context) where heads.contains(head) { record.lease = lease }
      do {
        if context.hasChanges { try context.save() }
        return
      } catch  where Self.isLostRace(error) {
        context.rollback()
      }
    }
  }

  /// Whether another writer changed or deleted a record of the save, also in one of several stores.
  static func isLostRace(_ error: any Error) -> Bool {
    let cause = ErrorCode.partialSave ~= error ? (error as? CoherenceError)?.underlying ?? error : error
    return ErrorCode.versionConflict ~= cause || ErrorCode.recordVanished ~= cause || ErrorCode.objectNotFound ~= cause
  }
}
