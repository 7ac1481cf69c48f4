import CoherenceCore

/// The schema that a store has, as it is written down in the store: what a later model is compared with.
package struct StoredSchema: Sendable, Hashable, Codable {
  package var tables: [Table]
  package var linkTables: [LinkTable]
  package var relationships: [Relationship]

  package struct Table: Sendable, Hashable, Codable {
    package var root: String
    package var name: String
    package var entities: [Entity]
    package var columns: [Column]
    package var indexes: [SQLIndex]

    package func column(_ key: SQLColumn.Key) -> Column? {
      columns.first { $0.entity == key.entity && $0.slot == key.slot }
    }
  }

  package struct Entity: Sendable, Hashable, Codable {
    package var name: String
    package var parent: String?
    package var isAbstract: Bool
  }

  package struct Column: Sendable, Hashable, Codable {
    /// The entity that declares the property.
    package var entity: String
    package var slot: String
    package var name: String
    /// What the column holds: the attribute's type, `reference` or `position`.
    package var type: String
    package var isOptional: Bool
    package var foreignKey: SQLForeignKey?
  }

  package struct LinkTable: Sendable, Hashable, Codable {
    /// The name of the links in the model.
    package var links: String
    package var name: String
    package var sourceTable: String
    package var targetTable: String
    package var targetIndex: String
  }

  package struct Relationship: Sendable, Hashable, Codable {
    package var entity: String
    package var name: String
    package var destination: String
    package var isToMany: Bool
    /// How it is kept: `column`, `inverse` or `links`.
    package var storage: String
  }
}

extension StoredSchema {
  package init(_ schema: SQLSchema) {
    tables = schema.tables.map(Table.init)
    linkTables = schema.linkTables.map {
      LinkTable(
        links: $0.links.name, name: $0.name, sourceTable: $0.sourceTable, targetTable: $0.targetTable,
        targetIndex: $0.targetIndex)
    }
    relationships = schema.tables.flatMap { $0.root.hierarchy }
      .flatMap { entity in entity.relationships.filter { $0.entity === entity } }
      .map(Relationship.init)
      .sorted { ($0.entity, $0.name) < ($1.entity, $1.name) }
  }

  package func table(ofRoot root: String) -> Table? { tables.first { $0.root == root } }

  /// The names that tables, indexes and constraints have.
  var relationNames: [String] {
    tables.flatMap { [$0.name] + $0.indexes.map(\.name) + $0.columns.compactMap { $0.foreignKey?.name } }
      + linkTables.flatMap { [$0.name, $0.targetIndex] }
  }
}

extension StoredSchema.Table {
  init(_ table: SQLTable) {
    self.init(
      root: table.root.name, name: table.name,
      entities: table.root.hierarchy.map {
        StoredSchema.Entity(name: $0.name, parent: $0.superentity?.name, isAbstract: $0.isAbstract)
      }.sorted { $0.name < $1.name },
      columns: table.columns.map(StoredSchema.Column.init), indexes: table.indexes)
  }
}

extension StoredSchema.Column {
  init(_ column: SQLColumn) {
    var isOptional = true
    let type: String
    switch column.slot {
    case .attribute(let attribute):
      type = attribute.type.canonicalName
      isOptional = attribute.isOptional
    case .reference: type = "reference"
    case .position: type = "position"
    }
    self.init(
      entity: column.key.entity, slot: column.key.slot, name: column.name, type: type, isOptional: isOptional,
      foreignKey: column.foreignKey)
  }
}

extension StoredSchema.Relationship {
  init(_ relationship: RelationshipDescription) {
    let storage =
      switch relationship.storage {
      case .column: "column"
      case .inverseColumn: "inverse"
      case .links: "links"
      }
    self.init(
      entity: relationship.entity.name, name: relationship.name, destination: relationship.destination.name,
      isToMany: relationship.isToMany, storage: storage)
  }
}
