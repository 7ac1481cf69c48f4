/// The properties that determine which records a request finds, and in which order.
///
/// A change of any other property cannot change the result. After a change of a property of the dependencies, they
/// determine the fetched records to evaluate again.
struct ResultDependencies: Sendable {
  /// The slots of the fetched records.
  private(set) var own = SlotSet()
  /// The slots of records behind to-one relationships.
  private(set) var paths: [Path] = []
  /// The slots of members of the fetched records' to-many relationships. The rows of these members refer to their
  /// owner.
  private(set) var members: [Members] = []
  /// The slots of all other related records, by the roots of their hierarchies. The dependent fetched records are not
  /// known after a change of such a slot, so that the request is run again.
  private(set) var rerunConditions: [RerunCondition] = []
  /// The to-many relationships with links in a table.
  private(set) var links: Set<RelationshipDescription> = []
  /// The relationships with links in a table that do not begin at the fetched records.
  private(set) var farLinks: Set<RelationshipDescription> = []

  /// A path of to-one relationships from the fetched records, and the slots that the request reads at its end.
  struct Path: Sendable {
    /// The relationships from the fetched record to the record with the slots.
    let steps: [RelationshipDescription]
    let root: EntityDescription
    var slots = SlotSet()
  }

  /// A to-many relationship of the fetched records, and the slots that the request reads in its members.
  struct Members: Sendable {
    let relationship: RelationshipDescription
    /// The slot of the owner in the rows of members.
    let ownerSlot: Int
    let root: EntityDescription
    var slots = SlotSet()
  }

  /// The slots of a hierarchy after whose change the request is run again.
  struct RerunCondition: Sendable {
    let root: EntityDescription
    var slots = SlotSet()
    /// Whether an inserted record may become a member of a list.
    var countsInserts = false

    func mayBeChanged(by record: StoreChanges.Record) -> Bool {
      record.entity.root === root && slots.mayBeChanged(by: record, orMembership: countsInserts)
    }
  }

  /// The way from the fetched record to a record from which a path begins.
  private enum Position {
    /// The fetched record itself.
    case own
    /// The end of a path of to-one relationships.
    case path([RelationshipDescription])
    /// A member of the fetched record.
    case member(RelationshipDescription)
    /// Any other record, with the root of its hierarchy.
    case other(EntityDescription)
  }

  /// The record of a condition.
  private struct Subject {
    let position: Position
    let entity: EntityDescription
  }

  /// Collects the dependencies of a request's predicate and order.
  ///
  /// - Throws: As ``ResolvedPath/init(_:from:)``.
  init(_ predicate: FetchPredicate?, _ sortKeys: [SortKey], of entity: EntityDescription) throws(CoherenceError) {
    let own = [Subject(position: .own, entity: entity)]
    if let predicate { try add(predicate, own) }
    for key in sortKeys { try add(key.path, own) }
  }

  // MARK: Collecting

  /// - Parameter subjects: The records of the conditions, from the outermost to the innermost.
  private mutating func add(_ predicate: FetchPredicate, _ subjects: [Subject]) throws(CoherenceError) {
    switch predicate {
    case .constant: return
    case .comparison(let left, _, let right, _):
      for expression in [left, right] { try add(expression, subjects) }
    case .membership(let expression, _, _), .list(let expression, _, _, _):
      try add(expression, subjects)
    case .between(let value, let lower, let upper):
      for expression in [value, lower, upper] { try add(expression, subjects) }
    case .and(let parts), .or(let parts):
      for part in parts { try add(part, subjects) }
    case .not(let part): try add(part, subjects)
    case .quantified(_, let path, let part):
      guard let (relationship, member) = try add(path, subjects) else { return }
      try add(part, subjects + [Subject(position: member, entity: relationship.destination)])
    }
  }

  private mutating func add(_ expression: FetchExpression, _ subjects: [Subject]) throws(CoherenceError) {
    switch expression {
    case .value, .variable: return
    case .path(let path), .count(let path): try add(path, subjects)
    case .arithmetic(_, let left, let right):
      for operand in [left, right] { try add(operand, subjects) }
    case .subquery(let path, let condition):
      guard let (relationship, member) = try add(path, subjects) else { return }
      try add(condition, subjects + [Subject(position: member, entity: relationship.destination)])
    }
  }

  /// Adds the relationships on a path and its target.
  ///
  /// - Returns: The to-many relationship at the end of the path, with the position of its members; `nil` for another
  ///   end.
  @discardableResult
  private mutating func add(
    _ path: PropertyPath, _ subjects: [Subject]
  ) throws(CoherenceError) -> (RelationshipDescription, Position)? {
    let subject = subjects[max(0, subjects.count - 1 - path.outerLevel)]
    return add(try ResolvedPath(path, from: subject.entity), subject.position)
  }

  @discardableResult
  private mutating func add(_ resolved: ResolvedPath, _ start: Position) -> (RelationshipDescription, Position)? {
    var position = start
    for step in resolved.steps {
      note(step.slot, at: position)
      switch position {
      case .own: position = .path([step])
      case .path(let steps): position = .path(steps + [step])
      case .member, .other: position = .other(step.destination.root)
      }
    }
    switch resolved.target {
    case .identity: note(nil, at: position)
    case .attribute(let attribute): note(attribute.slot, at: position)
    case .toOne(let relationship): note(relationship.slot, at: position)
    case .toMany(let relationship):
      note(nil, at: position)
      return (relationship, follow(relationship, from: position))
    case .aggregate(let aggregate):
      note(nil, at: position)
      let members = follow(aggregate.relationship, from: position)
      if let operand = aggregate.operand { add(operand, members) }
    }
    return nil
  }

  /// Adds the members of a to-many relationship.
  ///
  /// - Returns: The position of the members.
  private mutating func follow(_ relationship: RelationshipDescription, from position: Position) -> Position {
    let root = relationship.destination.root
    guard case .inverseColumn(let inverse, _) = relationship.storage, let slot = inverse.slot else {
      links.insert(relationship)
      if case .own = position {} else { farLinks.insert(relationship) }
      // An inserted record becomes a member only by a link, so that inserts need no attention.
      addRerunCondition(nil, root)
      return .other(root)
    }
    guard case .own = position else {
      addRerunCondition(slot, root, countsInserts: true)
      return .other(root)
    }
    if !members.contains(where: { $0.relationship == relationship }) {
      members.append(Members(relationship: relationship, ownerSlot: slot, root: root))
    }
    note(slot, at: .member(relationship))
    return .member(relationship)
  }

  /// Adds a slot that the request reads in a record; `nil` for the record without a value. A delete of the record leaves
  /// references without a delete rule as they are, and the request then finds no record behind them.
  private mutating func note(_ slot: Int?, at position: Position) {
    switch position {
    case .own: if let slot { own.insert(slot) }
    case .path(let steps):
      guard let root = steps.last?.destination.root else { return }
      let index = paths.firstIndex { $0.steps == steps } ?? paths.count
      if index == paths.count { paths.append(Path(steps: steps, root: root)) }
      if let slot { paths[index].slots.insert(slot) }
    case .member(let relationship):
      guard let slot else { return }
      for index in members.indices where members[index].relationship == relationship {
        members[index].slots.insert(slot)
      }
    case .other(let root): addRerunCondition(slot, root)
    }
  }

  private mutating func addRerunCondition(_ slot: Int?, _ root: EntityDescription, countsInserts: Bool = false) {
    let index = rerunConditions.firstIndex { $0.root === root } ?? rerunConditions.count
    if index == rerunConditions.count { rerunConditions.append(RerunCondition(root: root)) }
    if countsInserts { rerunConditions[index].countsInserts = true }
    if let slot { rerunConditions[index].slots.insert(slot) }
  }

  // MARK: Questions

  /// The roots of the hierarchies of related records whose changes may change the result.
  var roots: Set<ObjectIdentifier> {
    let all = paths.map(\.root) + members.map(\.root) + rerunConditions.map(\.root) + links.map(\.entity.root)
    return Set(all.map { ObjectIdentifier($0) })
  }

  /// Whether a change of a related record can change the result.
  func concern(_ record: StoreChanges.Record) -> Bool {
    let root = record.entity.root
    return paths.contains { $0.root === root && $0.slots.mayBeChanged(by: record) }
      || members.contains { $0.root === root && $0.slots.mayBeChanged(by: record, orMembership: true) }
      || rerunConditions.contains { $0.mayBeChanged(by: record) }
  }

  /// Whether unsaved changes of related records of a hierarchy can change the result.
  func concern(_ root: EntityDescription) -> Bool {
    paths.contains { $0.root === root } || members.contains { $0.root === root }
      || rerunConditions.contains { $0.root === root }
  }
}

extension SlotSet {
  /// Whether a change of a record may change the value of one of the slots.
  ///
  /// - Parameter orMembership: Whether an inserted record may be a new member, so that inserts count too.
  func mayBeChanged(by record: StoreChanges.Record, orMembership: Bool = false) -> Bool {
    switch record.kind {
    case .inserted: return orMembership || record.isRestored
    case .deleted: return true
    case .updated: return record.slots.map { slots in slots.contains { self.contains($0) } } ?? true
    }
  }
}
