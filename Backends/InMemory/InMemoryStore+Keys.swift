import CoherenceCore

extension InMemoryStore {
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    let content = try writableContent()
    guard content.schema.roots.contains(where: { $0 === root.root }) else { throw InMemoryState.notHeld(root.name) }
    return try content.allocateKeys(max(count, 0), for: root.root)
  }
}
