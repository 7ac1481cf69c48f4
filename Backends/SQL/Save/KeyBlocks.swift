package import CoherenceCore
import Synchronization

/// The keys that a store has reserved in its database and has not assigned to records yet, in a block for each
/// hierarchy of entities.
///
/// The keys of a block ascend from one caller to the next, so that later records have greater keys. Reserved keys that
/// the order leaves behind stay unused: the keys of records have gaps.
package final class KeyBlocks: Sendable {
  /// The consecutive keys reserved for a hierarchy.
  private struct Block {
    var keys: Range<Int64> = 0..<0
    /// The number of keys of the next reservation. It doubles each time, so that many small requests cost few writes.
    var size = 64
  }

  private let blocks = Mutex<[ObjectIdentifier: Block]>([:])
  private static let maximumSize = 4096

  package init() {}

  /// Returns consecutive keys. Reserves more keys when the block has too few.
  ///
  /// - Parameter allocate: Reserves a number of keys in the database.
  package func take(
    _ count: Int, of root: EntityDescription, allocate: (Int) throws -> Range<Int64>
  ) throws -> Range<Int64> {
    let root = ObjectIdentifier(root)
    while true {
      let size = blocks.withLock { blocks in
        let block = blocks[root] ?? Block()
        return block.keys.count < count ? max(count, block.size) : 0
      }
      // The reservation runs without the lock, because it waits for a round trip, or for the writer of the file, which
      // may call this function.
      let fresh = size > 0 ? try allocate(size) : 0..<0
      if let taken = blocks.withLock({ Self.take(count, from: &$0[root, default: Block()], adding: fresh) }) {
        return taken
      }
      // Other threads have taken keys of the block after the computation of the size. The next round reserves new keys
      // into the block: outside of it, a later caller would get the lower keys of the block.
    }
  }

  /// Adds newly reserved keys to a block, and takes keys out of it. Returns `nil` without new keys if the block has too
  /// few. A block is one range, so its former keys are dropped unless the new keys follow them directly.
  private static func take(_ count: Int, from block: inout Block, adding fresh: Range<Int64>) -> Range<Int64>? {
    if !fresh.isEmpty {
      // A later reservation has arrived first. The lower keys serve this caller alone, because keys after those of the
      // later reservation must be greater.
      guard fresh.lowerBound >= block.keys.upperBound else {
        return fresh.lowerBound..<(fresh.lowerBound + Int64(count))
      }
      let isAdjacent = block.keys.upperBound == fresh.lowerBound
      block.keys = (isAdjacent ? block.keys.lowerBound : fresh.lowerBound)..<fresh.upperBound
      block.size = min(block.size * 2, maximumSize)
    }
    guard block.keys.count >= count else { return nil }
    let first = block.keys.lowerBound
    block.keys = (first + Int64(count))..<block.keys.upperBound
    return first..<(first + Int64(count))
  }

  /// Discards the reserved keys of a hierarchy, because another writer used keys without allocating them.
  package func discard(of root: EntityDescription) {
    let root = ObjectIdentifier(root)
    blocks.withLock { blocks in
      guard let end = blocks[root]?.keys.upperBound else { return }
      // The end stays, so that an earlier reservation that arrives now gives later records no lower keys.
      blocks[root]?.keys = end..<end
    }
  }
}
