/// The entities that an optimistic change has touched, kept until it is sure or taken back.
// Sendable because it is touched under the store's lock only.
final class OptimisticEntries: @unchecked Sendable {
  struct Entry {
    let handle: Handle
    let takeBack: () -> Void
    let confirm: () -> Void
  }

  private(set) var list: [Entry] = []

  /// Keeps an entity. A second change of the same entity goes with the first.
  func keep<T: Identifiable & Sendable>(_ node: EntityNode<T>, _ table: EntityTable<T>) {
    guard !list.contains(where: { $0.handle.node === node }) else { return }
    list.append(
      Entry(
        handle: .of(node), takeBack: { [unowned self] in table.takeBack(self, of: node) },
        confirm: { [unowned self] in table.confirm(self, of: node) }))
  }

  /// The nodes of the entities.
  var nodes: [Node] { list.map(\.handle.node) }

  /// The change is over: nothing is kept any more.
  func letGo() {
    list = []
  }
}
