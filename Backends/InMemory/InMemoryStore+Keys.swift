import CoherenceCore

extension InMemoryStore {
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    let content = try openContent()
    guard content.schema.roots.contains(where: { $0 === root.root }) else { throw InMemoryState.notHeld(root.name) }
    return content.allocateKeys(max(count, 0), for: root.root)
  }
}
