import CoherenceCore
import Foundation

/// The claim of a forwarder on the entries that it sends.
///
/// A claim is a save with versions: of two forwarders that claim one entry, the second meets a conflict. The claim
/// fixes the entries of the edit too, so that every later attempt has the same contents under the same idempotency key.
struct ForwardClaim: Sendable {
  let outbox: Outbox
  let claimant: String

  /// Claims the first entries of steps, all in one transaction where no other forwarder interferes.
  ///
  /// - Parameter lease: The end of the claim.
  /// - Returns: The claimed steps; the others changed since they were read.
  func take(_ steps: [OutboxStep], until lease: Date, in context: ManagedObjectContext) throws -> [OutboxStep] {
    guard !steps.isEmpty else { return [] }
    do {
      return try save(steps, lease, in: context)
    } catch  where Self.isLostRace(error) {
      context.rollback()
      return try steps.flatMap { step in
        do {
          return try save([step], lease, in: context)
        } catch  where Self.isLostRace(error) {
          context.rollback()
          return []
        }
      }
    }
  }

  private func save(
    _ steps: [OutboxStep], _ lease: Date, in context: ManagedObjectContext
  ) throws -> [OutboxStep] {
    let records = try outbox.records(steps.map(\.head.id), in: context)
    let byID = Dictionary(records.map { ($0.objectID, $0) }) { first, _ in first }
    let claimed = steps.filter { step in
      guard let record = byID[step.head.id], Self.isUnchanged(record, since: step.head) else { return false }
      record.state = .sending
      record.lease = lease
      record.claimant = claimant
      record.groupEnd = step.groupEnd
      record.attempts += 1
      return true
    }
    if !claimed.isEmpty { try context.save() }
    return claimed
  }

  private static func isUnchanged(_ record: OutboxEntryRecord, since entry: OutboxEntry) -> Bool {
    record.state == entry.state && Int(record.attempts) == entry.attempts && record.groupEnd == entry.groupEnd
      && record.claimant == entry.claimant && record.lease == entry.leaseEnd
  }

  /// Returns the claimed entries, as the store has them now, by their identifiers. An entry that another forwarder has
  /// taken over is missing.
  func records(in context: ManagedObjectContext) throws -> [ManagedObjectID: OutboxEntryRecord] {
    let request = FetchRequest(OutboxEntryRecord.self)
      .filter { $0.state == OutboxEntryState.sending && $0.claimant == claimant }
    return Dictionary(try context.fetch(request).map { ($0.objectID, $0) }) { first, _ in first }
  }

  /// Extends the claims on entries that are being sent. A claim without an edit, after a failure of the store, ends by
  /// itself.
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

  /// Returns the first date at which a waiting entry becomes ready: a next attempt, or the end of a claim
  /// that is not renewed here. `nil` without such an entry.
  ///
  /// - Parameter heads: The first entries of the edits of this forwarder.
  func nextDue(
    after now: Date, maximumDelay: Duration, besides heads: Set<ManagedObjectID>, in context: ManagedObjectContext
  ) throws -> Date? {
    let attempt = try context.fetch(
      FetchRequest(OutboxEntryRecord.self)
        .filter { $0.state == OutboxEntryState.pending && $0.nextAttempt > now }
        .sort(\.nextAttempt).limit(1)
    ).first?.nextAttempt
    let lease = try context.fetch(
      FetchRequest(OutboxEntryRecord.self)
        .filter { $0.state == OutboxEntryState.sending && $0.lease > now }
        .sort(\.lease).limit(heads.count + 1)
    ).first { !heads.contains($0.objectID) }?.lease
    guard let next = [attempt, lease].compactMap({ $0 }).min() else { return nil }
    return min(next, now.addingTimeInterval(maximumDelay / .seconds(1)))
  }

  /// Whether another writer changed or deleted a record of the save.
  static func isLostRace(_ error: any Error) -> Bool {
    ErrorCode.versionConflict ~= error || ErrorCode.recordVanished ~= error || ErrorCode.objectNotFound ~= error
  }
}
