/// The identifiers of the records of one entity that saves inserted, updated and deleted.
///
/// Each identifier is in one set only: deleted records are neither inserted nor updated, and inserted records are not
/// updated. A value: it may be passed to any thread.
public struct EntityChanges: Sendable, Hashable {
  /// The entity of the records. For batch requests, which do not say which subentity a record is of, the entity of the
  /// request; see ``includesSubentities``.
  public let entity: EntityDescription
  /// The inserted records, with permanent identifiers. A deleted record that a merge policy restored is among them. If
  /// the stream has the delete and has not delivered it yet, the record is among the updated records instead, unless the
  /// stream has not delivered an earlier insert either.
  public private(set) var inserted: Set<ManagedObjectID> = []
  /// The records with changed attributes or relationships.
  public private(set) var updated: Set<ManagedObjectID> = []
  /// The deleted records, also records deleted by delete rules and batch requests.
  public private(set) var deleted: Set<ManagedObjectID> = []
  /// Whether some of the records may be of subentities.
  public private(set) var includesSubentities = false
  /// Whether the changes were too many to be listed. The sets are then empty, and every record of the entity may have
  /// changed.
  public private(set) var isEverything = false

  /// The restored records among the inserted ones.
  private var restored: Set<ManagedObjectID> = []
  /// The deleted records that the reader does not have, because their inserts are not delivered either.
  private var undelivered: Set<ManagedObjectID> = []

  init(_ entity: EntityDescription) { self.entity = entity }

  /// The number of listed records.
  public var count: Int { inserted.count + updated.count + deleted.count }
}

/// The kind of change that a save made to a record.
enum EntityChangeKind {
  case inserted, updated, deleted
}

extension EntityChanges {
  /// The greatest number of listed records. Beyond it, ``collapse()`` drops the lists.
  static let bound = 10_000

  /// Adds records with a change later than the changes added before.
  mutating func add(_ ids: some Collection<ManagedObjectID>, as kind: EntityChangeKind, includesSubentities: Bool) {
    if includesSubentities { self.includesSubentities = true }
    guard !isEverything else { return }
    guard count + ids.count <= Self.bound else { return collapse() }
    switch kind {
    case .inserted:
      updated.subtract(ids)
      if !deleted.isEmpty { undelivered.formUnion(deleted.intersection(ids)) }
      inserted.formUnion(ids)
      inserted.subtract(deleted)
    case .updated:
      // One by one: a subtraction of the other sets would cost their size for each added owner of a batch of members.
      for id in ids where !inserted.contains(id) && !deleted.contains(id) { updated.insert(id) }
    case .deleted:
      if !inserted.isEmpty { undelivered.formUnion(inserted.intersection(ids)) }
      inserted.subtract(ids)
      updated.subtract(ids)
      restored.subtract(ids)
      deleted.formUnion(ids)
    }
  }

  /// Adds deleted records that a save inserted again, with their identifiers.
  mutating func restore(_ ids: some Collection<ManagedObjectID>) {
    guard !isEverything else { return }
    // A reader that does not know the delete yet knows the record, unless it does not know the insert either.
    let known = deleted.intersection(ids).subtracting(undelivered)
    deleted.subtract(ids)
    undelivered.subtract(ids)
    add(known, as: .updated, includesSubentities: false)
    let returned = Set(ids).subtracting(known)
    add(returned, as: .inserted, includesSubentities: false)
    restored.formUnion(returned.intersection(inserted))
  }

  /// Adds the changes that later saves made to records of the same entity.
  mutating func merge(_ later: EntityChanges) {
    if later.includesSubentities { includesSubentities = true }
    if later.isEverything { return collapse() }
    let laterInserts = later.undelivered.subtracting(deleted)
    add(later.inserted.subtracting(later.restored), as: .inserted, includesSubentities: false)
    restore(later.restored)
    add(later.updated, as: .updated, includesSubentities: false)
    add(later.deleted, as: .deleted, includesSubentities: false)
    undelivered.formUnion(laterInserts.intersection(deleted))
  }

  /// Drops the list and records that every record of the entity may have changed.
  mutating func collapse() {
    (inserted, updated, deleted, restored, undelivered) = ([], [], [], [], [])
    isEverything = true
  }

  /// Whether some of the records may belong to an entity or one of its subentities.
  func concerns(_ other: EntityDescription) -> Bool {
    entity.isKind(of: other) || (includesSubentities && other.isKind(of: entity))
  }
}

/// The changes of one save, by entity.
struct EntityChangeList {
  private(set) var changes: [EntityChanges] = []

  mutating func add(
    _ ids: some Collection<ManagedObjectID>, of entity: EntityDescription, as kind: EntityChangeKind,
    includesSubentities: Bool = false
  ) {
    guard !ids.isEmpty else { return }
    let index = index(of: entity)
    changes[index].add(ids, as: kind, includesSubentities: includesSubentities)
  }

  /// The index of an entity's changes, which are added if the list has none.
  private mutating func index(of entity: EntityDescription) -> Int {
    if let index = changes.firstIndex(where: { $0.entity === entity }) { return index }
    changes.append(EntityChanges(entity))
    return changes.count - 1
  }

  /// Adds deleted records that the save inserted again.
  mutating func add(restored ids: some Collection<ManagedObjectID>, of entity: EntityDescription) {
    guard !ids.isEmpty else { return }
    let index = index(of: entity)
    changes[index].restore(ids)
  }

  /// Adds records of a batch request, whose stores do not return the records' exact entities.
  mutating func add(batch ids: [ManagedObjectID], of entity: EntityDescription? = nil, as kind: EntityChangeKind) {
    for (_, group) in Dictionary(grouping: ids, by: { ObjectIdentifier($0.space) }) {
      let entity = entity ?? group[0].entity
      add(group, of: entity, as: kind, includesSubentities: !entity.subentities.isEmpty)
    }
  }
}
