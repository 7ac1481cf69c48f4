/// The entities of a type that satisfy a condition, in an order; updated at the end of each transaction.
final class QueryNode<T: Identifiable & Sendable>: ValueNode<[T]> {
  typealias Order = @Sendable (T, T) -> Bool

  private let matches: @Sendable (T) -> Bool
  private let precedes: Order?
  private var members: [EntityNode<T>] = []
  /// The identities of the members.
  private var identities: Set<ObjectIdentifier> = []
  /// Whether the running transaction has made the query. A rollback of the transaction evaluates such a query again.
  var isNew = false

  /// A candidate for entering, leaving or moving in the result.
  struct Candidate {
    let node: EntityNode<T>
    /// Whether the value has changed. If not, only entering and leaving matter.
    let isChanged: Bool
    /// Whether observers are notified of the change. If not, they are notified only when the members or their order
    /// change.
    var isReported = true
  }

  init(where matches: @escaping @Sendable (T) -> Bool, sort precedes: Order?, core: StoreCore) {
    self.matches = matches
    self.precedes = precedes
    super.init(core: core)
  }

  /// A query is delivered after its entities. Only snapshots contain queries.
  override var notificationOrder: Int32 { .max - 1 }

  override func read() -> [T] {
    // Within a transaction, the members do not include its changes yet.
    let candidates = core.table(of: T.self).pendingQueryCandidates
    let members = candidates.isEmpty ? members : evaluate(candidates)?.members ?? members
    return members.map { $0.read() }
  }

  /// Updates the result. The cost is linear in the result and the candidates, not in the number of entities of the
  /// type.
  func update(_ candidates: [Candidate]) {
    // Where no notification is needed, the members and their order are the same, and nothing has to be stored.
    guard let evaluation = evaluate(candidates), needsNotification(evaluation, of: candidates) else { return }
    members = evaluation.members
    identities.subtract(evaluation.evaluated)
    identities.formUnion(evaluation.matching.map(ObjectIdentifier.init))
    didChange()
  }

  /// Whether observers are notified: of a reported change, or of other members or another order.
  private func needsNotification(_ evaluation: Evaluation, of candidates: [Candidate]) -> Bool {
    let isReportedChange: (Candidate) -> Bool = {
      $0.isChanged && $0.isReported && evaluation.evaluated.contains(ObjectIdentifier($0.node))
    }
    if candidates.contains(where: isReportedChange) { return true }
    let matching = Set(evaluation.matching.map(ObjectIdentifier.init))
    if evaluation.evaluated.intersection(identities) != matching { return true }
    guard let precedes else { return false }
    // An unreported change of a member, which stays in the result, can move the member.
    let values = members.map { $0.read() }
    return zip(values, values.dropFirst()).contains { precedes($0.1, $0.0) }
  }

  /// Evaluates the query again for all entities, after a rollback of the transaction that made the query.
  func rerun(over nodes: [EntityNode<T>]) {
    let former = members
    (members, identities) = ([], [])
    members = evaluate(nodes.map { Candidate(node: $0, isChanged: true) })?.members ?? []
    identities = Set(members.map(ObjectIdentifier.init))
    if !members.elementsEqual(former, by: ===) { didChange() }
  }

  /// The result of the query after an evaluation of candidates.
  private struct Evaluation {
    /// The members of the new result, in its order.
    let members: [EntityNode<T>]
    /// The candidates with an effect on the result: with a changed value, or entering or leaving.
    let evaluated: Set<ObjectIdentifier>
    /// The evaluated candidates that satisfy the condition.
    let matching: [EntityNode<T>]
  }

  /// Evaluates the condition for candidates.
  /// - Returns: `nil` when the result is unchanged.
  private func evaluate(_ candidates: [Candidate]) -> Evaluation? {
    var changed: [ObjectIdentifier: Bool] = [:]
    for candidate in candidates {
      changed.merge([ObjectIdentifier(candidate.node): candidate.isChanged]) { $0 || $1 }
    }
    var (evaluated, matching): (Set<ObjectIdentifier>, [EntityNode<T>]) = ([], [])
    for node in candidates.map(\.node) {
      let identity = ObjectIdentifier(node)
      guard let isChanged = changed.removeValue(forKey: identity) else { continue }
      let isMember = !node.isAbsent && !node.flags.contains(.evicted) && matches(node.read())
      guard isChanged || isMember != identities.contains(identity) else { continue }
      evaluated.insert(identity)
      if isMember { matching.append(node) }
    }
    guard !matching.isEmpty || !identities.isDisjoint(with: evaluated) else { return nil }
    return Evaluation(
      members: newMembers(matching, among: evaluated), evaluated: evaluated, matching: matching)
  }

  /// Returns the members after an evaluation. Without an order, members keep their positions, and new ones come last.
  private func newMembers(
    _ matching: [EntityNode<T>], among evaluated: Set<ObjectIdentifier>
  ) -> [EntityNode<T>] {
    if let precedes {
      return insert(matching, into: members.filter { !evaluated.contains(ObjectIdentifier($0)) }, precedes)
    }
    let matchingIdentities = Set(matching.map(ObjectIdentifier.init))
    return members.filter {
      !evaluated.contains(ObjectIdentifier($0)) || matchingIdentities.contains(ObjectIdentifier($0))
    }
      + matching.filter { !identities.contains(ObjectIdentifier($0)) }
  }

  /// Inserts nodes in the order of the query, after equal ones.
  ///
  /// Most transactions insert few nodes into a long result, so a binary search finds the index of each. The result is
  /// made once, because an insertion into an array moves all later members.
  private func insert(
    _ nodes: [EntityNode<T>], into members: [EntityNode<T>], _ precedes: Order
  ) -> [EntityNode<T>] {
    var result: [EntityNode<T>] = []
    result.reserveCapacity(members.count + nodes.count)
    // The first member behind the nodes so far.
    var start = 0
    for (node, value) in nodes.map({ (node: $0, value: $0.read()) }).sorted(by: { precedes($0.value, $1.value) }) {
      var (low, high) = (start, members.count)
      while low < high {
        let middle = (low + high) / 2
        if precedes(value, members[middle].read()) { high = middle } else { low = middle + 1 }
      }
      result += members[start..<low]
      result.append(node)
      start = low
    }
    return result + members[start...]
  }

  override func removeFromTable() {
    core.table(of: T.self).unregister(self)
  }

  override var label: String { "query over \(T.self)" }
}
