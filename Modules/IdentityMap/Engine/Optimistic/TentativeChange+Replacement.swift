/// The end of an optimistic change by the server's values; see `OptimisticChange.commit(replacingWith:)`.
extension TentativeChange {
  /// Stores the server's values in the place of the change's effects on entities, and confirms its edits of aliases.
  /// - Parameter temporaries: For each value, the identifier of the entity whose entries the value takes; without it,
  ///   the pairs are found where they are unambiguous.
  func replace<T: Identifiable & Sendable>(
    with values: [T], stamp: Stamp?, temporaries: [T.ID]? = nil
  ) -> [EntityNode<T>] {
    let table = core.table(of: T.self)
    let replaced = temporaries.map { $0.map { table.knownNode($0) } } ?? temporaryNodes(for: values)
    let stored = store(values, stamp: stamp)
    // Storing a value may evict nodes that nothing retains.
    let handles = stored.map { Handle.of($0) }
    var substitutes: [ObjectIdentifier: Handle?] = [:]
    for (node, value) in zip(replaced, handles) {
      guard let node, node !== value.node else { continue }
      substitutes[ObjectIdentifier(node)] = .some(value.node.isRemoved ? nil : value)
    }
    substitute(substitutes)
    // The reversion would remove unconfirmed edits of aliases.
    confirmAliasEdits()
    revert()
    return withExtendedLifetime(handles) { stored }
  }

  private func store<T: Identifiable & Sendable>(_ values: [T], stamp: Stamp?) -> [EntityNode<T>] {
    let outer = core.optimistic.replacedChange
    core.optimistic.replacedChange = self
    defer { core.optimistic.replacedChange = outer }
    return values.map { core.store($0, stamp: stamp, ifPresent: nil) }
  }

  /// For each value, the entity that exists by the change alone and whose entries the value takes; `nil` for a value of
  /// an affected entity. Empty if the other values and these entities differ in number.
  private func temporaryNodes<T: Identifiable & Sendable>(for values: [T]) -> [EntityNode<T>?] {
    let affectedIDs = Set(participants.compactMap { ($0.handle.node as? EntityNode<T>)?.value.id })
    var seen = Set(values.map(\.id))
    let inserted = participants.flatMap { $0.alias?.insertedEntities(by: self) ?? [] }
    let temporaries = inserted.compactMap { $0 as? EntityNode<T> }
      .filter { $0.isTentative && seen.insert($0.value.id).inserted }
    guard values.count(where: { !affectedIDs.contains($0.id) }) == temporaries.count else { return [] }
    var next = temporaries.makeIterator()
    return values.map { affectedIDs.contains($0.id) ? nil : next.next() }
  }

  /// Has the edits of aliases name the stored entities. Edits of other changes may name the temporary entities too.
  private func substitute(_ substitutes: [ObjectIdentifier: Handle?]) {
    guard !substitutes.isEmpty else { return }
    for participant in core.optimistic.openChanges.flatMap(\.participants) {
      participant.alias?.substitute { handle in substitutes[ObjectIdentifier(handle.node)] ?? handle }
    }
  }
}
