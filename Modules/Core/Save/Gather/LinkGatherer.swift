/// Finds the links that a unit of work adds to one store and removes from it.
struct LinkGatherer {
  let store: any PersistentStore
  private let permanentIDs: PermanentIDs
  private var links = LinkChanges()
  /// Whether a deny rule refuses a delete. Batch requests apply no delete rules.
  var obeysDeny = true
  /// The records that the save deletes. A list without an inverse may still contain them. Made for the first link to add.
  private lazy var deleted = Set(deletes.map(\.id))
  /// Reads through the context's lease, so that the unit of work holds one connection.
  private let context: ManagedObjectContext
  /// The members of ordered lists whose conflicts were resolved, by owner. The objects have the members of all other
  /// lists.
  private let members: [ManagedObjectID: [RelationshipDescription: [ManagedObjectID]]]
  /// The inserts and updates of the unit.
  private var changes: [RecordChange] = []
  /// The deletes of the unit.
  private var deletes: [RecordChange] = []
  /// The positions of the stored links of all owners with another order, by relationship, owner and member.
  private var knownPositions: [RelationshipDescription: [Int64: [Int64: StoredPosition]]] = [:]

  init(
    store: any PersistentStore, context: ManagedObjectContext,
    members: [ManagedObjectID: [RelationshipDescription: [ManagedObjectID]]] = [:],
    permanentIDs: PermanentIDs
  ) {
    self.store = store
    self.context = context
    self.members = members
    self.permanentIDs = permanentIDs
  }

  /// The links that the changes of a unit add and remove.
  ///
  /// - Parameter discarded: The records whose changes the merge policy discards. Their changes of links are dropped.
  /// - Throws: ``ErrorCode/danglingReference``, ``ErrorCode/relationshipCrossesStores``, ``ErrorCode/deleteDenied``,
  ///   and errors of the store.
  func links(of unit: UnitOfWork, without discarded: [DiscardedChange] = []) throws -> LinkChanges {
    var gatherer = self
    try gatherer.gather(unit, discarded)
    return gatherer.links
  }

  private mutating func gather(_ unit: UnitOfWork, _ discarded: [DiscardedChange]) throws {
    changes = unit.insertsAndUpdates
    deletes = unit.deletes
    for change in changes { try gatherMembers(change) }
    for change in discarded {
      links.discard(linksOf: change.record.permanentID, change.record.entity, isDeleted: change.storeRow == nil)
    }
    // Deletes follow the discarded changes, because a deleted record also loses links to records with discarded
    // changes.
    try gatherDeletes(deletes)
  }

  private mutating func gatherMembers(_ change: RecordChange) throws {
    guard change.hasMembers else { return }
    for (relationship, changes) in change.members where !changes.isEmpty {
      links.note(relationship, of: change.id)
      guard case .links(let table, let isForward) = relationship.storage else { continue }
      // A member removed and added again is no removal, so that the link keeps its position in the other side's list.
      for id in changes.removed where changes.contains(id) == false {
        links.remove(link(change.id, permanentIDs[id], isForward), from: table)
      }
      if relationship.isOrdered {
        try gatherOrder(of: relationship, change, table, isForward)
      } else {
        for id in changes.added { try add(link(change.id, permanentIDs[id], isForward), to: table, permanentIDs[id]) }
      }
    }
  }

  private func link(_ owner: ManagedObjectID, _ member: ManagedObjectID, _ isForward: Bool) -> Link {
    isForward ? Link(source: owner.key, target: member.key) : Link(source: member.key, target: owner.key)
  }

  /// Adds a link, unless the save deletes its member, or the member was discarded before its first save.
  ///
  /// - Throws: ``ErrorCode/danglingReference``, ``ErrorCode/relationshipCrossesStores``; ``ErrorCode/storeDetached`` for
  ///   a member of a detached store.
  private mutating func add(_ link: Link, to table: LinkTable, _ member: ManagedObjectID) throws {
    if !deletes.isEmpty, deleted.contains(member) { return }
    guard let home = member.storeIdentifier else {
      if context.wasNeverSaved(member) { return }
      throw CoherenceError(
        .danglingReference, "'\(table.forward.name)' has a member that a parent context has not saved; save it first.")
    }
    guard home == store.identifier else {
      _ = try context.coordinator().store(of: member)
      throw CoherenceError(
        .relationshipCrossesStores, "'\(table.forward.name)' would link objects of two stores; keep both in one store.")
    }
    links.add(link, to: table)
  }

  /// Adds the links of an ordered relationship with their positions. If the present members keep their positions, only
  /// the links of appended members are written, else the links of the members that move.
  private mutating func gatherOrder(
    of relationship: RelationshipDescription, _ change: RecordChange, _ table: LinkTable, _ isForward: Bool
  ) throws {
    if let first = firstAppendedPosition(of: relationship, change) {
      let added = change.members[relationship]?.added ?? []
      for (id, position) in zip(added, ListPositions.appended(added.count, from: first)) {
        try add(permanentIDs[id], at: position, of: change, table, isForward)
      }
      return
    }
    let merged = members[change.id]?[relationship]
    guard let owner = change.record.object else { return }
    let ids = try merged ?? owner.memberIDs(of: relationship).map { permanentIDs[$0] }
    let stored =
      change.kind == .inserted ? [:] : try storedPositions(of: change.id.key, relationship, table, isForward)
    let present = ids.map { stored[$0.key] ?? .new }
    let positions = ListPositions.arranged(
      present, in: ListPositions.range(atVersion: (change.base?.version ?? 0) &+ (change.isWritten ? 1 : 0)))
    for (index, id) in ids.enumerated() where present[index].differs(from: positions[index]) {
      try add(id, at: positions[index], of: change, table, isForward)
    }
  }

  /// Adds the link of a member. Its position in the other side's list stays as it is.
  private mutating func add(
    _ id: ManagedObjectID, at position: Int64?, of change: RecordChange, _ table: LinkTable, _ isForward: Bool
  ) throws {
    var link = link(change.id, id, isForward)
    if isForward { link.sourcePosition = position } else { link.targetPosition = position }
    try add(link, to: table, id)
  }

  /// The first position of added members, if the present members of an ordered list keep their positions; `nil` for
  /// another change of the list.
  private func firstAppendedPosition(of relationship: RelationshipDescription, _ change: RecordChange) -> Int64? {
    // A restored owner has lost its links.
    guard members[change.id]?[relationship] == nil, change.kind != .inserted,
      change.members[relationship]?.keepsPositions == true
    else { return nil }
    return ListPositions.first(behindVersion: change.record.base?.version)
  }

  /// The positions of an owner's links, by the member's key. The links of all owners with another order are read
  /// together.
  private mutating func storedPositions(
    of owner: Int64, _ relationship: RelationshipDescription, _ table: LinkTable, _ isForward: Bool
  ) throws -> [Int64: StoredPosition] {
    if let known = knownPositions[relationship] { return known[owner] ?? [:] }
    let owners = changes.filter { change in
      change.kind != .inserted && change.members[relationship]?.isEmpty == false
        && firstAppendedPosition(of: relationship, change) == nil
    }
    var result: [Int64: [Int64: StoredPosition]] = [:]
    for link in try storedLinks(table, of: owners.map(\.id.key), fromSource: isForward) {
      let (key, member) = isForward ? (link.source, link.target) : (link.target, link.source)
      let position = isForward ? link.sourcePosition : link.targetPosition
      result[key, default: [:]][member] = position.map(StoredPosition.at) ?? .missing(key: member)
    }
    knownPositions[relationship] = result
    return result[owner] ?? [:]
  }

  /// Removes all links of deleted records, including the links of relationships without an inverse at the deleted
  /// record. Each side of a table is read once for all records.
  private mutating func gatherDeletes(_ changes: [RecordChange]) throws {
    guard !changes.isEmpty else { return }
    for table in store.environment.linkTables {
      for isSource in [true, false] {
        let side = isSource ? table.forward.entity : table.forward.destination
        let keys = changes.filter { $0.entity.isKind(of: side) }.map(\.id.key)
        guard !keys.isEmpty else { continue }
        let stored = try storedLinks(table, of: keys, fromSource: isSource)
        try checkDeny(stored, table, fromSource: isSource, changes)
        for link in stored { links.remove(link, from: table) }
      }
    }
  }

  /// Throws for deleted records with members under a deny rule. The validation has checked the members that the context
  /// knows; this check finds members that other writers have added.
  private func checkDeny(_ stored: [Link], _ table: LinkTable, fromSource: Bool, _ deletes: [RecordChange]) throws {
    guard obeysDeny, !stored.isEmpty, let relationship = fromSource ? table.forward : table.forward.inverse,
      relationship.deleteRule == .deny
    else { return }
    let deletedKeys = Set(deletes.filter { $0.entity.isKind(of: relationship.destination) }.map(\.id.key))
    let owners = Dictionary(
      deletes.lazy.filter { $0.entity.isKind(of: relationship.entity) }.map { ($0.id.key, $0) },
      uniquingKeysWith: { first, _ in first })
    let space = store.spaces[relationship.destination]
    var denied: [ManagedObjectID: RecordChange] = [:]
    for link in stored where !links.removes(link, from: table) {
      let (key, member) = fromSource ? (link.source, link.target) : (link.target, link.source)
      guard !deletedKeys.contains(member), let owner = owners[key] else { continue }
      let isRemoved = owner.members[relationship]?.contains(ManagedObjectID(space: space, key: member)) == false
      if !isRemoved { denied[owner.id] = owner }
    }
    guard !denied.isEmpty else { return }
    throw CoherenceError.deleteDenied(
      denied.values.map { ValidationFailure(denying: $0.id, $0.entity, by: relationship) })
  }

  private func storedLinks(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    try context.reader(for: store).links(table, of: keys, fromSource: fromSource)
  }
}
