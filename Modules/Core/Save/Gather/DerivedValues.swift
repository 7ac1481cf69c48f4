import Foundation

/// Computes the derived values of one save that follow from other values of the same record, or from the time or the
/// author of the save. All records of the save get the same time.
struct DerivedValues {
  /// The time of the save.
  let time: Timestamp
  /// The author of the save; null for none.
  let author: AttributeValue

  init(in coordinator: PersistentStoreCoordinator, by author: String?) {
    // A text that no attribute takes counts as no author.
    self.author = author.flatMap { try? AttributeType.string.checked(.string($0)) } ?? .null
    // A clock of the system never shows a date out of a timestamp's range; zero is a fallback without meaning.
    time = Timestamp(coordinator.clock()) ?? Timestamp(microseconds: 0)
  }

  /// Computes the derived values of the records that a save writes. Values that depend on other records are computed
  /// later, from the whole save, see ``DerivingSave``. Until then an inserted record has the initial values, such as a
  /// count of zero.
  ///
  /// Records with unsaved edits of parents are left out. The save writes them without the parents' edits, so that their
  /// values are computed from the row to write, by ``derive(_:changing:over:movesOnly:)``.
  func derive(_ gathered: GatheredRecords) {
    for (index, record) in gathered.records.enumerated() where record.entity.checked.isDerived {
      guard record.isTracked, record.isWritten, gathered.bases.isEmpty || gathered.bases[index] == nil else { continue }
      if record.kind == .inserted {
        for related in record.entity.checked.related { record.set(related.initial, at: related.slot) }
      }
      let movesOnly = record.kind == .updated && record.changesPositionsOnly
      for derived in record.entity.checked.derived where derived.source != nil || !movesOnly {
        record.set(derived.value(in: { record[$0] }, savedAt: time, by: author), at: derived.slot)
      }
    }
  }

  /// Computes the derived values of a row to write.
  ///
  /// - Parameters:
  ///   - changed: Receives the slots of derived values that differ from the stored row.
  ///   - stored: The row that the written row replaces.
  ///   - movesOnly: Whether the save only changes positions in lists of other records, which leaves the time of the
  ///     last change.
  func derive(_ row: inout Row, changing changed: inout SlotSet, over stored: Row, movesOnly: Bool) {
    for derived in row.entity.checked.derived where derived.source != nil || !movesOnly {
      let value = derived.value(in: { row[$0] }, savedAt: time, by: author)
      row.set(value, at: derived.slot)
      if value != stored[derived.slot] { changed.insert(derived.slot) }
    }
  }

  /// Reverts the derived values of a failed save, so that the objects are as they were before the save.
  static func revert(_ records: [PendingRecord]) {
    for record in records where record.isTracked && record.kind != .deleted {
      for derived in record.entity.checked.derived { record.set(record.base?[derived.slot] ?? .null, at: derived.slot) }
      for related in record.entity.checked.related { record.set(record.base?[related.slot] ?? .null, at: related.slot) }
    }
  }

  /// Adds the derived values that follow from the values of a batch update.
  ///
  /// - Throws: ``ErrorCode/wrongType`` when a subentity has a derived attribute in a slot beyond the entity's slots.
  func derive(_ values: inout [Int: AttributeValue], of entity: EntityDescription, _ subentities: Bool) throws {
    func isAffected(_ derived: DerivedSlot) -> Bool { derived.source.map { values[$0] != nil } ?? true }
    for derived in entity.checked.derived where isAffected(derived) {
      values[derived.slot] = derived.value(in: { values[$0] ?? .null }, savedAt: time, by: author)
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
  ///   - mine: The row that the save would have written, with the time of the save.
  ///   - stored: The row in the store; `nil` for none.
  ///   - changesLists: Whether the save changes ordered lists of the record.
  func derive(_ values: inout [AttributeValue], mine: Row?, over stored: Row?, changesLists: Bool) {
    // Values that depend on other records are computed later, from the whole save.
    for related in checked.related { values[related.slot] = stored?[related.slot] ?? related.initial }
    guard !checked.derived.isEmpty else { return }
    let slots = Set(checked.derived.map(\.slot))
    // A derived value without a source is the time or the author of the last change. Both stay if no change remains,
    // or only positions in lists of other records.
    func isOwn(_ slot: Int) -> Bool {
      if case .position = self.slots[slot] { return false }
      return !slots.contains(slot)
    }
    let isChanged =
      stored.map { row in changesLists || values.indices.contains { isOwn($0) && values[$0] != row[$0] } } ?? true
    for derived in checked.derived {
      if let source = derived.source {
        values[derived.slot] = derived.derivation.value(from: values[source])
      } else if let timedRow = isChanged ? mine : stored {
        values[derived.slot] = timedRow[derived.slot]
      }
    }
  }
}
