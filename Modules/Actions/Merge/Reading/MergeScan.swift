import CoherenceCore

/// Puts records to a merge's input: finds out which of them differ, which nobody speaks of, and which input is new.
///
/// What it notes grows with what is to be done, not with the records that are as they should be.
final class MergeScan: RowExpectation {
  /// A record that differs from the input, as it is.
  struct Change {
    let place: Int
    let row: Row
  }
  /// A record with to-many relationships to look at.
  struct Listed {
    let place: Int
    let id: ManagedObjectID
  }

  private let input: any MergeInput
  private let layout: MergeLayout
  private let options: MergeOptions
  private let targets: MergeTargets
  private let refuseIfCanceled: () throws -> Void
  // Safety of `@exclusivity(unchecked)`, on the properties that every record touches: one reading uses the scan, and no
  // callee of an access knows the scan.
  @exclusivity(unchecked) private var index: MergeIndex

  private(set) var changes: [Change] = []
  /// Records that the input does not have, or that another record is the match of.
  private(set) var surplus: [Row] = []
  private(set) var listed: [Listed] = []
  /// The input records that have a record.
  @exclusivity(unchecked) private(set) var matched: PlaceSet
  /// The input records that have several.
  private var duplicated: Set<Int> = []

  /// Whether records that the input does not have are noted.
  var collectsSurplus = false
  /// Matches found before do not count as duplicates of those found now.
  private var settled: PlaceSet
  /// The input record that the last verdict was about.
  @exclusivity(unchecked) private var current: Int?
  /// Whether ``values`` is all that the input says of it.
  @exclusivity(unchecked) private var isComplete = true
  @exclusivity(unchecked) private var values: [AttributeValue?] = []
  @exclusivity(unchecked) private var seen = 0
  let keySlots: [Int]

  init(
    _ input: any MergeInput, index: MergeIndex, layout: MergeLayout, options: MergeOptions, targets: MergeTargets,
    refuseIfCanceled: @escaping () throws -> Void
  ) {
    self.input = input
    self.index = index
    self.layout = layout
    self.options = options
    self.targets = targets
    self.refuseIfCanceled = refuseIfCanceled
    matched = PlaceSet(capacity: input.count)
    settled = matched
    keySlots = layout.keySlots
  }

  /// Begins another reading, which looks for the input records that have no match yet.
  func settle() {
    settled = matched
    collectsSurplus = false
  }

  // MARK: RowExpectation

  var expectedValues: [AttributeValue?] { values }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) throws -> RowVerdict {
    seen += 1
    if seen % 256 == 0 { try refuseIfCanceled() }
    current = nil
    if key.isIncompleteKey { return collectsSurplus && options.deletesRecordsWithoutKey ? .take : .pass }
    guard let place = try index.place(of: key) else { return collectsSurplus ? .take : .pass }
    if matched.contains(place) { return settled.contains(place) ? .pass : try verdict(onDuplicateAt: place) }
    matched.insert(place)
    current = place
    return try expect(place, id: id) ? .compare : .take
  }

  private func verdict(onDuplicateAt place: Int) throws -> RowVerdict {
    guard options.storedDuplicates != .fail else {
      throw CoherenceError(
        .invalidMergeKey,
        "Several records of '\(layout.entity.name)' have the same \(layout.keyNames); delete all but one, or choose a "
          + "policy for `storedDuplicates`.")
    }
    duplicated.insert(place)
    return .pass
  }

  func take(_ row: Row) throws {
    if let current {
      note(row, at: current)
    } else if options.includesSubentities || row.entity === layout.entity {
      surplus.append(row)
    }
  }

  /// Notes a match, if it is not as it should be, whose values were read last.
  private func note(_ row: Row, at place: Int) {
    if !isComplete || differs(row, at: place) { changes.append(Change(place: place, row: row)) }
  }

  // MARK: Expecting

  /// Reads what the input says of a record.
  ///
  /// - Returns: Whether a look at the slots of the merge's entity tells whether the record differs.
  private func expect(_ place: Int, id: ManagedObjectID) throws -> Bool {
    let links = try input.links(place)
    try readValues(place, links)
    if links.contains(where: { $0.relationship.isToMany }) { listed.append(Listed(place: place, id: id)) }
    return isComplete && values.count == layout.entity.slotCount
  }

  /// Reads the values that a record is to have, but for those that are ignored or told by the key.
  private func readValues(
    _ place: Int, _ links: [(relationship: RelationshipDescription, link: MergeLink)]
  ) throws {
    try input.readValues(place, into: &values, isChecked: false)
    for slot in layout.keptSlots { values[slot] = nil }
    for slot in keySlots { values[slot] = nil }
    isComplete = true
    for (relationship, link) in links {
      guard let slot = relationship.slot, !layout.ignores(relationship) else { continue }
      switch link.keys.first.flatMap({ targets.target($0, of: relationship) }) {
      case .existing(let id): values[slot] = .reference(id)
      case .fresh: isComplete = false
      case nil: values[slot] = .null
      }
    }
  }

  /// Whether a row differs from the input record whose values were read last.
  private func differs(_ row: Row, at place: Int) -> Bool {
    let own = input.entity(place)
    let count = row.entity.isKind(of: own) ? own.slotCount : layout.entity.slotCount
    return (0..<count).contains { slot in values[slot].map { row[slot] != $0 } == true }
  }
}

// MARK: - Duplicates

extension MergeScan {
  /// Decides which of several records with one key is the match: the oldest. The others become surplus, if the policy
  /// says so.
  ///
  /// - Parameter reach: Reads the records of some keys once more.
  func resolveDuplicates(_ visit: ([MergeKey], any RowExpectation) throws -> Void) throws {
    guard !duplicated.isEmpty else { return }
    var keys: [Int: MergeKey] = [:]
    for place in duplicated {
      var key = [AttributeValue](repeating: .null, count: keySlots.count)
      try input.readKey(place, into: &key)
      keys[place] = MergeKey(values: key)
    }
    let collector = RowCollector(Set(keys.values), keySlots: keySlots)
    try visit(Array(keys.values), collector)
    changes.removeAll { duplicated.contains($0.place) }
    listed.removeAll { duplicated.contains($0.place) }
    for place in duplicated.sorted() {
      let rows = (collector.rows[keys[place]!] ?? []).sorted { $0.id.isOlder(than: $1.id) }
      guard let oldest = rows.first else { continue }
      _ = try expect(place, id: oldest.id)
      note(oldest, at: place)
      if options.storedDuplicates == .delete { surplus += rows.dropFirst() }
    }
    duplicated = []
  }
}

/// Collects the rows that have certain keys.
private final class RowCollector: RowExpectation {
  private let keys: Set<MergeKey>
  let keySlots: [Int]
  private(set) var rows: [MergeKey: [Row]] = [:]
  private var current: MergeKey?

  init(_ keys: Set<MergeKey>, keySlots: [Int]) {
    self.keys = keys
    self.keySlots = keySlots
  }

  var expectedValues: [AttributeValue?] { [] }

  func verdict(on id: ManagedObjectID, key: [AttributeValue]) -> RowVerdict {
    let key = MergeKey(values: key)
    current = key
    return keys.contains(key) ? .take : .pass
  }

  func take(_ row: Row) {
    if let current { rows[current, default: []].append(row) }
  }
}
