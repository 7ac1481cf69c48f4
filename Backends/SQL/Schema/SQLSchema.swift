package import CoherenceCore

/// The tables of a store for entities, properties and links.
///
/// A hierarchy has one table, named as its root entity, with a column for each property of its entities. Names that the
/// engine confuses or shortens are changed in a way that depends on the model alone; names that a store already has
/// never change.
package struct SQLSchema: Sendable {
  /// The table of the store's state: texts by key, see ``StoreState``.
  package static let metadataTable = "$coherence"
  /// The table of the next key of each hierarchy.
  package static let keyTable = "$keys"

  package let tables: [SQLTable]
  package let linkTables: [SQLLinkTable]
  /// The references of the store that the model leaves out or does not constrain, which the engine checks nevertheless.
  package let leftOutReferences: [SQLLeftOutReference]
  private let tablesByRoot: [ObjectIdentifier: SQLTable]
  private let linkTablesByLinks: [LinkTable: SQLLinkTable]

  init(tables: [SQLTable], linkTables: [SQLLinkTable], leftOutReferences: [SQLLeftOutReference] = []) {
    self.leftOutReferences = leftOutReferences
    self.tables = tables
    self.linkTables = linkTables
    tablesByRoot = Dictionary(uniqueKeysWithValues: tables.map { (ObjectIdentifier($0.root), $0) })
    linkTablesByLinks = Dictionary(uniqueKeysWithValues: linkTables.map { ($0.links, $0) })
  }

  /// The schema of a store for an environment.
  ///
  /// - Parameters:
  ///   - stored: The schema of the store, whose names stay.
  ///   - keepsRules: Whether indexes and constraints of the stored schema stay as they are, because the model is older.
  ///   - former: The schema of the store before a change drops parts. New parts get other names. Another program may
  ///     have the store open with an earlier model: its statements then fail, and no value of another form is read or
  ///     written.
  package init(
    environment: StoreEnvironment, dialect: any SQLDialect, stored: StoredSchema? = nil, keepsRules: Bool = false,
    former: StoredSchema? = nil
  ) {
    var builder = SQLSchemaBuilder(
      environment: environment, dialect: dialect, stored: stored, keepsRules: keepsRules, former: former)
    self = builder.build()
  }

  /// The left-out references that lead to an entity's hierarchy.
  package func leftOutReferences(to entity: EntityDescription) -> [SQLLeftOutReference] {
    guard !leftOutReferences.isEmpty, let table = table(for: entity) else { return [] }
    return leftOutReferences.filter { $0.target == table.name }
  }

  /// The table of an entity's hierarchy; `nil` when the store does not hold it.
  package func table(for entity: EntityDescription) -> SQLTable? { tablesByRoot[ObjectIdentifier(entity.root)] }
  /// The table of links; `nil` when the store does not hold both ends.
  package func linkTable(_ links: LinkTable) -> SQLLinkTable? { linkTablesByLinks[links] }

  /// Returns the table of an entity's hierarchy.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store does not hold the entity.
  package func requireTable(for entity: EntityDescription) throws -> SQLTable {
    guard let table = table(for: entity) else { throw Self.missingEntity(entity) }
    return table
  }

  /// The error for an entity that the store does not hold.
  package static func missingEntity(_ entity: EntityDescription) -> CoherenceError {
    CoherenceError(
      .noStore,
      "The store does not hold entity '\(entity.name)' of this model; attach it with a configuration that has it. An "
        + "identifier of an earlier container is found again by its text, with `objectID(forDescription:)`.")
  }

  /// Returns the table of links.
  ///
  /// - Throws: ``ErrorCode/noStore`` when the store does not hold both ends.
  package func requireLinkTable(_ links: LinkTable) throws -> SQLLinkTable {
    guard let table = linkTable(links) else {
      throw CoherenceError(
        .noStore, "The store does not hold both ends of '\(links.name)'; attach it with a configuration that has them.")
    }
    return table
  }
}
