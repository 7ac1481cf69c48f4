extension StoreCore {
  /// Stores an entity, or changes a stored entity by a closure.
  ///
  /// - Parameter update: Changes the stored value of a present entity in place of the given value; `nil` to store the
  ///   given value in any case.
  func store<T: Identifiable & Sendable>(
    _ entity: T, stamp: Stamp?, ifPresent update: ((inout T) -> Void)?
  ) -> EntityNode<T> {
    let table = table(of: T.self)
    table.prepareSearch()
    if let update, let node = table.search(entity.id) {
      _ = table.update(node, stamp: stamp, update)
      return node
    }
    return table.put(entity, stamp: stamp).node
  }
}
