/// The blocks to call at the end of an action, in the order in which they were added.
struct EndObservers {
  typealias Block = @Sendable () -> Void

  private struct Entry {
    let dependent: ObjectIdentifier?
    /// `nil` after its removal.
    var block: Block?
  }

  private var entries: [Entry] = []
  /// The positions of the blocks of dependents.
  private var positions: [ObjectIdentifier: Int] = [:]
  private var removedCount = 0

  var isEmpty: Bool { count == 0 }
  var count: Int { entries.count - removedCount }
  var all: [Block] { entries.compactMap(\.block) }

  /// Adds a block.
  ///
  /// - Parameter dependent: The action that the block concerns, with at most one block; `nil` for another block.
  mutating func add(for dependent: ObjectIdentifier? = nil, _ block: @escaping Block) {
    if let dependent { positions[dependent] = entries.count }
    entries.append(Entry(dependent: dependent, block: block))
  }

  /// Removes the block of a dependent in constant time on average, so that many dependents of one action can end early.
  mutating func remove(for dependent: ObjectIdentifier) {
    guard let position = positions.removeValue(forKey: dependent) else { return }
    entries[position].block = nil
    removedCount += 1
    if removedCount > entries.count / 2 { dropRemovedEntries() }
  }

  private mutating func dropRemovedEntries() {
    entries.removeAll { $0.block == nil }
    removedCount = 0
    positions.removeAll(keepingCapacity: true)
    for (position, entry) in entries.enumerated() {
      if let dependent = entry.dependent { positions[dependent] = position }
    }
  }
}
