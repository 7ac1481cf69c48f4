import CoherenceCore
import Foundation

/// One request to send: consecutive entries of a record, and their common effect.
struct OutboxStep: Sendable {
  /// The kind of the request.
  let kind: OutboxEntryKind
  /// The key of the request: the key of the first entry, or of the last entry for a delete.
  let idempotencyKey: UUID
  /// The entries in the order of the record. The claim is written to the first entry; all entries are deleted when the
  /// server has accepted the request. Never empty.
  let entries: [OutboxEntry]
  /// The attributes and to-one relationships. In an update, each has its first base and its last value, and a property
  /// that regained its first value is left out. An insert has values without bases, and a delete bases without values.
  private(set) var changes: [OutboxChange]
  /// The to-many relationships, with the members added and removed by all entries together.
  let members: [OutboxMembers]
  /// The identifying values that the server has for the record; for an insert, the identifying values of the new
  /// record.
  let identity: [String: AttributeValue]
  /// Whether the request deletes a record whose insert was attempted with an unknown result: the server may or may not
  /// have the record.
  let mayBeUnknownToServer: Bool
  /// The related records that the server does not have yet although the request refers to them, because their inserts
  /// wait for this record. The request leaves these references out, and a later update sends them.
  var deferredReferences: Set<OutboxRecord> = []

  /// The entry that a forwarder claims.
  var head: OutboxEntry { entries[0] }
  /// The changed record.
  var record: OutboxRecord { head.record }
  /// The sequence of the last entry, which the claim writes to ``OutboxEntryRecord/groupEnd`` of the head.
  var groupEnd: Int64 { entries[entries.count - 1].sequence }
}

extension OutboxStep {
  /// Makes the request of a group of entries.
  ///
  /// - Parameters:
  ///   - entries: The entries of the group, in the order of the record.
  ///   - outcome: Any outcome but ``EntryGroup/Outcome/nothing``.
  init(_ entries: [OutboxEntry], outcome: EntryGroup.Outcome) {
    var merged = MergedChanges(entries[0])
    for entry in entries.dropFirst() { merged.add(entry) }
    self.entries = entries
    switch outcome {
    case .insert, .nothing: kind = .insert
    case .update: kind = .update
    case .delete, .deleteOfUncertainInsert: kind = .delete
    }
    mayBeUnknownToServer = outcome == .deleteOfUncertainInsert
    idempotencyKey = kind == .delete ? entries[entries.count - 1].idempotencyKey : entries[0].idempotencyKey
    changes = merged.changes(of: kind)
    members = kind == .delete ? [] : merged.members
    identity = merged.identity(of: kind)
  }

  /// Returns the same request with the large values, which copies of its entries have. Leaves out the properties that
  /// this request leaves out.
  func withValues(of copies: [OutboxEntry]) -> OutboxStep {
    let outcome: EntryGroup.Outcome =
      switch kind {
      case .insert: .insert
      case .update: .update
      case .delete: mayBeUnknownToServer ? .deleteOfUncertainInsert : .delete
      }
    var step = OutboxStep(zip(entries, copies).map { $0.withValues(of: $1) }, outcome: outcome)
    let names = Set(changes.map(\.name))
    step.changes.removeAll { !names.contains($0.name) }
    step.deferredReferences = deferredReferences
    return step
  }

  /// Whether the request has new values of properties that the model does not have. A delete has no new values.
  var hasUnknownProperties: Bool {
    guard kind != .delete else { return false }
    return changes.contains { !$0.isKnown } || members.contains { !$0.isKnown }
  }

  /// Whether an update has no change to send, because its later entries undo the earlier ones.
  var isEmptyUpdate: Bool { kind == .update && changes.isEmpty && members.isEmpty }

  /// Whether the omitted values decide whether an update has a change to send: its later entries have restored the
  /// sizes of the omitted values, and no other change is left.
  var mayBeEmptyUpdate: Bool {
    kind == .update && entries.count > 1 && members.isEmpty && entries.allSatisfy(\.isUntried)
      && changes.allSatisfy { $0.hasOmittedValue && $0.base == $0.value }
  }
}
