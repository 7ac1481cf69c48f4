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

  private var inserts: [Values] = []
  private var isMatched: [Bool] = []
  /// The inserts by the values of one of their attributes.
  private var indexes: [AttributeMatch: [Int]] = [:]

  /// - Parameters:
  ///   - edits: The inserts, and the deletions of records whose inserts have no reply yet.
  ///   - rows: The present rows of the inserts.
  init(_ edits: some Sequence<PendingEdit>, _ rows: [ManagedObjectID: Row], layout: MergeLayout) {
    let excluded = Set(layout.keySlots).union(layout.ignoredSlots)
    for edit in edits {
      let values = Self.values(of: edit, rows[edit.recordID]).filter { !excluded.contains($0.key) }
      guard let slot = Self.mostDistinctive(values) else { continue }
      for value in values[slot] ?? [] {
        indexes[AttributeMatch(slot: slot, value: value), default: []].append(inserts.count)
      }
      inserts.append(values)
      isMatched.append(false)
    }
  }

  /// The values that a user gave the record of an insert, now or before, without values equal to the default.
  private static func values(of edit: PendingEdit, _ row: Row?) -> Values {
    var values: Values = [:]
    let entity = row?.entity ?? edit.recordID.entity
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

  /// The attribute with the longest text, or else the first one.
  private static func mostDistinctive(_ values: Values) -> Int? {
    func length(_ values: Set<AttributeValue>) -> Int {
      values.lazy.map { value in if case .string(let text) = value { text.utf8.count } else { 0 } }.max() ?? 0
    }
    return values.max { (length($0.value), $1.key) < (length($1.value), $0.key) }?.key
  }

  /// Whether an input record has the values of an insert that no other input record has matched. The insert is matched
  /// then.
  ///
  /// - Parameter value: The input's value of a slot; `nil` for an attribute that the input leaves out.
  mutating func match(slots: Range<Int>, _ value: (Int) -> AttributeValue?) -> Bool {
    for slot in slots {
      guard let inputValue = value(slot), let candidates = indexes[AttributeMatch(slot: slot, value: inputValue)] else {
        continue
      }
      for index in candidates where !isMatched[index] {
        let isEqual = inserts[index].allSatisfy { slot, values in value(slot).map(values.contains) ?? true }
        if isEqual {
          isMatched[index] = true
          return true
        }
      }
    }
    return false
  }
}
