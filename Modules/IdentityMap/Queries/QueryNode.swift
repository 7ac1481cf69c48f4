/// The entities of a type that satisfy a condition, in an order, kept up to date.
final class QueryNode<T: Identifiable & Sendable>: ValueNode<[T]> {
  typealias Order = @Sendable (T, T) -> Bool

  private let matches: @Sendable (T) -> Bool
  private let precedes: Order?
  private var members: [EntityNode<T>] = []
  private var identities: Set<ObjectIdentifier> = []
  /// It began in a transaction that may still be undone.
  var isNew = false

  /// An entity that may belong to the result, or may not any more.
  struct Note {
    let node: EntityNode<T>
    /// Its value is another one. If not, it only matters when it comes or goes.
    let isChanged: Bool
  }

  init(where matches: @escaping @Sendable (T) -> Bool, sort precedes: Order?, core: StoreCore) {
    self.matches = matches
    self.precedes = precedes
    super.init(core: core)
  }

  /// What an observer is told comes after what it is made of.
  override var heightAmongChanges: Int32 { .max }

  override func read() -> [T] {
    // In a transaction, what the transaction has done is settled at its end only.
    let noted = core.table(of: T.self).allNotes
    let members = noted.isEmpty ? members : settled(noted)?.members ?? members
    return members.map { $0.read() }
  }

  /// Looks at entities that may belong to the result, or may not any more. The cost is that of the result once and of
  /// the entities, not that of the type.
  func settle(_ noted: [Note]) {
    guard let settled = settled(noted) else { return }
    members = settled.members
    identities.subtract(settled.met)
    identities.formUnion(settled.belonging.map(ObjectIdentifier.init))
    tell()
  }

  /// Looks at all entities anew.
  func redo(over nodes: [EntityNode<T>]) {
    let former = members
    (members, identities) = ([], [])
    members = settled(nodes.map { Note(node: $0, isChanged: true) })?.members ?? []
    identities = Set(members.map(ObjectIdentifier.init))
    if !members.elementsEqual(former, by: ===) { tell() }
  }

  private func tell() {
    version &+= 1
    if isWatched { core.enqueue(self) }
  }

  /// The result after entities were noted.
  private struct Settled {
    let members: [EntityNode<T>]
    /// Those that had to be looked at.
    let met: Set<ObjectIdentifier>
    /// Those of them that belong to the result.
    let belonging: [EntityNode<T>]
  }

  /// - Returns: `nil` when nothing is to be told.
  private func settled(_ noted: [Note]) -> Settled? {
    var changed: [ObjectIdentifier: Bool] = [:]
    for note in noted { changed.merge([ObjectIdentifier(note.node): note.isChanged]) { $0 || $1 } }
    var (met, belonging): (Set<ObjectIdentifier>, [EntityNode<T>]) = ([], [])
    for node in noted.map(\.node) {
      let identity = ObjectIdentifier(node)
      guard let isChanged = changed.removeValue(forKey: identity) else { continue }
      let belongs = !node.isVacant && !node.flags.contains(.gone) && matches(node.read())
      guard isChanged || belongs != identities.contains(identity) else { continue }
      met.insert(identity)
      if belongs { belonging.append(node) }
    }
    guard !belonging.isEmpty || !identities.isDisjoint(with: met) else { return nil }
    return Settled(members: merged(belonging, met), met: met, belonging: belonging)
  }

  private func merged(_ belonging: [EntityNode<T>], _ met: Set<ObjectIdentifier>) -> [EntityNode<T>] {
    if let precedes { return insert(belonging, into: members.filter { !met.contains(ObjectIdentifier($0)) }, precedes) }
    let staying = Set(belonging.map(ObjectIdentifier.init))
    return members.filter { !met.contains(ObjectIdentifier($0)) || staying.contains(ObjectIdentifier($0)) }
      + belonging.filter { !identities.contains(ObjectIdentifier($0)) }
  }

  /// Puts nodes where they belong, behind those that they do not come before.
  private func insert(
    _ nodes: [EntityNode<T>], into members: [EntityNode<T>], _ precedes: Order
  ) -> [EntityNode<T>] {
    if nodes.count > 16 + members.count / 16 {
      let values = (members + nodes).map { (node: $0, value: $0.read()) }
      return values.sorted { precedes($0.value, $1.value) }.map(\.node)
    }
    var members = members
    for node in nodes {
      let value = node.read()
      var (low, high) = (0, members.count)
      while low < high {
        let middle = (low + high) / 2
        if precedes(value, members[middle].read()) { high = middle } else { low = middle + 1 }
      }
      members.insert(node, at: low)
    }
    return members
  }

  override func leaveTable() {
    core.table(of: T.self).end(self)
  }

  override var label: String { "query over \(T.self)" }
}

extension EntityTable {
  func begin(_ query: QueryNode<T>) {
    if queries.isEmpty { core.tables.withQueries.append(self) }
    queries.append(query)
    query.isNew = core.journal != nil
    index.forEach { $0.flags.insert(.queried) }
    query.settle(present.map { .init(node: $0, isChanged: true) })
    core.loosen(query)
  }

  func end(_ query: QueryNode<T>) {
    queries.removeAll { $0 === query }
    guard queries.isEmpty else { return }
    core.tables.withQueries.removeAll { $0 === self }
    notedForQueries = []
    index.forEach { $0.flags.remove(.queried) }
  }

  func noteForQueries(_ node: EntityNode<T>, isChanged: Bool) {
    notedForQueries.append(.init(node: node, isChanged: isChanged))
  }

  /// What the queries will have to look at when the transaction ends.
  fileprivate var allNotes: [QueryNode<T>.Note] {
    notedForQueries
      + core.changed.compactMap { node in
        guard node.flags.contains(.queried) else { return nil }
        return (node as? EntityNode<T>).map { .init(node: $0, isChanged: true) }
      }
  }
}

extension EntityStore {
  /// The entities of a type that satisfy a condition, in an order, which can be followed: when entities come, change or
  /// go, observers get the new list. The query does not keep the entities; the policy of their type can.
  /// - Parameters:
  ///   - condition: Runs under the store's lock, once for each entity and again for each that changes.
  ///   - order: Whether the first comes before the second. Without it, the order is that in which they matched.
  public func query<T: Identifiable & Sendable>(
    _ type: T.Type, where condition: @escaping @Sendable (T) -> Bool = { _ in true },
    sort order: (@Sendable (T, T) -> Bool)? = nil
  ) -> EntityObserver<[T]> {
    core.exclusively {
      let query = QueryNode(where: condition, sort: order, core: core)
      let table = core.table(of: type)
      table.noteSearch()
      table.begin(query)
      return EntityObserver(query)
    }
  }

  /// The entities of a type that satisfy a condition, sorted by a property.
  public func query<T: Identifiable & Sendable, V: Comparable & Sendable>(
    _ type: T.Type, where condition: @escaping @Sendable (T) -> Bool = { _ in true },
    sortedBy property: any KeyPath<T, V> & Sendable
  ) -> EntityObserver<[T]> {
    query(type, where: condition, sort: { $0[keyPath: property] < $1[keyPath: property] })
  }
}
