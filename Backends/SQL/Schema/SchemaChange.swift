package import CoherenceCore
import Foundation
import Logging

/// The change of a store's schema made when the store is opened.
package struct SchemaChange {
  package private(set) var schema: SQLSchema
  /// The stages before the statements: conversions, each with the statements that precede it.
  private(set) var stages: [SchemaStage] = []
  /// The statements to run.
  private(set) var statements: [SQLFragment] = []
  /// The unique indexes to make after the statements; see ``creations(_:)``.
  private(set) var constraints: [SchemaConstraint] = []
  /// The existing tables in which the change computes derived values anew. No other writer may change their records
  /// until the change ends: its save would compute a value from later records, which the change would overwrite.
  package private(set) var derivedTables: [String] = []
  /// The state that the store records of itself after the change.
  package private(set) var state: StoreState
  /// Whether the store needs a look-up or a write.
  package private(set) var isNeeded = true
  private let environment: StoreEnvironment
  let dialect: any SQLDialect
  /// The recorded state before the change; `nil` for a new store.
  private let before: StoreState?
  /// The stored schema under the model's names of entities and properties.
  let namedSchema: StoredSchema
  /// The age of the model in comparison with the models that opened the store.
  private let age: ModelAge
  /// Possible obstacles, to be looked up before the statements run.
  private var mismatches: [SchemaMismatch] = []
  /// Possible undeclared renames, to be looked up before the statements run.
  private var suspectedRenames: [SuspectedRename] = []
  /// Sentences about values that the program may miss.
  private var warnings: [String] = []

  /// Compares a store with an environment.
  ///
  /// - Parameters:
  ///   - stored: The recorded state of the store; `nil` for a location without a store.
  ///   - location: The location of the store, for messages.
  ///   - elsewhere: The advice for opening another store beside this store, for messages.
  /// - Throws: ``ErrorCode/incompatibleModel``; ``ErrorCode/limitExceeded`` for a table with too many columns;
  ///   ``ErrorCode/notADatabase`` for a partial model at a location without a store.
  package init(
    from stored: StoreState?, to environment: StoreEnvironment, dialect: any SQLDialect, location: String,
    elsewhere: String
  ) throws {
    self.environment = environment
    self.dialect = dialect
    before = stored
    guard let stored else {
      if environment.isPartialModel { throw Self.missing(at: location) }
      let identifier = StoreIdentifier(UUID().uuidString)
      schema = SQLSchema(environment: environment, dialect: dialect)
      statements = SchemaMigration(creating: schema, dialect: dialect).statements
      state = StoreState(
        metadata: environment.freshMetadata(identifier: identifier),
        schema: StoredSchema.empty.merging(StoredSchema(schema), isNewest: true))
      namedSchema = .empty
      age = .newest
      try checkColumns()
      return
    }
    let record = environment.modelRecord
    // A part of the store's model counts as an older model, which leaves out everything else in the store.
    age = environment.isPartialModel ? .older : stored.metadata.age(ofModelWith: record.versionHashes)
    namedSchema = stored.schema.named(for: environment, age, dialect: dialect)
    try Self.checkIsRelated(environment, to: stored, as: namedSchema, location: location, elsewhere: elsewhere)
    schema = SQLSchema(environment: environment, dialect: dialect, stored: namedSchema, keepsRules: age == .older)
    state = stored
    try plan(from: stored, to: record)
  }

  /// Plans the change of an existing store.
  ///
  /// - Parameter record: The record of the environment's model.
  private mutating func plan(from stored: StoreState, to record: ModelRecord) throws {
    let isSame = stored.metadata.versionHashes == record.versionHashes
    // Indexes and delete rules are no difference of models: without the right to change them they stay as they are.
    if isSame, !canMigrate {
      isNeeded = false
      return
    }
    // The usual case: one program, whose model has not changed.
    let differences = SchemaDifferences(from: namedSchema, to: schema, age: age, dialect: dialect)
    let lateRenames = age == .older ? [] : differences.lateRenames
    if isSame, stored.metadata.models.count == 1, lateRenames.isEmpty,
      namedSchema.merging(StoredSchema(schema)) == stored.schema
    {
      isNeeded = false
      return
    }
    mismatches = differences.mismatches
    if age == .unseen { suspectedRenames = differences.suspectedRenames }
    // Planned as if every part of another form were dropped. `resolve(_:)` refuses the change if it may not be.
    layOut(dropping: mismatches.compactMap(\.drops).filter(\.entities.isEmpty))
    guard canMigrate else {
      guard needsNothing else { throw Self.refusal(stored.metadata, record.versionHashes, environment) }
      isNeeded = false
      return
    }
    mismatches += lateRenames
    state.metadata.recordOpening(by: record)
    isNeeded = writesStore || !mismatches.isEmpty
    try checkColumns()
  }

  /// Refuses a table with more columns than the engine allows.
  ///
  /// - Throws: ``ErrorCode/limitExceeded``.
  private func checkColumns() throws {
    for table in state.schema.tables where table.columns.count + 3 > dialect.maximumColumns {
      throw CoherenceError(
        .limitExceeded,
        "'\(table.root)' with its subentities has \(table.columns.count) properties, those of other models included; "
          + "the store keeps at most \(dialect.maximumColumns - 3) in one table. Move some to an entity of their own.")
    }
  }

  /// Whether the change writes to the store.
  package var writesStore: Bool {
    !statements.isEmpty || !stages.isEmpty || !constraints.isEmpty || state != before
  }

  /// Whether the store has every part that the model needs, because an earlier change has extended the store. Without
  /// the right to change the store, a key stays without its constraint, like other indexes.
  private var needsNothing: Bool {
    age != .unseen && statements.isEmpty && stages.isEmpty && mismatches.isEmpty && constraints.allSatisfy(\.isKey)
  }

  private var canMigrate: Bool {
    environment.allowsMigration && !environment.isReadOnly && !environment.isPartialModel
  }

  /// Whether a program with another model opened the store last.
  private var wasOpenedByOtherModel: Bool { before?.metadata.versionHashes != environment.modelRecord.versionHashes }

  /// The names of the entities that the model of the last program had in another form, or not at all. The program may
  /// have saved records without their derived values.
  private var rederived: Set<String> {
    let hashes = before?.metadata.versionHashes ?? [:]
    return Set(environment.modelRecord.versionHashes.filter { hashes[$0.key] != $0.value }.keys)
  }

  /// Lays out the tables and plans the migration to them, with the conversions of columns.
  private mutating func layOut(dropping drops: [SchemaDrops]) {
    let drops = drops.reduce(into: SchemaDrops()) { $0.formUnion($1) }
    let conversions = mismatches.compactMap(\.conversion)
    var remaining = namedSchema.dropping(drops)
    // A dropped column may make way for that of a former name.
    if !drops.columns.isEmpty { remaining = remaining.renamed(for: environment) }
    remaining = remaining.converting(conversions, for: dialect)
    schema = SQLSchema(
      environment: environment, dialect: dialect, stored: remaining, keepsRules: age == .older,
      former: drops == SchemaDrops() ? nil : namedSchema)
    let migration = SchemaMigration(
      from: MigrationSource(
        stored: namedSchema, remaining: remaining, drops: drops, conversions: conversions),
      // A user without the right to change the store reads it without the completion.
      to: schema, isKnownModel: age != .unseen, wasOpenedByOtherModel: wasOpenedByOtherModel, completes: canMigrate,
      rederiving: rederived, dialect: dialect)
    stages = migration.stages
    statements = migration.statements
    constraints = migration.constraints
    derivedTables = migration.derivedTables.sorted()
    state.schema = remaining.merging(StoredSchema(schema), isNewest: age == .unseen)
  }

  // MARK: Losses

  /// The tables whose content decides whether the change has a loss or an obstacle. No other writer may change them
  /// before the change. The tables of suspected renames are not among them: the change drops none of their values.
  package var countedTables: [String] { Set(mismatches.filter { $0.count != nil }.map(\.table)).sorted() }

  /// Counts the values and records that the change would drop. To be called in the transaction of the change, before
  /// its statements run.
  ///
  /// - Parameter count: Runs a statement that counts.
  /// - Returns: The allowed losses of the change; empty if it drops nothing.
  /// - Throws: ``ErrorCode/incompatibleModel``, with every difference that no change can end, or only with a loss that
  ///   is not allowed.
  package mutating func resolve(_ count: (SQLFragment) throws -> Int) throws -> [DataLoss] {
    var obstacles: [String] = []
    var losses: [DataLoss] = []
    var lostParts: [String] = []
    var drops: [SchemaDrops] = []
    try lookUpSuspectedRenames(count)
    for mismatch in mismatches {
      var number = try mismatch.count.map(count)
      if mismatch.count == nil, mismatch.drops != nil { number = 0 }
      if mismatch.isOptional, let number, number > 0 {
        warnings.append("\(mismatch.sentence) (\(number))")
        continue
      }
      if mismatch.conversion != nil {
        guard let number, number > 0 else { continue }
        losses.append(mismatch.loss(of: number))
        lostParts.append(mismatch.lostParts(number))
        continue
      }
      // A column without values may have any form; an entity without records has nothing to delete.
      if number == 0, mismatch.drops?.entities.isEmpty != false { mismatch.drops.map { drops.append($0) } }
      if number == 0 { continue }
      if let number, let lost = mismatch.drops {
        drops.append(lost)
        losses.append(mismatch.loss(of: number))
        lostParts.append(mismatch.lostParts(number))
      } else {
        let records = number.map { " (\($0) \($0 == 1 ? "record" : "records").)" } ?? ""
        obstacles.append(mismatch.sentence + records)
      }
    }
    guard obstacles.isEmpty, losses.isEmpty || environment.allowsDataLoss else {
      throw refusal(obstacles, losses, of: lostParts)
    }
    if !drops.isEmpty { layOut(dropping: drops) }
    return losses
  }

  /// The tables that get unique indexes. No other writer may change their records until these are made.
  package var constrainedTables: [String] { Set(constraints.map(\.table)).sorted() }

  /// Looks for records that the unique indexes do not allow. To be called in the transaction of the change, after its
  /// statements were run.
  ///
  /// - Parameter numbers: Runs a statement and returns the integers in its first column.
  /// - Returns: The statements that make the indexes.
  /// - Throws: ``ErrorCode/duplicateKeys`` with all duplicates, or ``ErrorCode/incompatibleModel`` when a declared
  ///   uniqueness constraint has duplicates.
  func creations(_ numbers: (SQLFragment) throws -> [Int64]) throws -> [SQLFragment] {
    try refuseDuplicates(under: constraints, numbers)
    return constraints.map(\.creation)
  }

  /// Looks for records that some of the unique indexes do not allow.
  ///
  /// - Throws: As ``creations(_:)``.
  func refuseDuplicates(
    under constraints: [SchemaConstraint], _ numbers: (SQLFragment) throws -> [Int64]
  ) throws {
    var found: [(SchemaConstraint, DuplicateKeys)] = []
    for constraint in constraints {
      let duplicates = try constraint.duplicates(
        in: state.metadata.identifier, model: environment.model, numbers)
      if let duplicates { found.append((constraint, duplicates)) }
    }
    guard found.isEmpty else { throw CoherenceError.duplicates(found) }
  }

  /// Counts the stored values of left-out attributes that may be undeclared renames.
  ///
  /// - Throws: ``ErrorCode/incompatibleModel`` where the environment asks for it.
  private mutating func lookUpSuspectedRenames(_ count: (SQLFragment) throws -> Int) throws {
    for suspicion in suspectedRenames {
      let number = try count(suspicion.count)
      if number > 0 { warnings.append(suspicion.sentence(of: number) + ".") }
    }
    guard environment.refusesSuspectedRenames, !warnings.isEmpty else { return }
    throw CoherenceError(
      .incompatibleModel,
      "The model may rename attributes without saying so. \(warnings.joined(separator: " ")) Nothing was changed. "
        + "Declare the former name of a renamed attribute, as `formerNames`, or leave out the option "
        + "'\(StoreOption.refusesSuspectedRenames)'.")
  }

  /// The refusal of the model. The advice to update the program comes before any advice about the store: the store may
  /// have been written by a later program, whose values the option for losses would destroy.
  private func refusal(_ obstacles: [String], _ losses: [DataLoss], of lostParts: [String]) -> CoherenceError {
    var sentences = ["The store cannot be extended to the model."]
    sentences += obstacles + losses.map { "\($0)." }
    if let updateAdvice { sentences.append(updateAdvice) }
    sentences.append("Nothing was changed.")
    if obstacles.isEmpty {
      sentences.append(
        "The option '\(StoreOption.allowsDataLoss)' destroys, for every program that uses the store: "
          + "\(Self.list(lostParts)).")
    } else if age == .older {
      sentences.append(
        "`overwriteIncompatibleStore` sets the store aside with all its records, for the later program too.")
    } else {
      sentences.append(
        "Migrate it with a program of your own, or set it aside with `overwriteIncompatibleStore`.")
    }
    var error = CoherenceError(.incompatibleModel, sentences.joined(separator: " "))
    error.dataLosses = losses
    return error
  }

  /// The advice to update the program; `nil` for the newest model of the store. The hashes of models have no order, so
  /// that only the record of the store's models shows that a model is older. A model without a record may be older too.
  private var updateAdvice: String? {
    let newest = before?.metadata.models.last
    switch age {
    case .newest: return nil
    case .older:
      return newest.map { "This model is older than the store, which \($0) has extended; update the program." }
    case .unseen:
      let last = newest.map { "\($0)" } ?? "the last model of the store"
      return "If this model is older than \(last), update the program."
    }
  }

  // MARK: Log

  /// Logs the effects of the change.
  ///
  /// - Parameter backup: The location of a copy of the store from before the change; `nil` without a copy.
  package func log(_ losses: [DataLoss], backup: String?) {
    let logger = environment.logger
    guard let before else { return }
    if !warnings.isEmpty {
      logger.warning(
        """
        The model may miss stored values. If an attribute was renamed, declare its former name, as `formerNames`: the \
        attribute takes the values over while it has none of its own.
        """, metadata: ["attributes": .array(warnings.map { "\($0)" })])
    }
    let conversions = mismatches.compactMap(\.conversion).map { "\($0.key.entity).\($0.key.slot)" }
    if !conversions.isEmpty {
      logger.notice(
        "Converted values to other types of the model.", metadata: ["attributes": "\(Self.list(conversions))"])
    }
    let retained = state.schema.retainedUniqueIndexes
    if age == .unseen, !retained.isEmpty {
      logger.warning(
        """
        The store does not know the model, which leaves out parts of the newest model and may be older. The uniqueness \
        constraints of the newest model stay, until a further model keeps all properties of this model.
        """, metadata: ["constraints": "\(Self.list(retained))"])
    }
    if !losses.isEmpty {
      logger.warning(
        "Dropped values and records that the model cannot keep, as '\(StoreOption.allowsDataLoss)' allows.",
        metadata: ["dropped": .array(losses.map { "\($0)" }), "backup": "\(backup ?? "none")"])
    }
    if age == .older, before.metadata.versionHashes != state.metadata.versionHashes,
      let newest = before.metadata.models.last
    {
      logger.warning(
        "The model is older than the store. Parts of the store that the model leaves out stay as they are.",
        metadata: ["newest": "\(newest)", "leftOut": "\(leftOut)"])
    } else if before.metadata.versionHashes != state.metadata.versionHashes {
      logger.notice(
        "Extended the store to the model.",
        metadata: ["statements": "\(statements.count + constraints.count)", "leftOut": "\(leftOut)"])
    }
  }

  /// The hierarchies of the store that the model leaves out, and the columns that it leaves out of its own hierarchies.
  private var leftOut: String {
    let tables = state.schema.tables.filter { table in !schema.tables.contains { $0.root.name == table.root } }
    let columns = schema.tables.flatMap { table in
      let keys = Set(table.columns.map(\.key))
      return (state.schema.table(ofRoot: table.root.name)?.columns ?? []).filter { !keys.contains($0.key) }
    }
    return Self.list(tables.map(\.root) + columns.map { "\($0.entity).\($0.slot)" })
  }
}
