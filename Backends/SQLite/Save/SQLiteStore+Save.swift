import CoherenceCore
import CoherenceSQL
import GRDBSQLite

extension SQLiteStore {
  func save(_ request: StoreSaveRequest) throws {
    try write { session in _ = try save(request, session) {} }
    sendSignals(of: request)
  }

  /// Saves on the connection that writes.
  ///
  /// - Parameter began: Called when no other connection can commit any more.
  /// - Returns: The new rows of the owners whose derived values changed.
  func save(_ request: StoreSaveRequest, _ session: SQLiteSession, began: () -> Void) throws -> [Row] {
    try SQLiteSave(request, store: self, session: session).run(began)
  }
}

/// A save on the writing connection.
struct SQLiteSave {
  let request: StoreSaveRequest
  let store: SQLiteStore
  let session: SQLiteSession

  /// Thrown for a step that SQLite refused, or that found another version of its record.
  struct Refusal: Error {
    var id: ManagedObjectID?
    /// The row that the save has tried to write.
    var row: Row?
    /// SQLite's failure; `nil` when the record was at another version.
    var failure: SQLiteFailure?
  }

  init(_ request: StoreSaveRequest, store: SQLiteStore, session: SQLiteSession) {
    self.request = request
    self.store = store
    self.session = session
  }

  /// Executes the steps of the save in one transaction.
  ///
  /// - Parameter began: Called when no other connection can commit any more.
  /// - Returns: The new rows of the owners whose derived values changed.
  func run(_ began: () -> Void) throws -> [Row] {
    do {
      return try session.inWriteTransaction {
        began()
        for step in request.steps { try execute(step) }
        try session.check(request.memberCounts, store)
        return try session.derive(request.derivations, store)
      }
    } catch let refusal as Refusal {
      throw try explanation(of: refusal)
    }
  }

  // MARK: Steps

  private func execute(_ step: SaveStep) throws {
    let statements = store.saveStatements
    switch step {
    case .insert(let entity, let rows): try insert(rows, of: entity)
    case .update(let entity, let slots, let updates):
      try runAll(statements.update(entity, slots: slots), entity: entity, checkingVersion: true, updates) {
        (update: RowUpdate) in .row(update.row, baseVersion: update.baseVersion)
      }
    case .fix(let entity, let slots, let rows):
      guard let statement = try statements.fix(entity, slots: slots) else { return }
      try runAll(statement, entity: entity, rows) { (row: Row) in .row(row, baseVersion: 0) }
    case .delete(let entity, let deletes):
      for reference in store.schema.leftOutReferences(to: entity) where !reference.retainsTarget {
        try runAll(statements.clear(reference), entity: nil, deletes) {
          (delete: RowDelete) in .record(delete.id, baseVersion: 0)
        }
      }
      try compareLinks(of: deletes, entity)
      try delete(deletes, of: entity)
    case .link(let table, let links):
      try runAll(statements.link(table), entity: nil, links) { (link: Link) in .link(link) }
    case .unlink(let table, let links):
      try runAll(statements.unlink(table), entity: nil, links) { (link: Link) in .link(link) }
    }
  }

  /// Refuses a delete of a record with links that the save does not remove, see ``StoreSaveRequest/comparedLinks``.
  private func compareLinks(of deletes: [RowDelete], _ entity: EntityDescription) throws {
    let statements = ComparedLinkStatements(schema: store.schema)
    for side in request.comparedSides(of: entity) {
      for keys in deletes.map(\.id.key).chunks {
        guard let key = try session.integers(statements.linked(keys, at: side)).first else { continue }
        throw Refusal(id: deletes.first { $0.id.key == key }?.id)
      }
    }
  }

  /// The subject of one run of a statement, whose values the parameters take.
  enum Change {
    /// A row to write, and the version that the store must have; 0 for a statement that compares no version.
    case row(Row, baseVersion: Int64)
    /// A record to delete, and the version that the store must have; 0 for a statement that compares no version.
    case record(ManagedObjectID, baseVersion: Int64)
    case link(Link)

    /// The subject of a refusal of the change: the record, and the row that the change would write.
    var subject: (id: ManagedObjectID?, row: Row?) {
      switch self {
      case .row(let row, _): (row.id, row)
      case .record(let id, _): (id, nil)
      case .link: (nil, nil)
      }
    }
  }

  /// The number of rows that one run of a statement adds. The start and the end of a run cost nearly as much as a row.
  private static let rowsInRun = 32

  /// Inserts rows by statements of several rows, and the remaining rows one by one.
  private func insert(_ rows: [Row], of entity: EntityDescription) throws {
    let width = try store.saveStatements.insert(entity).parameters.count
    let size = max(min(Self.rowsInRun, SQLiteDialect.maximumParameters / width), 1)
    let remainder = rows.count % size
    try insertInRuns(rows.dropLast(remainder), of: entity, size: size)
    try insertOneByOne(rows.suffix(remainder), of: entity)
  }

  private func insertOneByOne(_ rows: ArraySlice<Row>, of entity: EntityDescription) throws {
    guard !rows.isEmpty else { return }
    try runAll(store.saveStatements.insert(entity), entity: entity, rows) { (row: Row) in .row(row, baseVersion: 0) }
  }

  /// Inserts rows by a statement that adds `size` rows at once. The number of rows is a multiple of `size`.
  private func insertInRuns(_ rows: ArraySlice<Row>, of entity: EntityDescription, size: Int) throws {
    guard !rows.isEmpty else { return }
    let template = try store.saveStatements.insert(entity, rows: size)
    let parameters = template.parameters[..<(template.parameters.count / size)]
    try withStatement(template, entity: entity, times: rows.count / size) { statement in
      for start in stride(from: rows.startIndex, to: rows.endIndex, by: size) {
        let run = rows[start..<start + size]
        statement.beginParameters()
        for (index, row) in run.enumerated() {
          try bind(row, baseVersion: 0, to: statement, parameters, after: index * parameters.count)
        }
        do {
          try statement.run()
        } catch let failure as SQLiteFailure where failure.isConstraint && session.isInTransaction {
          // SQLite has undone the whole run and does not name the row. A run for each row finds the row. Once a trigger
          // of another program has rolled back the transaction, SQLite would commit each row by itself.
          try insertOneByOne(run, of: entity)
        }
      }
    }
  }

  /// Runs a statement once for each element.
  func runAll<Elements: Collection>(
    _ template: SaveStatement, entity: EntityDescription?, checkingVersion: Bool = false, _ elements: Elements,
    _ change: (Elements.Element) -> Change
  ) throws {
    let parameters = template.parameters[...]
    try withStatement(template, entity: entity, times: elements.count) { statement in
      for element in elements {
        let change = change(element)
        do {
          statement.beginParameters()
          try bind(change, to: statement, parameters)
          try statement.run()
        } catch let failure as SQLiteFailure where failure.isConstraint {
          let (id, row) = change.subject
          throw Refusal(id: id, row: row, failure: failure)
        }
        if checkingVersion, statement.changes != 1 { throw Refusal(id: change.subject.id) }
      }
    }
  }

  /// Calls a block with the statement of a template, in which the entity's name in records is bound.
  ///
  /// - Parameter times: The number of runs of the statement in the block, for the log.
  func withStatement<T>(
    _ template: SaveStatement, entity: EntityDescription?, times: Int, _ body: (SQLiteStatement) throws -> T
  ) throws -> T {
    let statement = try session.take(template.text)
    defer { session.give(back: statement) }
    let name = try entity.map { try store.schema.requireTable(for: $0).recordName(of: $0) }
    for (index, parameter) in template.parameters.enumerated() {
      // The same for all rows: parameters keep their values from run to run.
      if case .entity = parameter, let name { try statement.bind(name, at: CInt(index + 1)) }
    }
    return try session.logged("\(template.text) -- \(times) times") { try body(statement) }
  }

  // MARK: Parameters

  @inline(__always)
  private func bind(_ change: Change, to statement: SQLiteStatement, _ parameters: ArraySlice<SaveParameter>) throws {
    switch change {
    case .row(let row, let baseVersion): try bind(row, baseVersion: baseVersion, to: statement, parameters, after: 0)
    case .record(let id, let baseVersion): try bind(id, baseVersion: baseVersion, to: statement, parameters)
    case .link(let link): try bind(link, to: statement, parameters)
    }
  }

  /// Binds the values of a row.
  ///
  /// - Parameter offset: The number of the statement's earlier parameters.
  @inline(__always)
  private func bind(
    _ row: Row, baseVersion: Int64, to statement: SQLiteStatement, _ parameters: ArraySlice<SaveParameter>,
    after offset: Int
  ) throws {
    try row.withValues { values in
      for index in parameters.indices {
        let position = CInt(offset + index + 1)
        switch parameters[index] {
        case .slot(let slot, _): try statement.bindOnce(values[slot], at: position)
        case .id: try statement.bind(row.key, at: position)
        case .version: try statement.bind(row.version, at: position)
        case .baseVersion: try statement.bind(baseVersion, at: position)
        case .entity: break
        case .source, .target, .sourcePosition, .targetPosition: preconditionFailure("A row has no end of a link.")
        }
      }
    }
  }

  private func bind(
    _ id: ManagedObjectID, baseVersion: Int64, to statement: SQLiteStatement, _ parameters: ArraySlice<SaveParameter>
  ) throws {
    for index in parameters.indices {
      let position = CInt(index + 1)
      switch parameters[index] {
      case .id: try statement.bind(id.key, at: position)
      case .baseVersion: try statement.bind(baseVersion, at: position)
      case .entity: break
      case .slot, .version, .source, .target, .sourcePosition, .targetPosition:
        preconditionFailure("A record to delete has a key and a version alone.")
      }
    }
  }

  private func bind(_ link: Link, to statement: SQLiteStatement, _ parameters: ArraySlice<SaveParameter>) throws {
    for index in parameters.indices {
      let position = CInt(index + 1)
      switch parameters[index] {
      case .source: try statement.bind(link.source, at: position)
      case .target: try statement.bind(link.target, at: position)
      case .sourcePosition: try statement.bind(position: link.sourcePosition, at: position)
      case .targetPosition: try statement.bind(position: link.targetPosition, at: position)
      case .id, .version, .baseVersion, .entity, .slot: preconditionFailure("A link has two ends and positions alone.")
      }
    }
  }
}

extension SQLiteStatement {
  fileprivate func bind(position: Int64?, at index: CInt) throws {
    try bind(position.map(AttributeValue.int) ?? .null, at: index)
  }
}
