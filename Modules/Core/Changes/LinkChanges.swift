/// The links that a save adds and removes, and the to-many relationships whose members it changes. A link that the
/// changes of both its records name is listed once.
struct LinkChanges {
  private(set) var added: [LinkTable: [LinkEnds: Link]] = [:]
  private(set) var removed: [LinkTable: Set<LinkEnds>] = [:]
  /// The relationships whose members change, by owner: also relationships whose members have a reference to the owner in
  /// place of links.
  private(set) var owners: [ManagedObjectID: Set<RelationshipDescription>] = [:]

  /// The keys of the two records that a link connects.
  struct LinkEnds: Hashable {
    let source: Int64
    let target: Int64
  }

  var isEmpty: Bool { added.isEmpty && removed.isEmpty }
  /// The number of added and removed links.
  var count: Int {
    added.values.reduce(0) { $0 + $1.count } + removed.values.reduce(0) { $0 + $1.count }
  }

  /// Adds a link. Each side of an ordered relationship calls this with its own position; the two positions are
  /// combined.
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

  /// Whether the save removes the link.
  func removes(_ link: Link, from table: LinkTable) -> Bool {
    removed[table]?.contains(LinkEnds(source: link.source, target: link.target)) == true
  }

  /// Whether the save adds the link.
  func adds(_ link: Link, to table: LinkTable) -> Bool {
    added[table]?[LinkEnds(source: link.source, target: link.target)] != nil
  }

  /// Notes that the members of an owner's relationship change.
  mutating func note(_ relationship: RelationshipDescription, of owner: ManagedObjectID) {
    owners[owner, default: []].insert(relationship)
  }

  /// Drops the changes of a record's links, because a merge policy discards the changes of the record.
  ///
  /// - Parameter isDeleted: Whether the store has deleted the record. Then the links of other records to it are dropped
  ///   too.
  mutating func discard(linksOf id: ManagedObjectID, _ entity: EntityDescription, isDeleted: Bool) {
    owners[id] = nil
    for table in Set(added.keys).union(removed.keys) {
      let isSource = entity.isKind(of: table.forward.entity)
      let isSymmetric = table.forward.inverse === table.forward
      // Without a backward relationship, a link to the record is a change of the other record.
      let isTarget =
        entity.isKind(of: table.forward.destination) && (isDeleted || table.backward != nil || isSymmetric)
      func concerns(_ ends: LinkEnds) -> Bool {
        (isSource && ends.source == id.key) || (isTarget && ends.target == id.key)
      }
      added[table] = added[table]?.filter { !concerns($0.key) }
      removed[table] = removed[table]?.filter { !concerns($0) }
    }
  }

  /// The steps that remove links, in the same order in every process, so that concurrent saves lock rows alike.
  var unlinkSteps: [SaveStep] {
    removed.filter { !$0.value.isEmpty }.sorted { $0.key.name < $1.key.name }.map { table, ends in
      .unlink(table, ends.map { Link(source: $0.source, target: $0.target) }.sorted(by: Self.precedes))
    }
  }

  /// The steps that add links, in the same order in every process, so that concurrent saves lock rows alike.
  var linkSteps: [SaveStep] {
    added.filter { !$0.value.isEmpty }.sorted { $0.key.name < $1.key.name }.map { table, links in
      .link(table, links.values.sorted(by: Self.precedes))
    }
  }

  private static func precedes(_ left: Link, _ right: Link) -> Bool {
    (left.source, left.target) < (right.source, right.target)
  }
}
