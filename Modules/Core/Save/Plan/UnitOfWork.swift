/// What one save wants to change in one store, as values.
struct UnitOfWork {
  private(set) var inserts = ChangesByEntity()
  private(set) var updates: [RecordChange] = []
  private(set) var deletes = ChangesByEntity()
  var links = LinkChanges()

  /// Everything but the deletes.
  var kept: [RecordChange] {
    let inserts = inserts.all
    return updates.isEmpty ? inserts : inserts + updates
  }
  var changes: [RecordChange] { deletes.groups.isEmpty ? kept : kept + deletes.all }

  mutating func append(_ change: RecordChange) {
    switch change.kind {
    case .inserted: inserts.append(change, writing: change.row)
    case .updated: updates.append(change)
    case .deleted: deletes.append(change, writing: nil)
    }
  }
}

/// Changes of one kind by entity, each group in the order in which its changes came.
struct ChangesByEntity {
  struct Group {
    let entity: EntityDescription
    fileprivate(set) var changes: [RecordChange] = []
    /// What the changes write, in the same order.
    fileprivate(set) var rows: [Row] = []
  }

  private(set) var groups: [Group] = []
  private var places: [ObjectIdentifier: Int] = [:]
  // Most saves change many records of one entity in a row.
  private var last: (entity: ObjectIdentifier, place: Int)?

  var all: [RecordChange] { groups.count == 1 ? groups[0].changes : groups.flatMap(\.changes) }

  mutating func append(_ change: RecordChange, writing row: Row?) {
    let place = place(of: change.entity)
    groups[place].changes.append(change)
    if let row { groups[place].rows.append(row) }
  }

  private mutating func place(of entity: EntityDescription) -> Int {
    let key = ObjectIdentifier(entity)
    if let last, last.entity == key { return last.place }
    let place = places[key] ?? groups.count
    if place == groups.count {
      places[key] = place
      groups.append(Group(entity: entity))
    }
    last = (key, place)
    return place
  }
}

/// The links to add and remove, each once, whichever side asked for it.
struct LinkChanges {
  private(set) var added: [LinkTable: [LinkEnds: Link]] = [:]
  private(set) var removed: [LinkTable: Set<LinkEnds>] = [:]
  /// The relationships whose members change, by owner.
  private(set) var owners: [ManagedObjectID: Set<RelationshipDescription>] = [:]

  struct LinkEnds: Hashable {
    let source: Int64
    let target: Int64
  }

  var isEmpty: Bool { added.isEmpty && removed.isEmpty }

  mutating func add(_ link: Link, to table: LinkTable) {
    let ends = LinkEnds(source: link.source, target: link.target)
    var merged = added[table]?[ends] ?? link
    merged.sourcePosition = link.sourcePosition ?? merged.sourcePosition
    merged.targetPosition = link.targetPosition ?? merged.targetPosition
    added[table, default: [:]][ends] = merged
  }

  mutating func remove(_ link: Link, from table: LinkTable) {
    removed[table, default: []].insert(LinkEnds(source: link.source, target: link.target))
  }

  /// Whether the link is to be removed.
  func removes(_ link: Link, from table: LinkTable) -> Bool {
    removed[table]?.contains(LinkEnds(source: link.source, target: link.target)) == true
  }

  mutating func note(_ relationship: RelationshipDescription, of owner: ManagedObjectID) {
    owners[owner, default: []].insert(relationship)
  }

  /// Leaves out the links of a record whose changes are given up: those of its own relationships, and all of them when the
  /// record is gone.
  mutating func leaveOut(_ surrender: CommittedRows.Surrender) {
    let (entity, key) = (surrender.record.entity, surrender.record.permanentID.key)
    let isGone = surrender.storeRow == nil
    owners[surrender.record.permanentID] = nil
    for table in Set(added.keys).union(removed.keys) {
      let isSource = entity.isKind(of: table.forward.entity)
      let isSymmetric = table.forward.inverse === table.forward
      let isTarget =
        entity.isKind(of: table.forward.destination) && (isGone || table.backward != nil || isSymmetric)
      func concerns(_ ends: LinkEnds) -> Bool {
        (isSource && ends.source == key) || (isTarget && ends.target == key)
      }
      added[table] = added[table]?.filter { !concerns($0.key) }
      removed[table] = removed[table]?.filter { !concerns($0) }
    }
  }

  var unlinkSteps: [SaveStep] {
    removed.filter { !$0.value.isEmpty }.sorted { $0.key.name < $1.key.name }.map { table, ends in
      .unlink(table, ends.map { Link(source: $0.source, target: $0.target) }.sorted(by: Self.precedes))
    }
  }

  var linkSteps: [SaveStep] {
    added.filter { !$0.value.isEmpty }.sorted { $0.key.name < $1.key.name }.map { table, links in
      .link(table, links.values.sorted(by: Self.precedes))
    }
  }

  private static func precedes(_ left: Link, _ right: Link) -> Bool {
    (left.source, left.target) < (right.source, right.target)
  }
}
