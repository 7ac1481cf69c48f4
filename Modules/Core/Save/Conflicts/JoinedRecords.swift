/// The inserted records of a unit of work that became stored records, because these have their unique values.
struct JoinedRecords {
  /// An inserted record whose change is a part of another record's change.
  struct Absorbed {
    let record: PendingRecord
    /// The record whose change contains the inserted record's change.
    fileprivate(set) var id: ManagedObjectID
  }

  /// The absorbed records in the order of their joins; `nil` for a reverted join.
  private var absorptions: [Absorbed?] = []
  /// The positions of the absorbed records in the list, by the records whose changes contain them. A save may join very
  /// many records, so that no join passes over the others.
  private var positions: [ManagedObjectID: [Int]] = [:]
  /// The hierarchies whose relationships are among the outdated ones.
  private var notedRoots: Set<ObjectIdentifier> = []
  /// The relationships whose loaded lists are out of date after the save, because a join changed members or owners.
  private(set) var outdated: Set<RelationshipDescription> = []
  /// The changes from before the joins, by the identifier of the record that the inserted records became.
  private var originals: [ManagedObjectID: [RecordChange]] = [:]

  var isEmpty: Bool { originals.isEmpty }
  var absorbed: [Absorbed] { absorptions.compactMap(\.self) }
  /// The records that inserted records became.
  var targets: [ManagedObjectID] { Array(originals.keys) }

  /// Whether inserted records became a record.
  func isTarget(_ id: ManagedObjectID) -> Bool { originals[id] != nil }

  /// The changes from before the joins of a record: those of the inserted records, and the record's own change, if any.
  func changesBeforeJoins(of id: ManagedObjectID) -> [RecordChange] { originals[id] ?? [] }

  /// Records that the record of a change becomes another record.
  ///
  /// - Parameters:
  ///   - target: The other record's own change in the unit; `nil` for none.
  ///   - model: The model of the store.
  mutating func note(
    _ change: RecordChange, becoming id: ManagedObjectID, besides target: RecordChange?, in model: ManagedObjectModel
  ) {
    // The other record's own change counts as a change from before the joins.
    var changes = originals.removeValue(forKey: id) ?? (target?.join == nil ? [target].compactMap(\.self) : [])
    changes += originals.removeValue(forKey: change.id) ?? [change]
    originals[id] = changes
    var moved = positions.removeValue(forKey: change.id) ?? []
    for index in moved { absorptions[index]?.id = id }
    // Without a change of the other record, the inserted record's own change is written to the other record.
    if target != nil {
      moved.append(absorptions.count)
      absorptions.append(Absorbed(record: change.record, id: id))
    }
    if !moved.isEmpty { positions[id, default: []] += moved }
    // A list with the inserted record may contain the other record already, and the other record's lists lack the
    // inserted record's members.
    let root = change.entity.root
    guard notedRoots.insert(ObjectIdentifier(root)).inserted else { return }
    for relationship in model.entities.flatMap(\.relationships)
    where relationship.isToMany && (relationship.destination.root === root || relationship.entity.root === root) {
      outdated.insert(relationship)
    }
  }

  /// Removes the joins of a record.
  ///
  /// - Returns: The changes from before the joins.
  mutating func separate(_ id: ManagedObjectID) -> [RecordChange] {
    for index in positions.removeValue(forKey: id) ?? [] { absorptions[index] = nil }
    return originals.removeValue(forKey: id) ?? []
  }
}
