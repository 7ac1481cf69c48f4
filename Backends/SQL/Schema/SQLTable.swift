package import CoherenceCore

/// The table of an entity hierarchy.
package final class SQLTable: Sendable {
  /// The key, the primary key of the table.
  package static let id = "$id"
  /// The version that optimistic locking compares.
  package static let version = "$version"
  /// The name of the record's own entity; see ``recordName(of:)``.
  package static let entity = "$entity"

  package let root: EntityDescription
  package let name: String
  /// One column for each property of the hierarchy, by the entity that declares it.
  package let columns: [SQLColumn]
  package let indexes: [SQLIndex]
  /// For each entity of the hierarchy, the position in `columns` of each slot.
  private let positions: [ObjectIdentifier: [Int]]

  /// Whether the table can have rows of several entities, including entities that the model leaves out.
  ///
  /// A hierarchy with one concrete entity is among them: while its store is open, a program with a newer model may add
  /// an entity beside the concrete one.
  package let isShared: Bool
  /// The name of each entity of the hierarchy in its records.
  private let recordNames: [ObjectIdentifier: String]

  /// - Parameters:
  ///   - recordNames: The name of each entity of the hierarchy in its records.
  ///   - hasLeftOutEntities: Whether the table may have records of entities that the model leaves out.
  init(
    root: EntityDescription, name: String, columns: [SQLColumn], indexes: [SQLIndex],
    recordNames: [ObjectIdentifier: String], hasLeftOutEntities: Bool
  ) {
    isShared = root.hierarchy.count > 1 || hasLeftOutEntities
    self.recordNames = recordNames
    self.root = root
    self.name = name
    self.columns = columns
    self.indexes = indexes
    var byKey: [SQLColumn.Key: Int] = [:]
    for (position, column) in columns.enumerated() { byKey[column.key] = position }
    var positions: [ObjectIdentifier: [Int]] = [:]
    for entity in root.hierarchy {
      positions[ObjectIdentifier(entity)] = entity.slots.map { byKey[SQLColumn.Key($0)]! }
    }
    self.positions = positions
  }

  /// The name of an entity of the hierarchy in its records. A model that renames the entity does not change the name.
  package func recordName(of entity: EntityDescription) -> String {
    recordNames[ObjectIdentifier(entity)] ?? entity.name
  }

  /// Whether a column that is made now gets the default of its attribute in the engine, if the engine has a constant
  /// for the default. A column of a unique index gets none: the second record with the default would be a duplicate.
  func allowsEngineDefault(of column: SQLColumn) -> Bool {
    !column.defaultValue.isNull && !indexes.contains { $0.isUnique && $0.columns.contains(column.name) }
  }

  /// The names in records of an entity and its subentities, without abstract entities.
  package func recordNames(of entity: EntityDescription) -> [String] { entity.concreteEntities.map(recordName) }

  /// The name of the hierarchy in the table of keys.
  package var keyName: String { recordName(of: root) }

  /// The positions in ``columns`` of an entity's slots, in slot order.
  package func positions(of entity: EntityDescription) -> [Int] { positions[ObjectIdentifier(entity)]! }

  /// The column of a slot.
  package func column(_ slot: Int, of entity: EntityDescription) -> SQLColumn { columns[positions(of: entity)[slot]] }

  /// The column of a to-one relationship or attribute.
  package func column(of property: PropertyDescription) -> SQLColumn? {
    columns.first { $0.key == SQLColumn.Key(property) }
  }
}

/// The column of a property.
package struct SQLColumn: Sendable {
  /// The identity of a column, independent of its name: the declaring entity's name and the slot's.
  package struct Key: Hashable, Sendable {
    package var entity: String
    package var slot: String

    package init(entity: String, slot: String) {
      self.entity = entity
      self.slot = slot
    }
    init(_ slot: Slot) { self.init(entity: slot.entity.name, slot: slot.name) }
    init(_ property: PropertyDescription) { self.init(entity: property.entity.name, slot: property.name) }
  }

  package let name: String
  package let slot: Slot
  /// The table whose rows the column points to, when the engine checks that they exist.
  package let foreignKey: SQLForeignKey?

  package var key: Key { Key(slot) }
  package var storage: StorageType { slot.storage }
}

/// A reference that the engine checks.
package struct SQLForeignKey: Sendable, Hashable, Codable {
  /// The name of the constraint, in dialects that name constraints.
  package var name: String
  /// The name of the table referred to.
  package var table: String
}

/// An index of a table.
package struct SQLIndex: Sendable, Hashable, Codable {
  package var name: String
  package var columns: [String]
  package var isUnique: Bool
  /// The names in records of the entities whose rows are in the index; `nil` for all rows.
  package var entities: [String]?

  /// Whether two indexes have the same columns, uniqueness and entities, whatever their names.
  package func isEquivalent(to other: SQLIndex) -> Bool {
    columns == other.columns && isUnique == other.isUnique && entities == other.entities
  }
}

/// The table of a relationship kept as links.
package struct SQLLinkTable: Sendable {
  // The columns as they are made. A table keeps them for ever: programs with either name of a relationship may have the
  // store open at once.
  static let source = "source"
  static let target = "target"
  static let sourcePosition = "sourcePosition"
  static let targetPosition = "targetPosition"

  // The columns as the model sees them.
  package var source: String { isReversed ? Self.target : Self.source }
  package var target: String { isReversed ? Self.source : Self.target }
  package var sourcePosition: String { isReversed ? Self.targetPosition : Self.sourcePosition }
  package var targetPosition: String { isReversed ? Self.sourcePosition : Self.targetPosition }

  package let links: LinkTable
  package let name: String
  /// The name of the sources' table.
  package let sourceTable: String
  /// The name of the targets' table.
  package let targetTable: String
  /// The index that finds links by the column of the targets.
  package let targetIndex: String
  /// Whether the model's sources are in the column of the targets.
  package let isReversed: Bool
}

extension Slot {
  /// The entity that declares the slot.
  package var entity: EntityDescription {
    switch self {
    case .attribute(let attribute): attribute.entity
    case .reference(let relationship), .position(let relationship): relationship.entity
    }
  }
}
