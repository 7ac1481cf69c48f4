import CoherenceCore
import CoherenceSQL
import Synchronization

/// The keys that a store has set aside and not yet handed out.
final class PostgreSQLKeys: Sendable {
  private struct Block {
    var keys: Range<Int64> = 0..<0
    /// How many keys to set aside next time: twice as many each time, so that many small requests cost few writes.
    var size = 64
  }
  private let blocks = Mutex<[ObjectIdentifier: Block]>([:])
  private static let maximumSize = 4096

  /// Hands out keys in a row, setting aside more with a block that takes a number of them.
  func take(_ count: Int, of root: EntityDescription, allocate: (Int) throws -> Range<Int64>) throws -> Range<Int64> {
    if let keys = taken(count, of: root) { return keys }
    // Without the lock, which is not held over a round trip: of two threads that come here, one block is left unused.
    let size = blocks.withLock { max(count, $0[ObjectIdentifier(root)]?.size ?? Block().size) }
    let fresh = try allocate(size)
    return blocks.withLock { blocks in
      let next = fresh.lowerBound + Int64(count)
      let size = min((blocks[ObjectIdentifier(root)]?.size ?? Block().size) * 2, Self.maximumSize)
      blocks[ObjectIdentifier(root)] = Block(keys: next..<fresh.upperBound, size: size)
      return fresh.lowerBound..<next
    }
  }

  /// Forgets the keys set aside, because another writer used keys without allocating them.
  func discard(of root: EntityDescription) { blocks.withLock { $0[ObjectIdentifier(root)]?.keys = 0..<0 } }

  private func taken(_ count: Int, of root: EntityDescription) -> Range<Int64>? {
    blocks.withLock { blocks in
      guard let block = blocks[ObjectIdentifier(root)], block.keys.count >= count else { return nil }
      let next = block.keys.lowerBound + Int64(count)
      blocks[ObjectIdentifier(root)]?.keys = next..<block.keys.upperBound
      return block.keys.lowerBound..<next
    }
  }
}

extension PostgreSQLStore {
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    guard count > 0 else { return 1..<1 }
    let table = try schema.requireTable(for: root)
    return try keys.take(count, of: root.root) { number in try setAside(number, of: table) }
  }

  /// Takes keys out of the key table, in a transaction of its own. The keys of rows that other programs wrote are
  /// skipped.
  private func setAside(_ number: Int, of table: SQLTable) throws -> Range<Int64> {
    let used: SQLFragment = "(SELECT COALESCE(MAX(\(name: SQLTable.id)), 0) FROM \(name: table.name))"
    let count: SQLFragment = "\(key: Int64(number))"
    let result = try write { connection in
      try connection.run(
        """
        INSERT INTO \(name: SQLSchema.keyTable) AS \(name: "k") (\(name: "entity"), \(name: "next")) \
        VALUES (\(text: table.root.name), GREATEST(\(used), 0) + 1 + \(count)) \
        ON CONFLICT (\(name: "entity")) DO UPDATE \
        SET \(name: "next") = GREATEST(\(name: "k").\(name: "next"), \(used) + 1) + \(count) RETURNING \(name: "next")
        """)
    }
    guard let next = result.int(0, 0) else {
      throw CoherenceError(.storeCorrupt, "The table of keys gives none for '\(table.root.name)'; restore it.")
    }
    return next - Int64(number)..<next
  }
}
