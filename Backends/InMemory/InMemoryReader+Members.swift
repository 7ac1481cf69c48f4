import CoherenceCore
import HashTreeCollections

extension InMemoryReader: MemberReading {
  func fetchMembers(_ query: MemberQuery) throws -> StoreFetch? {
    StoreFetch(
      isPredicateExact: true, isOrderExact: true, isRangeExact: true, cursor: cursor(try state().members(query)))
  }

  func countMembers(_ query: MemberQuery) throws -> Int? { try state().matchingMembers(query).count }

  func memberCounts(of relationship: RelationshipDescription, owners: [Int64]) throws -> [Int64: Int] {
    let state = try state()
    var counts: [Int64: Int] = [:]
    for owner in owners { counts[owner] = state.memberCount(of: relationship, owner: owner) }
    return counts
  }
}

extension InMemoryState {
  /// The members that a query asks for, in its order or the relationship's, its limit and offset applied.
  fileprivate func members(_ query: MemberQuery) throws -> [Row] {
    let members = try matchingMembers(query)
    guard !query.query.sortKeys.isEmpty else { return Array(query.query.range(of: members)) }
    return try sorted(members, for: query.query)
  }

  /// The members that satisfy a query's predicate, in the relationship's order.
  fileprivate func matchingMembers(_ query: MemberQuery) throws -> [Row] {
    let predicate = try query.query.predicate.map { try PreparedPredicate($0, for: query.query.entity) }
    return try filter(listedMembers(query), entities: query.query.entities, predicate: predicate)
  }

  /// The members of an owner, in the relationship's order.
  private func listedMembers(_ query: MemberQuery) throws -> [Row] {
    let root = query.relationship.destination.root
    switch query.relationship.storage {
    case .column: return []
    case .inverseColumn(let inverse, let positionSlot):
      let rows = referrers(to: query.owner, by: inverse).compactMap { row($0, of: root) }
      guard let positionSlot else { return rows.sorted { $0.key < $1.key } }
      func position(_ row: Row) -> Int64 { if case .int(let number) = row[positionSlot] { number } else { .min } }
      return rows.map { (position($0), $0) }.sorted { ($0.0, $0.1.key) < ($1.0, $1.1.key) }.map(\.1)
    case .links(let table, let isForward):
      let links = try links(of: table).ordered(of: [query.owner], fromSource: isForward)
      let rows = links.compactMap { row(isForward ? $0.target : $0.source, of: root) }
      return query.relationship.isOrdered ? rows : rows.sorted { $0.key < $1.key }
    }
  }
}
