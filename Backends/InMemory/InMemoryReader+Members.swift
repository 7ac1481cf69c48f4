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
    if let rows = try firstMembers(query) { return rows }
    let members = try matchingMembers(query)
    guard !query.query.sortKeys.isEmpty else { return Array(query.query.range(of: members)) }
    return try sorted(members, for: query.query)
  }

  /// The members that satisfy a query's predicate, in the relationship's order.
  fileprivate func matchingMembers(_ query: MemberQuery) throws -> [Row] {
    let predicate = try query.query.predicate.map { try PreparedPredicate($0, for: query.query.entity) }
    let members = try namedMembers(query) ?? listedMembers(query)
    return try filter(members, entities: query.query.entities, predicate: predicate)
  }

  /// The members of a query's range without a condition and without an order; `nil` for other queries.
  ///
  /// The keys are compared before any row is read, so that the first member of a long list costs one row.
  private func firstMembers(_ query: MemberQuery) throws -> [Row]? {
    let (relationship, members) = (query.relationship, query.query)
    guard !relationship.isOrdered, members.predicate == nil, members.sortKeys.isEmpty, let end = members.rangeEnd else {
      return nil
    }
    let (root, entities) = (relationship.destination.root, members.entities)
    let rows = try keys(of: query).sorted(prefix: end) { $0 < $1 }.compactMap { row($0, of: root) }
    // Members of other entities do not count, so that the range may end behind the read rows.
    guard rows.allSatisfy({ row in entities.contains { $0 === row.entity } }) else { return nil }
    return Array(members.range(of: rows))
  }

  /// The members among the records that a query's predicate names. A look-up of one member then reads one row, and not
  /// the rows of all members.
  ///
  /// `nil` if the predicate names no record, or more records than the owner has members. Also `nil` for several records
  /// of an ordered relationship, because the rows do not have the order.
  private func namedMembers(_ query: MemberQuery) throws -> [Row]? {
    let relationship = query.relationship
    guard let predicate = query.query.predicate, let named = namedKeys(in: predicate, of: query.query.entity),
      named.count < 2 || !relationship.isOrdered,
      named.count <= memberCount(of: relationship, owner: query.owner)
    else { return nil }
    let root = relationship.destination.root
    return try named.sorted().filter { try isMember($0, query) }.compactMap { row($0, of: root) }
  }

  /// Whether a record is a member of the owner.
  private func isMember(_ key: Int64, _ query: MemberQuery) throws -> Bool {
    switch query.relationship.storage {
    case .column: return false
    case .inverseColumn(let inverse, _):
      let referring: TreeSet<Int64> = referrers(to: query.owner, by: inverse)
      return referring.contains(key)
    case .links(let table, let isForward):
      let links = try links(of: table)
      return isForward
        ? links.contains(source: query.owner, target: key) : links.contains(source: key, target: query.owner)
    }
  }

  /// The keys of the members of an owner, in no order.
  private func keys(of query: MemberQuery) throws -> [Int64] {
    switch query.relationship.storage {
    case .column: return []
    case .inverseColumn(let inverse, _):
      let referring: TreeSet<Int64> = referrers(to: query.owner, by: inverse)
      return Array(referring)
    case .links(let table, let isForward):
      let links = try links(of: table)
      return isForward ? Array(links.targets(of: query.owner)) : Array(links.sources(of: query.owner))
    }
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
