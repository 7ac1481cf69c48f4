import CoherenceCore
import CoherenceSQL
import Synchronization

/// The keys that a store has set aside and not yet handed out.
final class SQLiteKeys: Sendable {
  private struct Block {
    var keys: Range<Int64> = 0..<0
    /// How many keys to set aside next time: twice as many each time, so that many small requests cost few writes.
    var size = 64
  }
  private let blocks = Mutex<[ObjectIdentifier: Block]>([:])
  private static let maximumSize = 4096

  /// Hands out keys in a row, setting aside more with a block that takes a number of them.
  func take(_ count: Int, of root: EntityDescription, allocate: (Int) throws -> Range<Int64>) throws -> Range<Int64> {
    let root = ObjectIdentifier(root)
    let size = blocks.withLock { blocks in
      let block = blocks[root] ?? Block()
      return block.keys.count < count ? max(count, block.size) : 0
    }
    // Without the lock: setting keys aside waits for the writer of the file, which may ask for keys itself.
    let fresh = size > 0 ? try allocate(size) : 0..<0
    if let taken = blocks.withLock({ Self.take(count, from: &$0[root, default: Block()], adding: fresh) }) {
      return taken
    }
    // Another thread took the remaining keys of the block first.
    let others = try allocate(max(count, size))
    return others.lowerBound..<(others.lowerBound + Int64(count))
  }

  /// Takes keys out of a block. Returns `nil` when the block has too few.
  private static func take(_ count: Int, from block: inout Block, adding fresh: Range<Int64>) -> Range<Int64>? {
    if !fresh.isEmpty {
      let isAdjacent = block.keys.upperBound == fresh.lowerBound
      block.keys = (isAdjacent ? block.keys.lowerBound : fresh.lowerBound)..<fresh.upperBound
      block.size = min(block.size * 2, maximumSize)
    }
    guard block.keys.count >= count else { return nil }
    let first = block.keys.lowerBound
    block.keys = (first + Int64(count))..<block.keys.upperBound
    return first..<(first + Int64(count))
  }

  /// Forgets the keys set aside, because another writer used keys without allocating them.
  func discard(of root: EntityDescription) { blocks.withLock { $0[ObjectIdentifier(root)]?.keys = 0..<0 } }
}

extension SQLiteStore {
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    guard count > 0 else { return 1..<1 }
    let table = try schema.requireTable(for: root)
    // Allocated in the transaction that excludes other writers. Other threads must not get keys that are not committed
    // yet.
    if isExcludingWriters { return try write { session in try setAside(count, of: table, session) } }
    return try keys.take(count, of: root) { number in
      do {
        return try write { session in
          try inTransactionBesideRecords(session) { try setAside(number, of: table, session) }
        }
      } catch var error as CoherenceError {
        // Keys set aside and never used change nothing.
        error.outcome = .notApplied
        throw error
      }
    }
  }

  /// Takes keys out of the key table. The keys of rows that other programs wrote are skipped.
  private func setAside(_ number: Int, of table: SQLTable, _ session: SQLiteSession) throws -> Range<Int64> {
    let noted = try session.integers(
      "SELECT \(name: "next") FROM \(name: SQLSchema.keyTable) WHERE \(name: "entity") = \(text: table.root.name)")
    let used = try session.integers("SELECT COALESCE(MAX(\(name: SQLTable.id)), 0) FROM \(name: table.name)")
    let first = max(noted.first ?? 1, (used.first ?? 0) + 1, 1)
    let next = first + Int64(number)
    try session.run(
      """
      INSERT INTO \(name: SQLSchema.keyTable) (\(name: "entity"), \(name: "next")) \
      VALUES (\(text: table.root.name), \(key: next)) \
      ON CONFLICT (\(name: "entity")) DO UPDATE SET \(name: "next") = \(name: "excluded").\(name: "next")
      """)
    return first..<next
  }
}
