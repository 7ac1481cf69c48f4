/// The inserted records of a unit of work that became other records.
struct JoinedRecords {
  /// An inserted record whose change is a part of another record's change.
  struct Absorbed {
    let record: PendingRecord
    let id: ManagedObjectID
  }

  private(set) var absorbed: [Absorbed] = []
  /// The relationships whose loaded lists may name members that another record decided about.
  private(set) var outdated: Set<RelationshipDescription> = []
  /// The changes before records joined a record, by its identifier.
  private var originals: [ManagedObjectID: [RecordChange]] = [:]

  var isEmpty: Bool { originals.isEmpty }
  var targets: [ManagedObjectID] { Array(originals.keys) }

  /// Notes that the record of a change becomes a record.
  ///
  /// - Parameters:
  ///   - target: The change of that record in the same unit; `nil` when the unit has none.
  ///   - model: The model of the store.
  mutating func note(
    _ change: RecordChange, becoming id: ManagedObjectID, besides target: RecordChange?, in model: ManagedObjectModel
  ) {
    var known = originals[id] ?? (target?.join == nil ? [target].compactMap(\.self) : [])
    known += originals.removeValue(forKey: change.id) ?? [change]
    originals[id] = known
    for index in absorbed.indices where absorbed[index].id == change.id {
      absorbed[index] = Absorbed(record: absorbed[index].record, id: id)
    }
    if target != nil { absorbed.append(Absorbed(record: change.record, id: id)) }
    // Lists with the record may have the other record too, and lists of the other record lack the record's members.
    let root = change.entity.root
    for relationship in model.entities.flatMap(\.relationships)
    where relationship.isToMany && (relationship.destination.root === root || relationship.entity.root === root) {
      outdated.insert(relationship)
    }
  }

  /// Forgets the joins of a record.
  ///
  /// - Returns: The changes from before them.
  mutating func separate(_ id: ManagedObjectID) -> [RecordChange] {
    absorbed.removeAll { $0.id == id }
    return originals.removeValue(forKey: id) ?? []
  }
}
