import CoherenceCore

import Foundation

@testable import CoherenceOutbox

/// Entries without a store, for tests of plans.
enum SampleEntries {
  private static let space: IDSpace = {
    let spaces = IDSpaces(store: StoreIdentifier("sample-entries"), model: OutboxModels.main)
    return spaces[OutboxModels.main.entitiesByName["CoherenceOutboxEntry"]!]
  }()

  /// The record of an item with a key.
  static func item(_ key: Int64) -> OutboxRecord { OutboxRecord(rootName: "TestItem", key: key) }

  /// The idempotency key of the sample entry with a sequence.
  static func key(_ sequence: Int64) -> UUID {
    UUID(uuidString: "00000000-0000-0000-0000-\(100_000_000_000 + sequence)")!
  }

  static func entry(
    _ kind: OutboxEntryKind, _ sequence: Int64, of record: OutboxRecord = item(1), version: Int64? = nil,
    changes: [OutboxChange] = [], members: [OutboxMembers] = [], identity: [String: AttributeValue] = [:],
    state: OutboxEntryState = .pending, isRejected: Bool = false, groupEnd: Int64? = nil, isReadable: Bool = true
  ) -> OutboxEntry {
    OutboxEntry(
      id: ManagedObjectID(space: space, key: sequence), recordID: nil, record: record, entityName: "TestItem",
      recordedEntityName: "TestItem", isEntityKnown: true, sequence: sequence, transaction: sequence,
      recordVersion: version ?? sequence, kind: kind, idempotencyKey: key(sequence), author: nil,
      enqueuedDate: Date(timeIntervalSince1970: 0), state: state, attempts: 0, nextAttemptDate: nil, lastError: nil,
      isRejected: isRejected, groupEnd: groupEnd, leaseEnd: nil, claimant: nil, identity: identity, changes: changes,
      members: members, isReadable: isReadable)
  }

  /// The node of a sample entry.
  ///
  /// - Parameters:
  ///   - new: The keys of the related items after the change.
  ///   - base: The keys of the related items before the change.
  ///   - number: The value that identifies the record.
  static func node(
    _ kind: OutboxEntryKind, _ sequence: Int64, of key: Int64, to new: [Int64] = [], from base: [Int64] = [],
    state: OutboxEntryState = .pending, isRejected: Bool = false, groupEnd: Int64? = nil,
    nextAttempt: Date = Date(timeIntervalSince1970: 0), lease: Date? = nil, number: Int64? = nil
  ) -> OutboxNode {
    OutboxNode(
      id: ManagedObjectID(space: space, key: sequence), record: item(key), sequence: sequence, transaction: sequence,
      recordVersion: sequence,
      facts: EntryGroup.Facts(
        kind: kind, state: state, isRejected: isRejected, sequence: sequence, groupEnd: groupEnd),
      nextAttempt: nextAttempt, lease: lease, claimant: nil,
      identity: number.map {
        EntryWriter.identity([EntryFormat.Field(name: "number", base: nil, value: .value(.int($0)))])
      },
      identityScope: "TestItem",
      references: new.map { EntryFormat.Reference(role: .new, record: item($0)) }
        + base.map { EntryFormat.Reference(role: .base, record: item($0)) })
  }
}
