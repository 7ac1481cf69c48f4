import CoherenceCore

/// The pending inserts of a merge's entity that the server may have applied under a key unknown to this program.
///
/// The input may have the record of such an insert, under a key that no stored record has. A merge leaves out an
/// input record with the values of the insert, so that the user does not see the record twice. The input record may
/// be another one with equal values: the first merge after the server's reply then inserts it. Each insert keeps out
/// one input record at most.
struct UnansweredInserts {
  /// By slot, the attributes with a value of the user, each with all values that the insert may have been sent with.
  /// The server may have set the other attributes.
  private typealias Values = [Int: Set<AttributeValue>]

  /// A value of an attribute, by which inserts are found.
  private struct AttributeMatch: Hashable {
    let slot: Int
    let value: AttributeValue
  }

  /// An insert with a value of the user.
  private struct Insert {
    /// The entity of the inserted record: the merge's entity or one of its subentities.
    let entity: EntityDescription
    let values: Values
    /// Whether an input record has matched the insert.
    var isMatched = false
  }

  private var inserts: [Insert] = []
  /// The indexes of the inserts by the values of one of their attributes.
  private var indexes: [AttributeMatch: [Int]] = [:]
  /// The number of slots that all records of the merge have in common: the slots of the merge's entity.
  private let commonSlotCount: Int

  /// - Parameters:
  ///   - edits: The inserts, and the deletions of records whose inserts have no reply yet.
  ///   - rows: The present rows of the inserts.
  init(_ edits: some Sequence<PendingEdit>, _ rows: [ManagedObjectID: Row], layout: MergeLayout) {
    commonSlotCount = layout.entity.slotCount
    let excluded = Set(layout.keySlots).union(layout.ignoredSlots)
    for edit in edits {
      let entity = rows[edit.recordID]?.entity ?? edit.recordID.entity
      let values = Self.values(of: edit, rows[edit.recordID], entity).filter { !excluded.contains($0.key) }
      // An insert without a value of the user would keep out any record.
      guard let slot = Self.mostDistinctive(values.filter { $0.key < commonSlotCount }) else { continue }
      for value in values[slot] ?? [] {
        indexes[AttributeMatch(slot: slot, value: value), default: []].append(inserts.count)
      }
      inserts.append(Insert(entity: entity, values: values))
    }
  }

  /// The values that a user gave the record of an insert, now or before, without values equal to the default.
  private static func values(of edit: PendingEdit, _ row: Row?, _ entity: EntityDescription) -> Values {
    var values: Values = [:]
    // No input has a derived value, so that an insert is not found by such a value.
    for attribute in entity.attributes
    where attribute.derivation == nil && !edit.serverAssigned.contains(attribute.name) {
      let slot = attribute.slot
      var userValues = edit.ownValues[attribute.name] ?? []
      if let row { userValues.insert(row[slot]) }
      userValues.remove(.null)
      if userValues != [entity.defaultValues[slot]], !userValues.isEmpty { values[slot] = userValues }
    }
    return values
  }

  /// The slot of the attribute with the longest text, or else of the first attribute; `nil` without a value. Inserts of
  /// one user rarely share a long text, so that a search by this slot compares few inserts.
  private static func mostDistinctive(_ values: Values) -> Int? {
    func length(_ values: Set<AttributeValue>) -> Int {
      values.lazy.map { value in if case .string(let text) = value { text.utf8.count } else { 0 } }.max() ?? 0
    }
    return values.max { (length($0.value), $1.key) < (length($1.value), $0.key) }?.key
  }

  /// Whether an input record has the values of an insert that no other input record has matched. The insert is matched
  /// then.
  ///
  /// - Parameters:
  ///   - entity: The entity of the input record.
  ///   - value: Returns the input's value of a slot of the entity; `nil` for an attribute that the input leaves out.
  mutating func match(_ entity: EntityDescription, _ value: (Int) -> AttributeValue?) -> Bool {
    for slot in 0..<commonSlotCount {
      guard let inputValue = value(slot), let candidates = indexes[AttributeMatch(slot: slot, value: inputValue)] else {
        continue
      }
      for index in candidates where !inserts[index].isMatched && hasValues(of: inserts[index], entity, value) {
        inserts[index].isMatched = true
        return true
      }
    }
    return false
  }

  /// Whether an input record has the values of an insert, as far as both records have the attributes. A slot of a
  /// subentity belongs to another attribute in another subentity, and to none in the merge's entity.
  private func hasValues(
    of insert: Insert, _ entity: EntityDescription, _ value: (Int) -> AttributeValue?
  ) -> Bool {
    let slotCount = insert.entity.isKind(of: entity) ? entity.slotCount : commonSlotCount
    return insert.values.allSatisfy { slot, values in
      slot >= slotCount || value(slot).map(values.contains) ?? true
    }
  }
}
