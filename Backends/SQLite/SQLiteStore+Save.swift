import CoherenceCore
import CoherenceSQL
import GRDBSQLite

extension SQLiteStore {
  func save(_ request: StoreSaveRequest) throws {
    try write { session in try save(request, session) {} }
  }

  /// Saves on the connection that writes.
  ///
  /// - Parameter began: Called when no other connection can commit any more.
  func save(_ request: StoreSaveRequest, _ session: SQLiteSession, began: () -> Void) throws {
    try SQLiteSave(request, store: self, session: session).run(began)
  }
}

/// One save on the connection that writes.
struct SQLiteSave {
  let request: StoreSaveRequest
  let store: SQLiteStore
  let session: SQLiteSession

  /// A step that could not be taken, with the record that it was about.
  struct Refusal: Error {
    var id: ManagedObjectID?
    /// What the record would have been.
    var row: Row?
    /// What SQLite said; `nil` when the record was at another version.
    var failure: SQLiteFailure?
  }

  init(_ request: StoreSaveRequest, store: SQLiteStore, session: SQLiteSession) {
    self.request = request
    self.store = store
    self.session = session
  }

  func run(_ began: () -> Void) throws {
    do {
      try session.inWriteTransaction {
        began()
        for step in request.steps { try take(step) }
        try session.check(request.memberCounts, store)
      }
    } catch let refusal as Refusal {
      throw try explanation(of: refusal)
    }
  }

  // MARK: Steps

  private func take(_ step: SaveStep) throws {
    let statements = store.saveStatements
    switch step {
    case .insert(let entity, let rows): try insert(rows, of: entity)
    case .update(let entity, let slots, let updates):
      try runAll(statements.update(entity, slots: slots), entity: entity, checkingVersion: true, updates) {
        (update: RowUpdate) in Change(row: update.row, baseVersion: update.baseVersion)
      }
    case .fix(let entity, let slots, let rows):
      guard let statement = try statements.fix(entity, slots: slots) else { return }
      try runAll(statement, entity: entity, rows) { (row: Row) in Change(row: row) }
    case .delete(let entity, let deletes):
      for reference in store.schema.leftOutReferences(to: entity) where !reference.retainsTarget {
        try runAll(statements.clear(reference), entity: nil, deletes) {
          (delete: RowDelete) in Change(id: delete.id, baseVersion: 0)
        }
      }
      try runAll(statements.delete(entity), entity: entity, checkingVersion: true, deletes) {
        (delete: RowDelete) in Change(id: delete.id, baseVersion: delete.baseVersion)
      }
    case .link(let table, let links):
      try runAll(statements.link(table), entity: nil, links) { (link: Link) in Change(link: link) }
    case .unlink(let table, let links):
      try runAll(statements.unlink(table), entity: nil, links) { (link: Link) in Change(link: link) }
    }
  }

  /// What the parameters of one run are taken from.
  private struct Change {
    var row: Row?
    var id: ManagedObjectID?
    var baseVersion: Int64 = 0
    var link: Link?

    init(row: Row, baseVersion: Int64 = 0) {
      self.row = row
      self.baseVersion = baseVersion
    }
    init(id: ManagedObjectID, baseVersion: Int64) {
      self.id = id
      self.baseVersion = baseVersion
    }
    init(link: Link) { self.link = link }

    var objectID: ManagedObjectID? { row?.id ?? id }
  }

  /// How many rows one run of a statement adds: beginning and ending a run costs SQLite a good part of what a row does.
  private static let rowsInRun = 32
  /// How many parameters SQLite lets a statement have.
  private static let parameterLimit = 32_766

  private func insert(_ rows: [Row], of entity: EntityDescription) throws {
    let width = try store.saveStatements.insert(entity).parameters.count
    let size = max(min(Self.rowsInRun, Self.parameterLimit / width), 1)
    let rest = rows.count % size
    try insertInRuns(rows.dropLast(rest), of: entity, size: size)
    try insertOneByOne(rows.suffix(rest), of: entity)
  }

  private func insertOneByOne(_ rows: ArraySlice<Row>, of entity: EntityDescription) throws {
    guard !rows.isEmpty else { return }
    try runAll(store.saveStatements.insert(entity), entity: entity, rows) { (row: Row) in Change(row: row) }
  }

  private func insertInRuns(_ rows: ArraySlice<Row>, of entity: EntityDescription, size: Int) throws {
    guard !rows.isEmpty else { return }
    let template = try store.saveStatements.insert(entity, rows: size)
    let parameters = template.parameters[..<(template.parameters.count / size)]
    try running(template, entity: entity, times: rows.count / size) { statement in
      for start in stride(from: rows.startIndex, to: rows.endIndex, by: size) {
        let run = rows[start..<start + size]
        statement.beginParameters()
        for (place, row) in run.enumerated() {
          try bind(parameters, after: place * parameters.count, to: statement, row)
        }
        do {
          try statement.run()
        } catch let failure as SQLiteFailure where failure.isConstraint {
          // SQLite took the whole run back and does not say which row it failed by. Row by row, it comes out.
          try insertOneByOne(run, of: entity)
        }
      }
    }
  }

  /// Runs a statement once for each element.
  private func runAll<Elements: Collection>(
    _ template: SaveStatement, entity: EntityDescription?, checkingVersion: Bool = false, _ elements: Elements,
    _ change: (Elements.Element) -> Change
  ) throws {
    try running(template, entity: entity, times: elements.count) { statement in
      for element in elements {
        let change = change(element)
        do {
          statement.beginParameters()
          try bind(template.parameters, to: statement, change)
          try statement.run()
        } catch let failure as SQLiteFailure where failure.isConstraint {
          throw Refusal(id: change.objectID, row: change.row, failure: failure)
        }
        if checkingVersion, statement.changes != 1 { throw Refusal(id: change.objectID) }
      }
    }
  }

  /// Prepares a statement to be run some times for records of one entity.
  private func running(
    _ template: SaveStatement, entity: EntityDescription?, times: Int, _ body: (SQLiteStatement) throws -> Void
  ) throws {
    let statement = try session.take(template.text)
    defer { session.give(back: statement) }
    for (index, parameter) in template.parameters.enumerated() {
      // The same for all rows: parameters keep their values from run to run.
      if case .entity = parameter, let entity { try statement.bind(entity.name, at: CInt(index + 1)) }
    }
    try session.logged("\(template.text) -- \(times) times") { try body(statement) }
  }

  /// Binds what a row is added with.
  ///
  /// - Parameter offset: How many parameters of the statement come before.
  @inline(__always)
  private func bind(
    _ parameters: ArraySlice<SaveParameter>, after offset: Int, to statement: SQLiteStatement, _ row: Row
  ) throws {
    try row.withValues { values in
      for index in parameters.indices {
        let place = CInt(offset + index + 1)
        switch parameters[index] {
        case .slot(let slot, _): try statement.bindOnce(values[slot], at: place)
        case .id: try statement.bind(row.key, at: place)
        case .version: try statement.bind(row.version, at: place)
        case .entity, .baseVersion, .source, .target, .sourcePosition, .targetPosition: break
        }
      }
    }
  }

  @inline(__always)
  private func bind(_ parameters: [SaveParameter], to statement: SQLiteStatement, _ change: Change) throws {
    for index in parameters.indices {
      let place = CInt(index + 1)
      switch parameters[index] {
      case .slot(let slot, _): try statement.bindOnce(change.row![slot], at: place)
      case .id: try statement.bind(change.row?.key ?? change.id!.key, at: place)
      case .version: try statement.bind(change.row!.version, at: place)
      case .baseVersion: try statement.bind(change.baseVersion, at: place)
      case .entity: break
      case .source: try statement.bind(change.link!.source, at: place)
      case .target: try statement.bind(change.link!.target, at: place)
      case .sourcePosition: try statement.bind(position: change.link!.sourcePosition, at: place)
      case .targetPosition: try statement.bind(position: change.link!.targetPosition, at: place)
      }
    }
  }
}

extension SQLiteStatement {
  fileprivate func bind(position: Int64?, at index: CInt) throws {
    try bind(position.map(AttributeValue.int) ?? .null, at: index)
  }
}
