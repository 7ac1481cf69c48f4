import CoherenceCore
import CoherenceSQL

// Explanations of refused saves, made after the save was rolled back.

extension PostgreSQLStore {
  /// Returns the error of a refused save: a version conflict if a record has another version, otherwise the server's
  /// failure with the names of the model.
  func explanation(
    of refusal: SaveRefusal, in request: StoreSaveRequest, on connection: PostgreSQLConnection
  ) throws -> any Error {
    let rows = try currentRows(request.bases.map(\.id), on: connection)
    let conflicts = request.conflicts { rows[$0] }
    guard conflicts.isEmpty, let failure = refusal.failure else {
      return StoreConflict.Failure(conflicts: conflicts, found: refusal.subjects.compactMap(\.objectID)) { rows[$0] }
    }
    return try failure.isUniquenessViolation
      ? duplicate(failure, refusal.subjects.first, in: request, on: connection)
      : dangling(failure, refusal.subjects.first, on: connection)
  }

  /// The present rows of records, read in one round trip.
  private func currentRows(
    _ ids: [ManagedObjectID], on connection: PostgreSQLConnection
  ) throws -> [ManagedObjectID: Row] {
    var queries: [(statement: SQLFragment, layout: RowLayout)] = []
    for root in environment.roots {
      let keys = ids.filter { $0.entity === root }.map(\.key)
      if !keys.isEmpty { queries.append(try planner.rows(keys, of: root)) }
    }
    guard !queries.isEmpty else { return [:] }
    var rows: [ManagedObjectID: Row] = [:]
    for (query, result) in zip(queries, try connection.run(queries.map(\.statement))) {
      for row in try PostgreSQLRowDecoder(query.layout, spaces: spaces).rows(result) { rows[row.id] = row }
    }
    return rows
  }

  // MARK: Uniqueness

  /// The error for two records with the same unique values.
  private func duplicate(
    _ failure: PostgreSQLFailure, _ subject: SaveSubject?, in request: StoreSaveRequest,
    on connection: PostgreSQLConnection
  ) throws -> CoherenceError {
    var error = CoherenceError(failure)
    error.objectIDs = [subject?.objectID].compactMap { $0 }
    guard case .row(let row, _)? = subject, let table = schema.table(for: row.entity) else { return error }
    guard let index = table.indexes.first(where: { $0.name == failure.constraint }) else {
      // A trigger may raise a violation of uniqueness without a constraint.
      if let constraint = failure.constraint { error.message = refusal(by: constraint, of: row.entity) }
      return error
    }
    guard let values = UniqueValues(of: row, in: index, of: table) else { return error }
    let result = try connection.run(values.holder)
    var violation = values.violation(in: request, holder: result.rowCount > 0 ? result.int(0, 0) : nil)
    violation.underlying = error.underlying
    return violation
  }

  /// The sentence for a violated constraint that is no index of the model: the key of the table, or an index of another
  /// model. A violated key shows that another program used keys without allocating them, so the store discards the keys
  /// that it has reserved.
  private func refusal(by constraint: String, of entity: EntityDescription) -> String {
    // The server's own name for the constraint of a key.
    guard !constraint.hasSuffix("_pkey") else {
      keys.discard(of: entity.root)
      return CoherenceError.takenKeyMessage(of: entity)
    }
    return "Two records of '\(entity.name)' would have the same values of properties that are unique in a later model "
      + "('\(constraint)'); change one of them, or use the later version of the program."
  }

  // MARK: References

  /// The error for a reference or a link to a missing record.
  private func dangling(
    _ failure: PostgreSQLFailure, _ subject: SaveSubject?, on connection: PostgreSQLConnection
  ) throws -> CoherenceError {
    var error = CoherenceError(failure)
    guard let subject else { return error }
    var relationship: RelationshipDescription?
    switch subject {
    case .link(let links, let link):
      relationship = links.forward
      error.objectIDs = try ends(of: link, in: links, on: connection)
    case .row(let row, _):
      relationship = reference(failure)?.relationship
      error.objectIDs = [row.id]
      if let slot = relationship?.slot, case .reference(let target) = row[slot] { error.objectIDs.append(target) }
    case .delete(let delete):
      if let reference = leftOutReference(failure) { return .deleteRetained(delete.id, by: reference) }
      let reference = reference(failure)
      relationship = reference?.relationship
      error.objectIDs = [delete.id]
      if let reference, let source = try referrer(to: delete.id, by: reference, on: connection) {
        error.objectIDs.insert(source, at: 0)
      }
    }
    if let relationship { error.message = CoherenceError.danglingReference(relationship).message }
    return error
  }

  private typealias Reference = (relationship: RelationshipDescription, column: SQLColumn, table: SQLTable)

  /// The to-one relationship of a violated foreign key; `nil` for another constraint.
  private func reference(_ failure: PostgreSQLFailure) -> Reference? {
    for table in schema.tables where table.name == failure.table {
      for column in table.columns where column.foreignKey?.name == failure.constraint {
        if case .reference(let relationship) = column.slot { return (relationship, column, table) }
      }
    }
    return nil
  }

  /// The left-out reference of a violated foreign key; `nil` for another constraint.
  private func leftOutReference(_ failure: PostgreSQLFailure) -> SQLLeftOutReference? {
    schema.leftOutReferences.first { $0.constraint == failure.constraint && $0.table == failure.table }
  }

  /// A record that refers to a record; `nil` for none.
  private func referrer(
    to id: ManagedObjectID, by reference: Reference, on connection: PostgreSQLConnection
  ) throws -> ManagedObjectID? {
    let result = try connection.run(
      """
      SELECT \(name: SQLTable.id) FROM \(name: reference.table.name) \
      WHERE \(name: reference.column.name) = \(key: id.key) ORDER BY 1 LIMIT 1
      """)
    guard result.rowCount > 0, let key = result.int(0, 0) else { return nil }
    return ManagedObjectID(space: spaces[reference.table.root], key: key)
  }

  /// The ends of a link, the existing one first.
  private func ends(
    of link: Link, in links: LinkTable, on connection: PostgreSQLConnection
  ) throws -> [ManagedObjectID] {
    let source = ManagedObjectID(space: spaces[links.sourceRoot], key: link.source)
    let target = ManagedObjectID(space: spaces[links.targetRoot], key: link.target)
    let isSourceMissing = try currentRows([source], on: connection).isEmpty
    return isSourceMissing ? [target, source] : [source, target]
  }
}
