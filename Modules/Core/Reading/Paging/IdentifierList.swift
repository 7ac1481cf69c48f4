/// Identifiers in order, with eight bytes for each one as long as all have the same space.
struct IdentifierList: Sendable {
  private var keys: [Int64] = []
  private var spaces: [IDSpace] = []
  /// The index of each identifier's space; empty as long as the list has at most one space.
  private var spaceIndexes: [UInt16] = []
  /// The index of the space of the last identifier.
  private var last = 0

  /// Whether some of the identifiers are temporary.
  var hasTemporaryIDs: Bool { spaces.contains(where: \.isTemporary) }

  mutating func append(_ id: ManagedObjectID) {
    select(id.space)
    if spaces.count > 1 { spaceIndexes.append(UInt16(last)) }
    keys.append(id.key)
  }

  /// Adds the identifiers of keys in one space.
  mutating func append(keys more: [Int64], of space: IDSpace) {
    guard !more.isEmpty else { return }
    select(space)
    if spaces.count > 1 { spaceIndexes += repeatElement(UInt16(last), count: more.count) }
    if keys.isEmpty { keys = more } else { keys += more }
  }

  /// Makes a space the last one.
  private mutating func select(_ space: IDSpace) {
    if last < spaces.count, spaces[last] === space { return }
    if let index = spaces.firstIndex(where: { $0 === space }) {
      last = index
      return
    }
    if spaces.count == 1 { spaceIndexes = [UInt16](repeating: 0, count: keys.count) }
    spaces.append(space)
    last = spaces.count - 1
  }
}

extension IdentifierList: RandomAccessCollection {
  var startIndex: Int { 0 }
  var endIndex: Int { keys.count }

  subscript(position: Int) -> ManagedObjectID {
    ManagedObjectID(space: spaces[spaces.count > 1 ? Int(spaceIndexes[position]) : 0], key: keys[position])
  }
}
