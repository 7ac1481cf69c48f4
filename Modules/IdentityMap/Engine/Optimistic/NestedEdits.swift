/// The changes of a closure to nested entities. Of two different changes of one entity, the later counts, and the
/// logger receives an error.
final class NestedEdits: EntityVisitor {
  /// A changed entity, with two closures in the place of its type.
  struct Edit {
    /// Applies the change as confirmed.
    let store: (Stamp?) -> Void
    /// Makes a tentative change of the entity by a projection.
    let draft: (any Projecting, TentativeChange) -> Void
  }

  private(set) var list: [Edit] = []
  private let given: GivenEntities
  private let changed = Changes()
  private var path: Set<ObjectIdentifier>

  /// By node, the value of the last changed occurrence.
  private final class Changes {
    var values: [ObjectIdentifier: Any] = [:]
  }

  /// - Parameters:
  ///   - given: The value that the closure received.
  ///   - value: The value that the closure made from it.
  init<T: Identifiable & Sendable>(from given: T, to value: T, of node: EntityNode<T>, _ table: EntityTable<T>) {
    self.given = GivenEntities(in: given, of: node, table)
    path = [ObjectIdentifier(node)]
    table.visit(value, self)
  }

  func visit<T: Identifiable & Sendable>(_ entity: T, of table: EntityTable<T>) -> EntityNode<T> {
    guard let node = table.node(entity.id) else {
      // A new entity may contain others.
      table.visit(entity, self)
      return table.temporaryNode(entity)
    }
    guard !path.contains(ObjectIdentifier(node)) else { return node }
    if given.contains(node), !given.contains(entity, of: node) { note(entity, of: node, table) }
    path.insert(ObjectIdentifier(node))
    table.visit(entity, self)
    path.remove(ObjectIdentifier(node))
    return node
  }

  private func note<T: Identifiable & Sendable>(_ entity: T, of node: EntityNode<T>, _ table: EntityTable<T>) {
    let key = ObjectIdentifier(node)
    guard let former = changed.values.updateValue(entity, forKey: key) else {
      return list.append(
        Edit(
          store: { [changed] stamp in
            guard let value = changed.values[key] as? T, !node.isAbsent else { return }
            _ = table.update(node, stamp: stamp) { $0 = value }
          },
          draft: { projecting, tentative in
            guard !node.isAbsent else { return }
            table.patch(node, .init(change: tentative, effect: .change(projecting.change(of: T.self))))
            tentative.add(node, table)
          }))
    }
    if (former as? T).map({ areIdentical($0, entity) }) != true {
      table.core.reportRejected(T.self, entity.id, EntityError.differentChanges)
    }
  }
}
