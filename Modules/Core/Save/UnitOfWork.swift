/// What one save wants to change in one store, as values.
struct UnitOfWork {
  var changes: [RecordChange] = []
  var links = LinkChanges()

  var isEmpty: Bool { changes.isEmpty && links.isEmpty }

  /// The deletes, and everything else.
  var changesByFate: (deleted: [RecordChange], kept: [RecordChange]) {
    guard changes.contains(where: { $0.kind == .delete }) else { return ([], changes) }
    return (changes.filter { $0.kind == .delete }, changes.filter { $0.kind != .delete })
  }
}

/// What a save wants to change of one record.
final class RecordChange {
  enum Kind { case insert, update, delete }
  let record: PendingRecord
  /// The record's permanent identifier.
  let id: ManagedObjectID
  let kind: Kind
  /// The row that the store is expected to have.
  let base: Row?
  /// The slots that differ from the base.
  let changed: SlotSet
  /// The row to write; for a delete and for a change of links alone, the base.
  let row: Row?

  var entity: EntityDescription { record.entity }
  /// Whether the save writes ``row``.
  var isWritten: Bool { kind == .insert || (kind == .update && !changed.isEmpty) }

  /// - Parameter row: The row to write, references permanent; `nil` for the base.
  init(_ record: PendingRecord, id: ManagedObjectID, kind: Kind, base: Row?, row: Row?, changed: SlotSet) {
    self.record = record
    self.id = id
    self.kind = kind
    self.base = base
    self.changed = changed
    self.row = row ?? base
  }

  /// The version of the row to write.
  static func version(after base: Row?) -> Int64 { (base?.version ?? 0) + 1 }
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

  mutating func note(_ relationship: RelationshipDescription, of owner: ManagedObjectID) {
    owners[owner, default: []].insert(relationship)
  }

  var unlinkSteps: [SaveStep] {
    removed.sorted { $0.key.name < $1.key.name }.map { table, ends in
      .unlink(table, ends.map { Link(source: $0.source, target: $0.target) }.sorted(by: Self.precedes))
    }
  }

  var linkSteps: [SaveStep] {
    added.sorted { $0.key.name < $1.key.name }.map { table, links in
      .link(table, links.values.sorted(by: Self.precedes))
    }
  }

  private static func precedes(_ left: Link, _ right: Link) -> Bool {
    (left.source, left.target) < (right.source, right.target)
  }
}
