/// The difference between two states of a live result, without the class of its objects.
struct ResultDifference: Sendable {
  enum Change: Sendable {
    case insert(ManagedObjectID, to: Int)
    case delete(ManagedObjectID, from: Int)
    case move(ManagedObjectID, from: Int, to: Int)
    case update(ManagedObjectID, from: Int, to: Int)
  }

  let former: ResultState
  let current: ResultState
  private(set) var changes: [Change] = []
  private(set) var deletedSections: [Int] = []
  private(set) var insertedSections: [Int] = []
  private(set) var renamed: [ManagedObjectID: ManagedObjectID] = [:]

  /// Whether the states are equal.
  var isEmpty: Bool { changes.isEmpty && deletedSections.isEmpty && insertedSections.isEmpty && renamed.isEmpty }

  /// A record in both states with different entries.
  private struct Common {
    let id: ManagedObjectID
    let from: Int
    let to: Int
  }

  /// Compares two states. The cost grows with the number of touched records; for requests with an offset or a limit,
  /// with the number of visible records.
  ///
  /// - Parameters:
  ///   - touched: The records whose entries may differ.
  ///   - renamed: The permanent identifiers by the former temporary identifiers.
  init(
    from former: ResultState, to current: ResultState, _ touched: TouchedEntries,
    renamed: [ManagedObjectID: ManagedObjectID]
  ) {
    self.former = former
    self.current = current
    let isRange = former.isRange || current.isRange
    let touched = (isRange ? TouchedEntries(comparing: former, current) : touched).combiningRenamed(renamed)
    var deleted: [(id: ManagedObjectID, from: Int)] = []
    var inserted: [(id: ManagedObjectID, to: Int)] = []
    var common: [Common] = []
    for (old, new) in touched.pairs {
      let from = old.flatMap(former.position)
      let to = new.flatMap(current.position)
      switch (old, from, new, to) {
      case (let old?, let from?, let new?, let to?):
        if old.id != new.id { self.renamed[old.id] = new.id }
        if old.revision != new.revision || old.id != new.id { common.append(Common(id: new.id, from: from, to: to)) }
      case (let old?, let from?, _, nil): deleted.append((old.id, from))
      case (_, nil, let new?, let to?): inserted.append((new.id, to))
      default: continue
      }
    }
    deleted.sort { $0.from < $1.from }
    inserted.sort { $0.to < $1.to }
    changes = deleted.map { .delete($0.id, from: $0.from) }
    changes += Self.placed(common, deleted: deleted.map(\.from), inserted: inserted)
    compareSections(touched)
  }

  /// Returns the inserts, moves and updates by ascending present index. The smallest possible number of changed records
  /// moves; unchanged records never move.
  private static func placed(
    _ common: [Common], deleted: [Int], inserted: [(id: ManagedObjectID, to: Int)]
  ) -> [Change] {
    let froms = (common.map(\.from) + deleted).sorted()
    let tos = (common.map(\.to) + inserted.map(\.to)).sorted()
    // A record keeps its position among the untouched records if the number of untouched records before it stays the
    // same.
    let candidates = common.sorted { $0.from < $1.from }.filter { record in
      let before = record.from - SortedEntries.partition(froms.count) { froms[$0] < record.from }
      let after = record.to - SortedEntries.partition(tos.count) { tos[$0] < record.to }
      return before == after
    }
    let staying = longestAscending(candidates.map(\.to))
    let changes: [(to: Int, change: Change)] =
      inserted.map { ($0.to, .insert($0.id, to: $0.to)) }
      + common.map { record in
        let change: Change =
          staying.contains(record.to)
          ? .update(record.id, from: record.from, to: record.to) : .move(record.id, from: record.from, to: record.to)
        return (record.to, change)
      }
    return changes.sorted { $0.to < $1.to }.map(\.change)
  }

  /// The members of a longest ascending subsequence of different numbers.
  private static func longestAscending(_ numbers: [Int]) -> Set<Int> {
    // For each length, the index of the smallest number that ends an ascending subsequence of this length.
    var tails: [Int] = []
    var previous = [Int](repeating: -1, count: numbers.count)
    for (index, number) in numbers.enumerated() {
      let length = SortedEntries.partition(tails.count) { numbers[tails[$0]] < number }
      if length > 0 { previous[index] = tails[length - 1] }
      if length == tails.count { tails.append(index) } else { tails[length] = index }
    }
    var result: Set<Int> = []
    var index = tails.last ?? -1
    while index >= 0 {
      result.insert(numbers[index])
      index = previous[index]
    }
    return result
  }

  /// Finds new and removed sections. Only touched records can add or remove a section.
  private mutating func compareSections(_ touched: TouchedEntries) {
    guard let old = former.sections, let new = current.sections else { return }
    var deleted: Set<Int> = []
    var inserted: Set<Int> = []
    for pair in touched.pairs {
      if let value = pair.old?.values.first, let index = old.index(of: value), new.index(of: value) == nil {
        deleted.insert(index)
      }
      if let value = pair.new?.values.first, let index = new.index(of: value), old.index(of: value) == nil {
        inserted.insert(index)
      }
    }
    deletedSections = deleted.sorted()
    insertedSections = inserted.sorted()
  }
}

/// The changed records between two states of a live result, each with its former and its present entry.
struct TouchedEntries: Sendable {
  typealias Pair = (old: ResultEntry?, new: ResultEntry?)
  private var entries: [ManagedObjectID: Pair] = [:]

  init() {}

  /// Compares all visible entries of two states.
  init(comparing former: ResultState, _ current: ResultState) {
    for entry in former.visibleEntries { entries[entry.id] = (entry, nil) }
    for entry in current.visibleEntries {
      guard let old = entries[entry.id]?.old else {
        entries[entry.id] = (nil, entry)
        continue
      }
      entries[entry.id] = old.revision == entry.revision ? nil : (old, entry)
    }
  }

  var isEmpty: Bool { entries.isEmpty }
  var count: Int { entries.count }
  var pairs: some Collection<Pair> { entries.values }

  /// Whether the former state lists a record.
  func isFormer(_ id: ManagedObjectID) -> Bool { entries[id]?.old != nil }

  /// Adds a later change of a record's entry.
  mutating func add(_ id: ManagedObjectID, from old: ResultEntry?, to new: ResultEntry?) {
    if let earlier = entries[id] {
      entries[id] = (earlier.old, new)
    } else {
      entries[id] = (old, new)
    }
  }

  /// Adds later changes.
  mutating func add(_ later: TouchedEntries) {
    for (id, pair) in later.entries { add(id, from: pair.old, to: pair.new) }
  }

  /// Combines the removal of a temporary identifier and the insert of the same record's permanent identifier into one
  /// change.
  ///
  /// If several former records became one record, the record that was inserted first becomes it, and the others are
  /// removals.
  fileprivate func combiningRenamed(_ renamed: [ManagedObjectID: ManagedObjectID]) -> TouchedEntries {
    guard !renamed.isEmpty else { return self }
    var result = self
    for (former, id) in renamed {
      guard let old = entries[former]?.old, entries[former]?.new == nil, let new = entries[id]?.new,
        entries[id]?.old == nil
      else { continue }
      if let other = result.entries[id]?.old {
        guard ManagedObjectID.precedes(old.id, other.id) else { continue }
        result.entries[other.id] = (other, nil)
      }
      result.entries[former] = nil
      result.entries[id] = (old, new)
    }
    return result
  }
}
