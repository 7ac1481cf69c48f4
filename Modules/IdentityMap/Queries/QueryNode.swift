/// The entities of a type that satisfy a condition, in an order, kept up to date.
final class QueryNode<T: Identifiable & Sendable>: ValueNode<[T]> {
  typealias Order = @Sendable (T, T) -> Bool

  private let matches: @Sendable (T) -> Bool
  private let precedes: Order?
  private var members: [EntityNode<T>] = []
  private var identities: Set<ObjectIdentifier> = []

  init(where matches: @escaping @Sendable (T) -> Bool, sort precedes: Order?, core: StoreCore) {
    self.matches = matches
    self.precedes = precedes
    super.init(core: core)
  }

  override func read() -> [T] {
    members.map { $0.read() }
  }

  /// Looks at entities that may belong to the result, or may not any more. The cost is that of the result once and of
  /// the entities, not that of the type.
  func settle(_ noted: [EntityNode<T>]) {
    var met: Set<ObjectIdentifier> = []
    let noted = noted.filter { met.insert(ObjectIdentifier($0)).inserted }
    let belonging = noted.filter { !$0.isVacant && !$0.flags.contains(.gone) && matches($0.read()) }
    let isOther = !belonging.isEmpty || !identities.isDisjoint(with: met)
    guard isOther else { return }
    if let precedes {
      members.removeAll { met.contains(ObjectIdentifier($0)) }
      insert(belonging, precedes)
    } else {
      let staying = Set(belonging.map(ObjectIdentifier.init))
      members.removeAll { met.contains(ObjectIdentifier($0)) && !staying.contains(ObjectIdentifier($0)) }
      members += belonging.filter { !identities.contains(ObjectIdentifier($0)) }
    }
    identities.subtract(met)
    identities.formUnion(belonging.map(ObjectIdentifier.init))
    version &+= 1
    if isWatched { core.enqueue(self) }
  }

  /// Puts nodes where they belong, behind those that they do not come before.
  private func insert(_ nodes: [EntityNode<T>], _ precedes: Order) {
    if nodes.count > 16 + members.count / 16 {
      let values = (members + nodes).map { (node: $0, value: $0.read()) }
      members = values.sorted { precedes($0.value, $1.value) }.map(\.node)
      return
    }
    for node in nodes {
      let value = node.read()
      var (low, high) = (0, members.count)
      while low < high {
        let middle = (low + high) / 2
        if precedes(value, members[middle].read()) { high = middle } else { low = middle + 1 }
      }
      members.insert(node, at: low)
    }
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
    var known: [EntityNode<T>] = []
    index.forEach { node in
      node.flags.insert(.queried)
      if !node.isVacant { known.append(node) }
    }
    query.settle(known)
    core.loosen(query)
  }

  func end(_ query: QueryNode<T>) {
    queries.removeAll { $0 === query }
    guard queries.isEmpty else { return }
    core.tables.withQueries.removeAll { $0 === self }
    notedForQueries = []
    index.forEach { $0.flags.remove(.queried) }
  }

  func noteForQueries(_ node: EntityNode<T>) {
    notedForQueries.append(node)
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
      core.table(of: type).begin(query)
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
