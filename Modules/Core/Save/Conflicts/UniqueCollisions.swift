/// Finds the collisions of a refused save: the changes that claim unique values, and the records that hold these
/// values.
///
/// Made after a store has refused a save, and never before: an ordinary save reads nothing for its constraints.
struct UniqueCollisions {
  /// A change that claims unique values which another record holds.
  struct Collision {
    let claimant: ManagedObjectID
    let constraint: [PropertyDescription]
    let values: [AttributeValue]
    let holder: Holder
  }

  enum Holder {
    /// A stored record that the save does not change.
    case stored(Row)
    /// A record that the same save writes.
    case saved(ManagedObjectID)

    var id: ManagedObjectID {
      switch self {
      case .stored(let row): row.id
      case .saved(let id): id
      }
    }
  }

  /// A constraint, at the entity that declares it: no two records of its hierarchy have the same values.
  private struct Constraint: Hashable {
    let entity: EntityDescription
    let properties: [PropertyDescription]
    var slots: [Int] { properties.map(\.slotInRow) }

    /// The values that the constraint compares; `nil` for a row with a missing value, which no constraint compares.
    func values(of row: Row) -> [AttributeValue]? {
      let values = slots.map { row[$0] }
      return values.contains(where: \.isNull) ? nil : values
    }
  }

  private let store: any PersistentStore
  private let context: ManagedObjectContext
  /// The inserts and the updates of the save.
  private let changes: [RecordChange]
  private let changesByID: [ManagedObjectID: RecordChange]
  private let deleted: Set<ManagedObjectID>

  init(of unit: UnitOfWork, in store: any PersistentStore, reading context: ManagedObjectContext) {
    self.store = store
    self.context = context
    changes = unit.insertsAndUpdates
    changesByID = Dictionary(changes.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
    deleted = Set(unit.deletes.lazy.map(\.id))
  }

  /// Reads and returns the collisions, in the order of the changes. The collisions of one change are in the order of
  /// its constraints.
  ///
  /// Reads the holders of all claimed values of a constraint together.
  ///
  /// - Throws: Errors of the store.
  func all() throws -> [Collision] {
    var result: [(rank: Int, collision: Collision)] = []
    let ranks = Dictionary(
      changes.enumerated().map { ($0.element.id, $0.offset) }, uniquingKeysWith: { first, _ in first })
    for constraint in constraints {
      var claims: [[AttributeValue]: [RecordChange]] = [:]
      for change in changes {
        if let values = claim(of: change, under: constraint) { claims[values, default: []].append(change) }
      }
      guard !claims.isEmpty else { continue }
      let stored = try context.readingLatest { try storedRows(with: Array(claims.keys), under: constraint) }
      for (values, claimants) in claims {
        guard let holder = holder(of: values, stored[values], claimants, constraint) else { continue }
        for claimant in claimants where claimant.id != holder.id {
          let collision = Collision(
            claimant: claimant.id, constraint: constraint.properties, values: values, holder: holder)
          result.append((ranks[claimant.id] ?? 0, collision))
        }
      }
    }
    // Stable, so that the constraints of one change keep their order.
    return result.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
      .map(\.element.collision)
  }

  /// The constraints of the changed records, the constraints of superentities first.
  private var constraints: [Constraint] {
    var result: [Constraint] = []
    var seen: Set<Constraint> = []
    for entity in Set(changes.map(\.entity)).sorted(by: { $0.position < $1.position }) {
      var entities: [EntityDescription] = []
      var ancestor: EntityDescription? = entity
      while let current = ancestor {
        entities.append(current)
        ancestor = current.superentity
      }
      for declaring in entities.reversed() {
        for properties in store.environment.ownConstraints(of: declaring) {
          let constraint = Constraint(entity: declaring, properties: properties)
          if seen.insert(constraint).inserted { result.append(constraint) }
        }
      }
    }
    return result
  }

  /// The values of a constraint that a change newly gives to a record; `nil` if the change does not touch the
  /// constraint.
  private func claim(of change: RecordChange, under constraint: Constraint) -> [AttributeValue]? {
    guard change.entity.isKind(of: constraint.entity), change.isWritten, let row = change.row else { return nil }
    let isClaiming = change.kind == .inserted || constraint.slots.contains { change.changed.contains($0) }
    return isClaiming ? constraint.values(of: row) : nil
  }

  /// The record that keeps the values: a stored record, or else the first change among several that claim them, updates
  /// before inserts.
  private func holder(
    of values: [AttributeValue], _ stored: Row?, _ claimants: [RecordChange], _ constraint: Constraint
  ) -> Holder? {
    if let stored, !deleted.contains(stored.id) {
      guard let change = changesByID[stored.id] else { return .stored(stored) }
      // If the save changes the stored record's values, the former values are free.
      if change.row.flatMap(constraint.values) == values { return .saved(stored.id) }
    }
    guard claimants.count > 1 else { return nil }
    return .saved((claimants.first { $0.kind == .updated } ?? claimants[0]).id)
  }

  // MARK: Reading

  /// The greatest number of values in one query of a single property, and of several properties, whose values are a
  /// condition each.
  private static let valuesOfOneRead = (single: 500, several: 50)

  /// Reads the stored rows with values of a constraint, by these values.
  private func storedRows(
    with values: [[AttributeValue]], under constraint: Constraint
  ) throws -> [[AttributeValue]: Row] {
    var result: [[AttributeValue]: Row] = [:]
    let size = constraint.properties.count == 1 ? Self.valuesOfOneRead.single : Self.valuesOfOneRead.several
    for start in stride(from: 0, to: values.count, by: size) {
      let valuesOfQuery = values[start..<min(start + size, values.count)]
      let predicate = predicate(for: valuesOfQuery, under: constraint)
      let query = StoreQuery(entity: constraint.entity, predicate: predicate)
      let prepared = try PreparedPredicate(predicate, for: constraint.entity)
      try context.forEachRow(query, prepared: prepared, in: store) { rows in
        for row in rows { if let values = constraint.values(of: row) { result[values] = row } }
      }
    }
    return result
  }

  private func predicate(for values: ArraySlice<[AttributeValue]>, under constraint: Constraint) -> FetchPredicate {
    func isAmong(_ property: PropertyDescription, _ values: [AttributeValue]) -> FetchPredicate {
      .membership(.path(PropertyPath(names: [property.name])), in: values)
    }
    if constraint.properties.count == 1 { return isAmong(constraint.properties[0], values.map { $0[0] }) }
    return .or(
      values.map { values in .and(zip(constraint.properties, values).map { isAmong($0, [$1]) }) })
  }
}
