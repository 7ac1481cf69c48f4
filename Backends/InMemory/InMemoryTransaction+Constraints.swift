import CoherenceCore

extension InMemoryTransaction {
  /// A changed row before and after the transaction.
  private struct Change {
    let key: Int64
    let before: Row?
    let after: Row?
    /// The entity of the record.
    var entity: EntityDescription? { (after ?? before)?.entity }
  }

  /// Writes the indexes, checks the constraints with them, and returns the next state.
  ///
  /// - Throws: ``ErrorCode/uniquenessViolated`` or else ``ErrorCode/danglingReference``, with the records concerned.
  consuming func finished() throws -> InMemoryState {
    let changes = base.schema.roots.map { (root: $0, changes: self.changes(of: $0)) }.filter { !$0.changes.isEmpty }
    for (_, changes) in changes { try writeHolders(changes) }
    for (_, changes) in changes { writeReferences(changes) }
    for (_, changes) in changes { writeLookups(changes) }
    for (root, changes) in changes {
      for change in changes { try checkReferences(of: change, root: root) }
    }
    for (table, link) in insertedLinks where next.links[table]?.contains(link) == true {
      try checkEnds(of: link, in: table)
    }
    return next
  }

  /// The changes of a hierarchy, sorted by key, so that the reported violation does not depend on hashing.
  private func changes(of root: EntityDescription) -> [Change] {
    (changedKeys[ObjectIdentifier(root)] ?? []).sorted().map { key in
      Change(key: key, before: base.row(key, of: root), after: next.row(key, of: root))
    }
  }
}

// MARK: - Uniqueness

extension InMemoryTransaction {
  /// Writes the indexes of the uniqueness constraints. Removes all former values before it adds new ones, so that
  /// records can swap their values.
  ///
  /// - Throws: ``ErrorCode/uniquenessViolated``.
  private mutating func writeHolders(_ changes: [Change]) throws {
    var additions: [(constraint: InMemorySchema.Constraint, values: [AttributeValue], row: Row)] = []
    for change in changes {
      guard let entity = change.entity else { continue }
      for constraint in base.schema.constraints(of: entity) {
        let before = change.before?.uniqueValues(of: constraint)
        let after = change.after?.uniqueValues(of: constraint)
        guard before != after else { continue }
        if let before { next.setHolder(nil, of: before, under: constraint) }
        if let after, let row = change.after { additions.append((constraint, after, row)) }
      }
    }
    for (constraint, values, row) in additions {
      guard let other = next.setHolder(row.key, of: values, under: constraint) else { continue }
      throw violation(of: constraint, by: row, and: other)
    }
  }

  /// The error for two records with the same unique values.
  private func violation(of constraint: InMemorySchema.Constraint, by row: Row, and other: Int64) -> CoherenceError {
    let violation = UniquenessViolation(
      entityName: constraint.entity.name, propertyNames: constraint.names, values: constraint.slots.map { row[$0] })
    return .uniquenessViolated(violation, [row.id, ManagedObjectID(space: row.id.space, key: other)])
  }
}

extension Row {
  /// The values that a constraint compares; `nil` if a value is missing, because such rows are not compared.
  fileprivate func uniqueValues(of constraint: InMemorySchema.Constraint) -> [AttributeValue]? {
    let values = constraint.slots.map { self[$0] }
    return values.contains(where: \.isNull) ? nil : values
  }

  /// The record that a to-one relationship of the row's entity leads to.
  fileprivate func reference(_ relationship: RelationshipDescription) -> ManagedObjectID? {
    guard let slot = relationship.slot, case .reference(let id) = self[slot] else { return nil }
    return id
  }
}

// MARK: - Lookups

extension InMemoryTransaction {
  /// Writes the lookup indexes.
  private mutating func writeLookups(_ changes: [Change]) {
    for change in changes {
      guard let entity = change.entity else { continue }
      for lookup in base.schema.lookups(of: entity) {
        let before = change.before?[lookup.slot] ?? .null
        let after = change.after?[lookup.slot] ?? .null
        guard before != after else { continue }
        if !before.isNull { next.removeLookup(lookup, of: change.key, before) }
        if !after.isNull { next.insertLookup(lookup, of: change.key, after) }
      }
    }
  }
}

// MARK: - References

extension InMemoryTransaction {
  /// Writes the index by which the records that refer to a record are found.
  private mutating func writeReferences(_ changes: [Change]) {
    for change in changes {
      guard let entity = change.entity else { continue }
      for relationship in base.schema.references(of: entity) {
        let before = change.before?.reference(relationship)?.key
        let after = change.after?.reference(relationship)?.key
        guard before != after else { continue }
        if let before { next.removeReference(relationship, from: change.key, to: before) }
        if let after { next.insertReference(relationship, from: change.key, to: after) }
      }
    }
  }

  /// Checks the references of a present record, which must not lead to a missing record, or the references and links to
  /// a removed record. References of relationships without a constraint may dangle.
  private func checkReferences(of change: Change, root: EntityDescription) throws {
    if let row = change.after {
      for relationship in base.schema.references(of: row.entity) where relationship.isConstrained {
        guard let target = row.reference(relationship) else { continue }
        if next.row(target.key, of: relationship.destination.root) == nil {
          throw dangling(relationship, from: row.id, to: target)
        }
      }
    } else if let row = change.before {
      try checkIsUnreferenced(row, root: root)
    }
  }

  /// Checks that no constrained reference leads to a removed record, and that no link has the record at an end. Each
  /// remaining link of the record dangles, because at least this record is missing.
  private func checkIsUnreferenced(_ row: Row, root: EntityDescription) throws {
    for relationship in base.schema.references(to: root) where relationship.isConstrained {
      guard let source = next.referrers(to: row.key, by: relationship).min() else { continue }
      throw dangling(relationship, from: id(source, of: relationship.entity), to: row.id)
    }
    for table in base.schema.linkTables {
      let links = try next.links(of: table)
      let outgoing = table.sourceRoot === root ? links.links(of: row.key, fromSource: true) : []
      let incoming = table.targetRoot === root ? links.links(of: row.key, fromSource: false) : []
      for link in outgoing + incoming { try checkEnds(of: link, in: table) }
    }
  }

  /// Checks that a link connects two present records.
  private func checkEnds(of link: Link, in table: LinkTable) throws {
    let source = id(link.source, of: table.sourceRoot)
    let target = id(link.target, of: table.targetRoot)
    if next.row(target.key, of: table.targetRoot) == nil { throw dangling(table.forward, from: source, to: target) }
    if next.row(source.key, of: table.sourceRoot) == nil { throw dangling(table.forward, from: target, to: source) }
  }

  private func id(_ key: Int64, of entity: EntityDescription) -> ManagedObjectID {
    ManagedObjectID(space: base.schema.spaces[entity], key: key)
  }

  /// - Returns: The error, with the record at the other end of the reference or link first, and the missing record
  ///   second. Both records of a link may be missing.
  private func dangling(
    _ relationship: RelationshipDescription, from record: ManagedObjectID, to missing: ManagedObjectID
  ) -> CoherenceError {
    .danglingReference(relationship, [record, missing])
  }
}
