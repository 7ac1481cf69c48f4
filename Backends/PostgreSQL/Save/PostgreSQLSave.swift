import CLibPQ
import CoherenceCore
import CoherenceSQL
import Logging

/// One attempt to execute the steps of a save.
struct PostgreSQLSave {
  private let request: StoreSaveRequest
  private let store: PostgreSQLStore
  private let connection: PostgreSQLConnection
  /// Whether the responses to the beginning of the transaction were received.
  private var hasBegun = false
  /// The sent statements whose responses have not been received.
  private var sent: [SentStatement] = []
  /// The new rows of the owners whose derived values changed.
  private var derived: [Row] = []
  /// The number of rows from which a COPY is faster than statements.
  private static let copyThreshold = 500
  /// The number of rows from which one bulk update or delete is faster than single statements.
  private static let bulkThreshold = 32

  /// A sent statement, by the use of its response.
  private enum SentStatement {
    /// Locks rows: changed rows, owners whose members are counted, or records that derived values depend on.
    case lock
    /// Writes the elements in a range of the step at an index.
    case step(Int, Range<Int>)
    /// Clears references to deleted records, over relationships that the store has and the model leaves out.
    case clearing
    /// Finds links of records that the step at an index deletes.
    case links(Int)
    /// Counts the members of owners.
    case count(MemberCountCheck)
    /// Computes derived values.
    case derivation(DerivationUpdate)
    /// Notifies the listeners of a channel.
    case notification
  }

  init(_ request: StoreSaveRequest, store: PostgreSQLStore, connection: PostgreSQLConnection) {
    self.request = request
    self.store = store
    self.connection = connection
  }

  /// Sends the statements of all steps and checks, and receives their responses.
  ///
  /// - Parameter inBulk: Whether one statement may write many rows. A failure of such a statement names no row.
  /// - Returns: The new rows of the owners whose derived values changed.
  mutating func execute(in transaction: inout PostgreSQLTransaction, inBulk: Bool) throws -> [Row] {
    try connection.recovering {
      let rowLocks =
        store.pool.saveLocking.isRequired ? try PostgreSQLRowLocks(of: request, in: store.schema).statements() : []
      let locksRows = !rowLocks.isEmpty || !request.comparedLinks.isEmpty
      try transaction.sendBeginning(locking: store.tableOrder.lockStatement(for: request, locksRows: locksRows))
      try sendLocks(rowLocks)
      for (index, step) in request.steps.enumerated() {
        switch step {
        case .insert(let entity, let rows) where inBulk && rows.count >= Self.copyThreshold:
          try receive(in: &transaction)
          try copy(rows, of: entity)
        case .update(let entity, let slots, let updates) where inBulk && updates.count >= Self.bulkThreshold:
          let statement = try PostgreSQLBulkStatement.update(entity, slots: slots, in: store.schema)
          try send(statement, updates, at: index) { $0.value($1) }
        case .delete(let entity, let deletes) where inBulk && deletes.count >= Self.bulkThreshold:
          let statement = try PostgreSQLBulkStatement.delete(entity, in: store.schema)
          try sendClearing(to: entity, deletes)
          try sendComparedLinks(of: entity, deletes, at: index)
          try send(statement, deletes, at: index) { $0.value($1) }
        default:
          try send(step, at: index)
        }
      }
      try sendCounts()
      try sendDerivations()
      try sendNotifications()
      try receive(in: &transaction)
    }
    // Connections renew their query plans after the tables have grown.
    store.pool.growth.add(request.insertCount)
    return derived
  }

  // MARK: Statements

  /// Queues a statement for each element of a step.
  private mutating func send(_ step: SaveStep, at index: Int) throws {
    let statements = store.saveStatements
    switch step {
    case .insert(let entity, let rows):
      let name = try store.schema.requireTable(for: entity).recordName(of: entity)
      try sendAll(statements.insert(entity), rows, at: index) { row, parameter, fields in
        try fields.append(parameter, of: row, name: name)
      }
    case .update(let entity, let slots, let updates):
      try sendAll(statements.update(entity, slots: slots), updates, at: index) { update, parameter, fields in
        try fields.append(parameter, of: update.row, baseVersion: update.baseVersion)
      }
    case .fix(let entity, let slots, let rows):
      guard let statement = try statements.fix(entity, slots: slots) else { return }
      try sendAll(statement, rows, at: index) { row, parameter, fields in try fields.append(parameter, of: row) }
    case .delete(let entity, let deletes):
      try sendClearing(to: entity, deletes)
      try sendComparedLinks(of: entity, deletes, at: index)
      try sendAll(statements.delete(entity), deletes, at: index) { delete, parameter, fields in
        fields.append(parameter, of: delete)
      }
    case .link(let table, let links):
      try sendAll(statements.link(table), links, at: index) { link, parameter, fields in
        try fields.append(parameter, of: link)
      }
    case .unlink(let table, let links):
      try sendAll(statements.unlink(table), links, at: index) { link, parameter, fields in
        try fields.append(parameter, of: link)
      }
    }
  }

  /// Queues a statement once for each element.
  private mutating func sendAll<Element>(
    _ statement: SaveStatement, _ elements: [Element], at step: Int,
    append: (Element, SaveParameter, PostgreSQLFields) throws -> Void
  ) throws {
    let text = PostgreSQLText(statement.text, types: statement.parameters.map(\.type))
    connection.logger.debug("\(statement.text)", metadata: ["rows": "\(elements.count)"])
    for (index, element) in elements.enumerated() {
      try connection.send(text) { fields in
        for parameter in statement.parameters { try append(element, parameter, fields) }
      }
      sent.append(.step(step, index..<(index + 1)))
    }
  }

  /// Queues a bulk statement once for each range of elements that one execution can take.
  private mutating func send<Element>(
    _ statement: PostgreSQLBulkStatement, _ elements: [Element], at step: Int,
    value: (Element, SaveParameter) -> AttributeValue
  ) throws {
    connection.logger.debug("\(statement.text.text)", metadata: ["rows": "\(elements.count)"])
    for range in statement.ranges(of: elements.count, { value(elements[$0], $1) }) {
      try connection.send(statement.text) { fields in
        for parameter in statement.parameters {
          try fields.append(array: elements[range].map { value($0, parameter) }, as: parameter.storage)
        }
      }
      sent.append(.step(step, range))
    }
  }

  /// Clears the references of relationships that the model leaves out, because its delete rules do not clear them.
  private mutating func sendClearing(to entity: EntityDescription, _ deletes: [RowDelete]) throws {
    for reference in store.schema.leftOutReferences(to: entity) where !reference.retainsTarget {
      let statement = PostgreSQLBulkStatement.clear(reference)
      let size = PostgreSQLBulkStatement.greatestRowCount
      for start in stride(from: 0, to: deletes.count, by: size) {
        let part = deletes[start..<min(start + size, deletes.count)]
        try connection.send(statement.text) { fields in
          try fields.append(array: part.map { AttributeValue.int($0.id.key) }, as: .int64)
        }
        sent.append(.clearing)
      }
    }
  }

  /// Finds links of deleted records that the save does not remove, see ``StoreSaveRequest/comparedLinks``. The server
  /// would remove the links with the records.
  private mutating func sendComparedLinks(of entity: EntityDescription, _ deletes: [RowDelete], at step: Int) throws {
    let sides = request.comparedSides(of: entity)
    guard !sides.isEmpty else { return }
    let statements = ComparedLinkStatements(schema: store.schema)
    let keys = deletes.map(\.id.key)
    try connection.send(statements.lock(keys, of: entity).rendered(by: PostgreSQLDialect()))
    sent.append(.lock)
    // A statement after the lock sees the links of the transactions that the lock has waited for.
    for side in sides {
      try connection.send(statements.linked(keys, at: side).rendered(by: PostgreSQLDialect()))
      sent.append(.links(step))
    }
  }

  /// Sends the queued statements, receives every response, and throws the refusal of a step.
  private mutating func receive(in transaction: inout PostgreSQLTransaction) throws {
    if hasBegun, sent.isEmpty { return }
    // Counted here, because `timed` makes the message at the end, when `sent` is empty.
    let count = sent.count
    try connection.timed(["save, \(count) statements"]) {
      try connection.synchronize()
      if !hasBegun { try transaction.receiveBeginning() }
      hasBegun = true
      var outdated: [SaveSubject] = []
      var hasUnnamedRefusal = false
      var failures = MemberCountFailures()
      for statement in sent {
        switch statement {
        case .lock, .clearing, .notification: _ = try connection.receive()
        case .links(let step): outdated += request.steps[step].subjects(deleting: try connection.receive().integers)
        case .count(let check): try receiveCounts(check, &failures)
        case .derivation(let update): derived += try store.receiveDerived(update, on: connection)
        case .step(let step, let elements):
          let subjects = request.steps[step].subjects(at: elements)
          let affected = try affectedCount(by: subjects)
          guard affected != elements.count, request.steps[step].requiresBaseVersions else { continue }
          hasUnnamedRefusal = hasUnnamedRefusal || subjects.isEmpty
          outdated += subjects
        }
      }
      sent.removeAll(keepingCapacity: true)
      try connection.discardResponses()
      if hasUnnamedRefusal { throw SaveRefusal(subjects: []) }
      if !outdated.isEmpty { throw SaveRefusal(subjects: outdated) }
      try failures.conclude()
    }
  }

  private mutating func sendNotifications() throws {
    for channel in request.signals.sorted() {
      try connection.sendNotification(store.notificationName, channel)
      sent.append(.notification)
    }
  }

  /// Locks, in statements of their own, the records that derived values depend on, and computes the values, all with
  /// the steps in one pipeline.
  private mutating func sendDerivations() throws {
    guard !request.derivations.isEmpty else { return }
    let statements = DerivationStatements(schema: store.schema, dialect: PostgreSQLDialect())
    for update in request.derivations {
      for lock in try statements.locks(update) {
        try connection.send(lock.rendered(by: PostgreSQLDialect()))
        sent.append(.lock)
      }
      try connection.send(statements.update(update).rendered(by: PostgreSQLDialect()))
      sent.append(.derivation(update))
    }
  }

  // MARK: Numbers of members

  /// Locks the owners before the first step, in one order for all saves, so that the numbers counted after the last
  /// step include every save with the lock before this one.
  ///
  /// - Parameter rowLocks: The locks of all rows that the save changes, see ``PostgreSQLRowLocks``.
  private mutating func sendLocks(_ rowLocks: [SQLFragment]) throws {
    for lock in rowLocks {
      try connection.send(lock.rendered(by: PostgreSQLDialect()))
      sent.append(.lock)
    }
    guard !request.memberCounts.isEmpty else { return }
    let statements = MemberCountStatements(schema: store.schema)
    for check in request.memberCounts {
      try connection.send(statements.lock(check).rendered(by: PostgreSQLDialect()))
      sent.append(.lock)
    }
  }

  /// Queues the statements that count the members of owners after the last step.
  private mutating func sendCounts() throws {
    guard !request.memberCounts.isEmpty else { return }
    let statements = MemberCountStatements(schema: store.schema)
    for check in request.memberCounts {
      try connection.send(
        statements.counts(check.relationship, of: check.owners).rendered(by: PostgreSQLDialect()))
      sent.append(.count(check))
    }
  }

  private func receiveCounts(_ check: MemberCountCheck, _ failures: inout MemberCountFailures) throws {
    failures.note(try connection.receive(), of: check, in: store.spaces[check.relationship.entity])
  }

  /// The number of rows that the next sent statement changed.
  ///
  /// - Throws: ``SaveRefusal`` for a violated constraint.
  private func affectedCount(by subjects: [SaveSubject]) throws -> Int {
    do {
      return try connection.receive().affectedCount
    } catch let error as CoherenceError {
      guard let failure = error.serverFailure, failure.isConstraintViolation else { throw error }
      throw SaveRefusal(subjects: subjects, failure: failure)
    }
  }

  // MARK: Copies

  /// Inserts rows by a COPY. The responses to all earlier statements must have been received.
  private func copy(_ rows: [Row], of entity: EntityDescription) throws {
    let table = try store.schema.requireTable(for: entity)
    let columns = table.positions(of: entity).map { table.columns[$0] }
    let names = [SQLTable.id, SQLTable.version, SQLTable.entity] + columns.map(\.name)
    let text = ("COPY \(name: table.name) (\(names: names)) FROM STDIN (FORMAT binary)" as SQLFragment)
      .text(in: PostgreSQLDialect())
    let (storages, recordName) = (columns.map(\.storage), table.recordName(of: entity))
    var next = 0
    do {
      try connection.timed(["\(text) -- \(rows.count) rows"]) {
        try connection.copy(text) { buffer in
          guard next < rows.count else { return false }
          while next < rows.count, buffer.count < 64 * 1024 {
            try buffer.append(rows[next], as: storages, recordName: recordName)
            next += 1
          }
          return true
        }
      }
    } catch let error as CoherenceError {
      // The server copies no rows into a table with row security, and inserts them one by one.
      guard let failure = error.serverFailure, failure.isConstraintViolation || failure.isUnsupportedFeature
      else { throw error }
      throw SaveRefusal(subjects: [], failure: failure)
    }
  }
}

// MARK: - Parameters

extension SaveParameter {
  /// The server's number for the type.
  fileprivate var type: Oid { PostgreSQLBinary.type(of: storage) }
}

extension PostgreSQLFields {
  @inline(__always)
  fileprivate func append(_ parameter: SaveParameter, of row: Row, baseVersion: Int64 = 0, name: String = "") throws {
    switch parameter {
    case .slot(let slot, let storage): try append(row[slot], as: storage)
    case .id: append(row.key)
    case .version: append(row.version)
    case .entity: append(name)
    default: append(baseVersion)
    }
  }

  fileprivate func append(_ parameter: SaveParameter, of delete: RowDelete) {
    if case .id = parameter { append(delete.id.key) } else { append(delete.baseVersion) }
  }

  fileprivate func append(_ parameter: SaveParameter, of link: Link) throws {
    switch parameter {
    case .source: append(link.source)
    case .target: append(link.target)
    case .sourcePosition: try append(link.sourcePosition.map(AttributeValue.int) ?? .null, as: .int64)
    default: try append(link.targetPosition.map(AttributeValue.int) ?? .null, as: .int64)
    }
  }
}

extension ByteBuffer {
  /// Appends a row in the binary format of COPY.
  fileprivate func append(_ row: Row, as storages: [StorageType], recordName: String) throws {
    append(Int16(3 + storages.count))
    append(8 as Int32)
    append(row.key)
    append(8 as Int32)
    append(row.version)
    append(Int32(recordName.utf8.count))
    append(recordName)
    // A row of another entity ends the process with a sentence.
    if row.count < storages.count { _ = row[storages.count - 1] }
    // In place, because a copy of a value counts a reference.
    try row.withValues { values in
      for slot in storages.indices { try appendField(values[slot], as: storages[slot]) }
    }
  }
}
