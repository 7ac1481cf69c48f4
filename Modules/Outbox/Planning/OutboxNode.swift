import CoherenceCore
import Foundation

/// The properties of an entry that determine when the entry can be sent, without its values.
struct OutboxNode: Sendable {
  let id: ManagedObjectID
  let record: OutboxRecord
  let sequence: Int64
  /// The greatest sequence that the save of the entry reserved.
  let transaction: Int64
  let recordVersion: Int64
  let facts: EntryGroup.Facts
  let nextAttempt: Date
  /// The time until which no other forwarder sends the entry; `nil` without a claim, and for an abandoned claim.
  var lease: Date?
  /// The name of the forwarder that sends the entry.
  let claimant: String?
  let references: [EntryFormat.Reference]

  /// Orders the entries of one record by the record's saves.
  func precedes(_ other: OutboxNode) -> Bool {
    (recordVersion, sequence, id.key) < (other.recordVersion, other.sequence, other.id.key)
  }
}
