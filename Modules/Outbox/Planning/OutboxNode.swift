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
  /// The time until which no other forwarder sends the entry; `nil` without a claim.
  let lease: Date?
  /// The name of the forwarder that sends the entry.
  let claimant: String?
  /// The validity of the claim, as far as the forwarder knows that reads the entry.
  var validity = ClaimValidity.untilLeaseEnds
  /// Whether the model has the entity of the record and the root of the hierarchy, under their present or former names.
  var isEntityKnown = true
  /// The identifying values of the record, in the format of ``EntryWriter``; those from before an update.
  var identity: Data?
  /// The name of the entity among whose records the identifying values are unique.
  var identityScope: String?
  let references: [EntryFormat.Reference]

  /// The identifying values of a record, and the entity among whose records they are unique.
  struct UniqueKey: Hashable, Sendable {
    let scope: String
    let values: [String: OutboxValue]

    /// Makes the key of a record; `nil` for a record that has no complete key.
    ///
    /// - Parameters:
    ///   - identity: The identifying values of an entry, in the format of ``EntryWriter``.
    ///   - scope: The entity among whose records the identifying values are unique.
    ///   - newValues: Values that replace the identifying ones, by their recorded names.
    init?(_ identity: Data?, in scope: String?, replacing newValues: [String: OutboxValue] = [:]) {
      guard let identity, let scope, let fields = try? EntryReader.identity(identity), !fields.isEmpty else {
        return nil
      }
      var values: [String: OutboxValue] = [:]
      for field in fields {
        guard let value = newValues[field.name] ?? field.value, value != .value(.null) else { return nil }
        values[field.name] = value
      }
      (self.scope, self.values) = (scope, values)
    }
  }

  /// The key of the record, from before an update; `nil` for a record that has no complete key yet.
  var uniqueKey: UniqueKey? { UniqueKey(identity, in: identityScope) }

  /// Whether the user has retried the entry since its last attempt.
  var isRetried: Bool { nextAttempt == OutboxEntryRecord.retried }

  /// Orders the entries of one record by the record's saves.
  func precedes(_ other: OutboxNode) -> Bool {
    (recordVersion, sequence, id.key) < (other.recordVersion, other.sequence, other.id.key)
  }

  /// Whether a forwarder has the claim on the entry at a date.
  ///
  /// - Parameter latest: The latest end of a lease. A later end was written before the clock was set back, and is
  ///   ignored.
  func isClaimed(at date: Date, until latest: Date) -> Bool {
    guard facts.state == .sending else { return false }
    switch validity {
    case .untilLeaseEnds:
      guard let lease else { return false }
      return lease > date && lease <= latest
    case .held: return true
    case .abandoned: return false
    }
  }
}

/// The time for which the claim on an entry is valid.
enum ClaimValidity: Sendable {
  /// The claim of another forwarder, which may have crashed, is valid until its lease ends.
  case untilLeaseEnds
  /// The claim of the reading forwarder is valid as long as that forwarder sends the edit, even after the end of the
  /// lease: a suspended computer renews no lease.
  case held
  /// The claimant sends no such edit, so that the claim is not valid any more.
  case abandoned
}
