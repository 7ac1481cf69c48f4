/// Finds the links that a unit of work adds to one store and removes from it.
struct LinkGatherer {
  let store: any PersistentStore
  private let permanentIDs: PermanentIDs
  private var links = LinkChanges()
  /// Whether deny rules hold. Batch requests apply no delete rules.
  var obeysDeny = true
  /// The records that the save deletes: a list without an inverse may still have them.
  private var deleted: Set<ManagedObjectID> = []
  /// Reads with its own lease: a second reader would wait for a connection while the unit of work holds one.
  private let context: ManagedObjectContext
  /// The members of ordered lists that a conflict was resolved for, by owner; other lists are those of the objects.
  private let members: [ManagedObjectID: [RelationshipDescription: [ManagedObjectID]]]

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
  /// - Parameter discarded: Records whose changes the save discards, on the other side of a link too.
  /// - Throws: ``ErrorCode/danglingReference``, ``ErrorCode/relationshipCrossesStores``, ``ErrorCode/deleteDenied``, and
  ///   errors of the store.
  func links(of unit: UnitOfWork, without discarded: [DiscardedChange] = []) throws -> LinkChanges {
    var gatherer = self
    try gatherer.gather(unit, discarded)
    return gatherer.links
  }

  private mutating func gather(_ unit: UnitOfWork, _ discarded: [DiscardedChange]) throws {
    let deletes = unit.deletes
    deleted = Set(deletes.map(\.id))
    for change in unit.kept { try gatherMembers(change) }
    for change in discarded {
      links.discard(linksOf: change.record.permanentID, change.record.entity, isDeleted: change.storeRow == nil)
    }
    // A deleted record takes its links along, also those from the other ends.
    try gatherDeletes(deletes)
  }

  private mutating func gatherMembers(_ change: RecordChange) throws {
    guard change.hasMembers else { return }
    for (relationship, changes) in change.record.members where !changes.isEmpty {
      links.note(relationship, of: change.id)
      guard case .links(let table, let isForward) = relationship.storage else { continue }
      // A link removed and added again keeps its place in the other side's list.
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

  private mutating func add(_ link: Link, to table: LinkTable, _ member: ManagedObjectID) throws {
    if !deleted.isEmpty, deleted.contains(member) { return }
    guard let home = member.storeIdentifier else {
      throw CoherenceError(
        .danglingReference, "'\(table.forward.name)' has a member that a parent context has not saved; save it first.")
    }
    guard home == store.identifier else {
      throw CoherenceError(
        .relationshipCrossesStores, "'\(table.forward.name)' would link objects of two stores; keep both in one store.")
    }
    links.add(link, to: table)
  }

  /// Writes the places of members added behind the others, or of all members: finding out which of them changed would
  /// cost a read.
  private mutating func gatherOrder(
    of relationship: RelationshipDescription, _ change: RecordChange, _ table: LinkTable, _ isForward: Bool
  ) throws {
    let merged = members[change.id]?[relationship]
    // A restored owner has lost its links.
    if merged == nil, change.kind != .inserted, let changes = change.record.members[relationship], changes.keepsPlaces,
      let first = ListPlaces.first(behindVersion: change.record.base?.version)
    {
      return try place(changes.added.map { permanentIDs[$0] }, of: change, from: first, table, isForward)
    }
    guard let owner = change.record.object else { return }
    let ids = try merged ?? owner.memberIDs(of: relationship).map { permanentIDs[$0] }
    try place(ids, of: change, from: 0, table, isForward)
  }

  private mutating func place(
    _ ids: [ManagedObjectID], of change: RecordChange, from first: Int64, _ table: LinkTable, _ isForward: Bool
  ) throws {
    for (id, place) in zip(ids, first...) {
      var link = link(change.id, id, isForward)
      // The other side's place belongs to other lists, and stays as it is.
      if isForward { link.sourcePosition = place } else { link.targetPosition = place }
      try add(link, to: table, id)
    }
  }

  /// Deleted records take their links along, also those of relationships that the records do not know of. Each side of
  /// a table is read once for all of them.
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

  /// Refuses deletes of records with members under a deny rule. The context has looked at the members known to it;
  /// these are the store's present members.
  private func checkDeny(_ stored: [Link], _ table: LinkTable, fromSource: Bool, _ deletes: [RecordChange]) throws {
    guard obeysDeny, !stored.isEmpty, let relationship = fromSource ? table.forward : table.forward.inverse,
      relationship.deleteRule == .deny
    else { return }
    let gone = Set(deletes.filter { $0.entity.isKind(of: relationship.destination) }.map(\.id.key))
    let owners = Dictionary(
      deletes.lazy.filter { $0.entity.isKind(of: relationship.entity) }.map { ($0.id.key, $0) },
      uniquingKeysWith: { first, _ in first })
    let space = store.spaces[relationship.destination]
    var denied: [ManagedObjectID: RecordChange] = [:]
    for link in stored where !links.removes(link, from: table) {
      let (key, member) = fromSource ? (link.source, link.target) : (link.target, link.source)
      guard !gone.contains(member), let owner = owners[key] else { continue }
      let isRemoved = owner.record.members[relationship]?.contains(ManagedObjectID(space: space, key: member)) == false
      if !isRemoved { denied[owner.id] = owner }
    }
    guard !denied.isEmpty else { return }
    throw CoherenceError.deleteDenied(
      denied.values.map { ValidationFailure(denying: $0.id, $0.entity, by: relationship) })
  }

  private mutating func storedLinks(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    try context.reader(for: store).links(table, of: keys, fromSource: fromSource)
  }
}
