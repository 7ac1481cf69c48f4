/// A collection of entities of any kind, as an alias can stand for. It is made anew of the values of its entities.
final class ListShape<C: Collection>: NestedShape<C> where C.Element: Identifiable & Sendable {
  override func adopt(_ part: C, by adoption: inout Adoption) {
    for element in part { adoption.adopt(element) }
  }

  override func count(in part: C) -> Int { part.count }

  override func refresh(_ part: inout C, along cursor: inout LinkCursor) {
    part = C.made(of: values(of: cursor.links.map(\.child))) ?? part
  }

  override func remove(from part: inout C, along cursor: inout LinkCursor) -> Bool {
    let kept = cursor.links.indices.compactMap { _ in cursor.nextUnlessRemoved() }
    guard let rebuilt = C.made(of: values(of: kept)) else { return true }
    part = rebuilt
    return false
  }

  private func values(of nodes: [Node]) -> [C.Element] {
    nodes.map { unsafeDowncast($0, to: EntityNode<C.Element>.self).value }
  }
}
