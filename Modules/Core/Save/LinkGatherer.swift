/// Collects the link changes of one store's unit of work.
struct LinkGatherer {
  let store: any PersistentStore
  /// The identifier that a record will have after the save.
  let permanentID: (ManagedObjectID) -> ManagedObjectID
  private(set) var links = LinkChanges()
  /// Reads with its own lease: a second reader would wait for a connection while the unit of work holds one.
  private let context: ManagedObjectContext
  /// The members of ordered lists that a conflict was resolved for, by owner; other lists are those of the objects.
  private let members: [ManagedObjectID: [RelationshipDescription: [ManagedObjectID]]]

  init(
    store: any PersistentStore, context: ManagedObjectContext,
    members: [ManagedObjectID: [RelationshipDescription: [ManagedObjectID]]] = [:],
    permanentID: @escaping (ManagedObjectID) -> ManagedObjectID
  ) {
    self.store = store
    self.context = context
    self.members = members
    self.permanentID = permanentID
  }

  /// Collects what the changes mean for links. Called once.
  ///
  /// - Parameter surrendered: Records whose changes are given up, on the other side of a link too.
  mutating func gather(_ unit: UnitOfWork, without surrendered: [CommittedRows.Surrender] = []) throws {
    for change in unit.kept { try gatherMembers(change) }
    for surrender in surrendered { links.leaveOut(surrender) }
    // A record that goes takes its links along, whoever is at the other end.
    try gatherDeletes(unit.deletes.all)
  }

  private mutating func gatherMembers(_ change: RecordChange) throws {
    guard change.hasMembers else { return }
    for (relationship, changes) in change.record.members where !changes.isEmpty {
      links.note(relationship, of: change.id)
      guard case .links(let table, let isForward) = relationship.storage else { continue }
      for id in changes.removed { links.remove(link(change.id, permanentID(id), isForward), from: table) }
      if relationship.isOrdered {
        try gatherOrder(of: relationship, change, table, isForward)
      } else {
        for id in changes.added { try add(link(change.id, permanentID(id), isForward), to: table, permanentID(id)) }
      }
    }
  }

  private func link(_ owner: ManagedObjectID, _ member: ManagedObjectID, _ isForward: Bool) -> Link {
    isForward ? Link(source: owner.key, target: member.key) : Link(source: member.key, target: owner.key)
  }

  private mutating func add(_ link: Link, to table: LinkTable, _ member: ManagedObjectID) throws {
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

  /// Writes the places of all members: finding out which of them changed would cost a read.
  private mutating func gatherOrder(
    of relationship: RelationshipDescription, _ change: RecordChange, _ table: LinkTable, _ isForward: Bool
  ) throws {
    guard let owner = change.record.object else { return }
    let ids = try members[change.id]?[relationship] ?? owner.memberIDs(of: relationship).map(permanentID)
    for (place, id) in ids.enumerated() {
      var link = link(change.id, id, isForward)
      // The other side's place belongs to other lists, and stays as it is.
      if isForward { link.sourcePosition = Int64(place) } else { link.targetPosition = Int64(place) }
      try add(link, to: table, id)
    }
  }

  /// Records that go take their links along, also those of relationships that they do not know of. Each side of a table
  /// is read once for all of them.
  private mutating func gatherDeletes(_ changes: [RecordChange]) throws {
    guard !changes.isEmpty else { return }
    for table in store.environment.linkTables {
      for isSource in [true, false] {
        let side = isSource ? table.forward.entity : table.forward.destination
        let keys = changes.filter { $0.entity.isKind(of: side) }.map(\.id.key)
        guard !keys.isEmpty else { continue }
        for link in try storedLinks(table, of: keys, fromSource: isSource) { links.remove(link, from: table) }
      }
    }
  }

  private mutating func storedLinks(_ table: LinkTable, of keys: [Int64], fromSource: Bool) throws -> [Link] {
    try context.reader(for: store).links(table, of: keys, fromSource: fromSource)
  }
}
