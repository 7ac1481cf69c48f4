import CoherenceCore
import Foundation

/// The properties of an entry that decide whether the entry can be sent, without its values.
struct OutboxNode: Sendable {
  let id: ManagedObjectID
  let record: OutboxRecord
  let sequence: Int64
  /// The greatest sequence that the save of the entry reserved.
  let transaction: Int64
  let recordVersion: Int64
  let facts: EntryGroup.Facts
  let nextAttempt: Date
  /// The end of the claim; `nil` without a claim, and for a claim that its forwarder has given up.
  var lease: Date?
  /// The name of the forwarder that has the claim.
  let claimant: String?
  let references: [EntryFormat.Reference]

  /// Orders the entries of one record as the record's saves followed each other.
  func precedes(_ other: OutboxNode) -> Bool {
    (recordVersion, sequence, id.key) < (other.recordVersion, other.sequence, other.id.key)
  }
}
