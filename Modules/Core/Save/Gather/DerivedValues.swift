import Foundation

/// The derived values of one save into stores, all computed with the same time.
struct DerivedValues {
  /// The time of the save.
  let time: Timestamp

  init() {
    // The clock of a computer never shows a date that a timestamp cannot express.
    time = Timestamp(Date()) ?? Timestamp(microseconds: 0)
  }

  /// Computes the derived values of the records that a save writes. Values that depend on other records follow from the
  /// whole save, see ``DerivingSave``: a fresh record has the value of a record without others until then.
  ///
  /// A record whose edits a save writes without those of its parents is left out: ``derive(_:changing:over:)`` computes
  /// from the row that the save writes, which the parents' edits are no part of.
  func derive(_ gathered: GatheredRecords) {
    for (index, record) in gathered.records.enumerated() where record.entity.checked.isDerived {
      guard record.isCurrent, record.isWritten, gathered.bases.isEmpty || gathered.bases[index] == nil else { continue }
      if record.kind == .inserted {
        for related in record.entity.checked.related { record.set(related.initial, at: related.slot) }
      }
      let movesOnly = record.kind == .updated && record.changesPositionsOnly
      for derived in record.entity.checked.derived where derived.source != nil || !movesOnly {
        record.set(derived.value(in: { record[$0] }, savedAt: time), at: derived.slot)
      }
    }
  }

  /// Computes the derived values of a row to write.
  ///
  /// - Parameters:
  ///   - changed: Receives the slots of derived values that differ from the stored row.
  ///   - stored: The row that the written one replaces.
  ///   - movesOnly: Whether the save changes nothing but positions in lists of other records.
  func derive(_ row: inout Row, changing changed: inout SlotSet, over stored: Row, movesOnly: Bool) {
    for derived in row.entity.checked.derived where derived.source != nil || !movesOnly {
      let value = derived.value(in: { row[$0] }, savedAt: time)
      row.set(value, at: derived.slot)
      if value != stored[derived.slot] { changed.insert(derived.slot) }
    }
  }

  /// Takes the derived values of a failed save back, so that the objects are as they were before it.
  static func revert(_ records: [PendingRecord]) {
    for record in records where record.isCurrent && record.kind != .deleted {
      for derived in record.entity.checked.derived { record.set(record.base?[derived.slot] ?? .null, at: derived.slot) }
      for related in record.entity.checked.related { record.set(record.base?[related.slot] ?? .null, at: related.slot) }
    }
  }

  /// Adds the derived values to the values that a batch update gives to all records of an entity.
  ///
  /// - Throws: ``ErrorCode/wrongType`` when a subentity derives a value that the entity has no slot for.
  func derive(_ values: inout [Int: AttributeValue], of entity: EntityDescription, _ subentities: Bool) throws {
    func isAffected(_ derived: DerivedSlot) -> Bool { derived.source.map { values[$0] != nil } ?? true }
    for derived in entity.checked.derived where isAffected(derived) {
      values[derived.slot] = derived.value(in: { values[$0] ?? .null }, savedAt: time)
    }
    guard subentities else { return }
    for subentity in entity.concreteEntities {
      guard let derived = subentity.checked.derived.first(where: { $0.slot >= entity.slotCount && isAffected($0) })
      else { continue }
      throw CoherenceError(
        .wrongType,
        "'\(subentity.name).\(subentity.slots[derived.slot].name)' is derived, and a batch update of '\(entity.name)' "
          + "cannot set it; update '\(subentity.name)' by a request of its own, and '\(entity.name)' without subentities."
      )
    }
  }
}

extension EntityDescription {
  /// Computes the derived values of a record whose values a merge policy has chosen.
  ///
  /// - Parameters:
  ///   - mine: The row that the save was to write, which has the time of the save.
  ///   - stored: The row that the store has; `nil` for none.
  ///   - changesLists: Whether the save changes ordered lists of the record.
  func derive(_ values: inout [AttributeValue], mine: Row?, over stored: Row?, changesLists: Bool) {
    // Values that depend on other records follow from the save, not from its changes of this record.
    for related in checked.related { values[related.slot] = stored?[related.slot] ?? related.initial }
    guard !checked.derived.isEmpty else { return }
    let slots = Set(checked.derived.map(\.slot))
    // The time stays when no change remains, and when only positions in lists of other records do.
    func isOwn(_ slot: Int) -> Bool {
      if case .position = self.slots[slot] { return false }
      return !slots.contains(slot)
    }
    let isChanged =
      stored.map { row in changesLists || values.indices.contains { isOwn($0) && values[$0] != row[$0] } } ?? true
    for derived in checked.derived {
      if let source = derived.source {
        values[derived.slot] = derived.derivation.value(from: values[source])
      } else if let time = isChanged ? mine : stored {
        values[derived.slot] = time[derived.slot]
      }
    }
  }
}
