/// Keys for the records that participants add in one attempt of a save.
///
/// Surplus keys stay unused, because a rollback of the attempt may also roll back their allocation.
final class KeySupply {
  private struct Supply {
    let root: EntityDescription
    let space: IDSpace
    var keys: Range<Int64> = 0..<0
    /// The number of keys to allocate next. Most saves add one record, whose allocation leaves no surplus.
    var size = 1
  }

  /// The number of keys of the second allocation: a save that adds two records often adds many.
  private static let secondSize = 16
  /// The greatest number of keys allocated at once.
  private static let greatestSize = 4_096

  private let store: any PersistentStore
  private var supplies: [Supply] = []

  init(of store: any PersistentStore) { self.store = store }

  /// An identifier for a fresh record of a hierarchy.
  ///
  /// - Throws: Errors of the store that allocates keys.
  func nextID(in root: EntityDescription) throws -> ManagedObjectID {
    let index = index(of: root)
    if supplies[index].keys.isEmpty {
      let size = supplies[index].size
      supplies[index].keys = try store.allocateKeys(size, for: root)
      supplies[index].size = min(max(2 * size, Self.secondSize), Self.greatestSize)
    }
    return ManagedObjectID(space: supplies[index].space, key: supplies[index].keys.removeFirst())
  }

  private func index(of root: EntityDescription) -> Int {
    if let index = supplies.firstIndex(where: { $0.root === root }) { return index }
    supplies.append(Supply(root: root, space: store.spaces[root]))
    return supplies.count - 1
  }
}
