/// The difference of a list from the list that an observer received before.
public struct ListChange<T: Identifiable & Sendable>: Sendable where T.ID: Sendable {
  /// A change of the index.
  public struct Move: Sendable, Equatable {
    /// The index in the former list.
    public let from: Int
    /// The index in the new list.
    public let to: Int
  }

  /// The new list.
  public let entities: [T]
  /// The indices in the former list of the removed entities, in descending order.
  public let removals: [Int]
  /// The indices in the new list of the inserted entities, in ascending order.
  public let insertions: [Int]
  /// The entities with another position relative to the other remaining entities.
  public let moves: [Move]
  /// The indices in the new list of the remaining entities with another value.
  public let updates: [Int]

  /// Whether the lists are the same.
  public var isEmpty: Bool { removals.isEmpty && insertions.isEmpty && moves.isEmpty && updates.isEmpty }

  /// Compares two lists by their identifiers; of those that occur repeatedly, the first occurrence counts.
  /// - Parameter areEqual: Whether a value is unchanged.
  init(from former: [T], to entities: [T], areEqual: (T, T) -> Bool) {
    self.entities = entities
    let formerIndices = Dictionary(former.indices.map { (former[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
    let indices = Dictionary(entities.indices.map { (entities[$0].id, $0) }, uniquingKeysWith: { first, _ in first })
    removals = former.indices.reversed().filter { indices[former[$0].id] == nil || formerIndices[former[$0].id] != $0 }
    insertions = entities.indices.filter { formerIndices[entities[$0].id] == nil || indices[entities[$0].id] != $0 }
    // The entities of both lists, each with both indices.
    let common = entities.indices.compactMap { index in
      indices[entities[index].id] == index ? formerIndices[entities[index].id].map { Move(from: $0, to: index) } : nil
    }
    updates = common.filter { !areEqual(former[$0.from], entities[$0.to]) }.map(\.to)
    moves = Self.outOfOrder(common)
  }

  /// The smallest set of moves that restores the order: the entities outside of a longest increasing subsequence.
  private static func outOfOrder(_ common: [Move]) -> [Move] {
    // For each length, the entity that ends an increasing subsequence of the length with the lowest former index.
    var tails: [Int] = []
    // For each entity, the one before it in the longest increasing subsequence that it ends.
    var predecessors = [Int?](repeating: nil, count: common.count)
    for index in common.indices {
      var (low, high) = (0, tails.count)
      while low < high {
        let middle = (low + high) / 2
        if common[tails[middle]].from < common[index].from { low = middle + 1 } else { high = middle }
      }
      predecessors[index] = low > 0 ? tails[low - 1] : nil
      if low == tails.count { tails.append(index) } else { tails[low] = index }
    }
    var increasing: Set<Int> = []
    var next = tails.last
    while let index = next {
      increasing.insert(index)
      next = predecessors[index]
    }
    return common.indices.filter { !increasing.contains($0) }.map { common[$0] }
  }
}
