import CoherenceCore

/// The records that the rule ``DeleteRule/cascade`` reaches from superfluous records, and the records among them that
/// stay.
struct CascadeGraph {
  /// The targets of one relationship of one record.
  struct Cascade {
    let relationship: RelationshipDescription
    let targets: [ManagedObjectID]

    /// Whether the targets cannot leave the relationship, because their relationship back is required.
    var isRequired: Bool {
      guard let inverse = relationship.inverse else { return false }
      return !inverse.isToMany && !inverse.isOptional
    }
  }

  /// The superfluous records.
  let roots: Set<ManagedObjectID>
  /// The cascades by owner.
  var cascades: [ManagedObjectID: [Cascade]] = [:]
  /// The records that stay.
  private(set) var kept: Set<ManagedObjectID> = []

  init(_ roots: Set<ManagedObjectID>) { self.roots = roots }

  /// The superfluous records, and all targets of the cascades.
  var records: Set<ManagedObjectID> {
    cascades.values.joined().reduce(into: roots) { $0.formUnion($1.targets) }
  }

  mutating func keep(_ ids: Set<ManagedObjectID>) { kept.formUnion(ids) }

  /// The cascades of a record that lead to records that stay.
  func cascadesToKept(from owner: ManagedObjectID) -> [Cascade] {
    (cascades[owner] ?? []).filter { !kept.isDisjoint(with: $0.targets) }
  }

  /// Keeps the owners of kept records that cannot leave them, and the owners that these owners cannot leave. Visits each
  /// cascade once.
  ///
  /// - Returns: The records that will be deleted.
  mutating func keepOwners() -> Set<ManagedObjectID> {
    if kept.isEmpty { return reachable }
    var owners: [ManagedObjectID: [ManagedObjectID]] = [:]
    for (owner, list) in cascades {
      for cascade in list where cascade.isRequired {
        for target in cascade.targets { owners[target, default: []].append(owner) }
      }
    }
    var unvisited = Array(kept)
    while let target = unvisited.popLast() {
      for owner in owners[target] ?? [] where kept.insert(owner).inserted { unvisited.append(owner) }
    }
    return reachable
  }

  /// The records that the cascades reach without passing a record that stays, with the superfluous records.
  private var reachable: Set<ManagedObjectID> {
    var reachable = roots.subtracting(kept)
    var unvisited = Array(reachable)
    while let owner = unvisited.popLast() {
      for target in (cascades[owner] ?? []).lazy.flatMap(\.targets) where !kept.contains(target) {
        if reachable.insert(target).inserted { unvisited.append(target) }
      }
    }
    return reachable
  }
}
