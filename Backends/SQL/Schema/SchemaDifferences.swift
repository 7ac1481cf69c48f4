import CoherenceCore

/// What keeps a store's schema from being extended to a model's, in words. Empty when adding and leaving out is enough.
struct SchemaDifferences {
  private let old: StoredSchema
  private let new: SQLSchema

  init(from old: StoredSchema, to new: SQLSchema) {
    self.old = old
    self.new = new
  }

  var sentences: [String] { hierarchyFaults + new.tables.flatMap(columnFaults) + relationshipFaults }

  // MARK: Entities

  private var hierarchyFaults: [String] {
    let before = Dictionary(uniqueKeysWithValues: old.tables.flatMap(\.entities).map { ($0.name, $0) })
    if new.tables.isEmpty, !before.isEmpty { return ["The store has entities, and the configuration has none."] }
    return new.tables.flatMap { $0.root.hierarchy }.compactMap { entity in
      guard let known = before[entity.name] else { return nil }
      if known.parent != entity.superentity?.name {
        return "'\(entity.name)' \(Self.inherits(known.parent)) in the store and "
          + "\(Self.inherits(entity.superentity?.name)) in the model."
      }
      if entity.isAbstract, !known.isAbstract {
        return "'\(entity.name)' has records in the store and is abstract in the model."
      }
      return nil
    }
  }

  private static func inherits(_ parent: String?) -> String {
    parent.map { "inherits from '\($0)'" } ?? "inherits from nothing"
  }

  // MARK: Columns

  private func columnFaults(_ table: SQLTable) -> [String] {
    guard let known = old.table(ofRoot: table.root.name) else { return [] }
    return table.columns.compactMap { column in
      if let stored = known.column(column.key) { return changeFault(column, stored) }
      return additionFault(column, in: table, known)
    }
  }

  private func changeFault(_ column: SQLColumn, _ stored: StoredSchema.Column) -> String? {
    let wanted = StoredSchema.Column(column)
    if wanted.type != stored.type {
      return "'\(wanted.entity).\(wanted.slot)' is of type \(stored.type) in the store and \(wanted.type) in the model."
    }
    if stored.isOptional, !wanted.isOptional, column.defaultValue.isNull {
      return "'\(wanted.entity).\(wanted.slot)' became required and has no default for records without a value."
    }
    return nil
  }

  private func additionFault(_ column: SQLColumn, in table: SQLTable, _ known: StoredSchema.Table) -> String? {
    let wanted = StoredSchema.Column(column)
    let path = "'\(wanted.entity).\(wanted.slot)'"
    let related = Set((column.slot.entity.ancestors + column.slot.entity.hierarchy).map(\.name))
    let remaining = Set(table.columns.map(\.key))
    let moved = known.columns.first {
      $0.slot == wanted.slot && related.contains($0.entity)
        && !remaining.contains(SQLColumn.Key(entity: $0.entity, slot: $0.slot))
    }
    if let moved { return "\(path) is declared by '\(moved.entity)' in the store." }
    let hasRecords = known.entities.contains { $0.name == wanted.entity }
    if hasRecords, !wanted.isOptional, column.defaultValue.isNull {
      return "\(path) is new and required; give it a default for the records that there are, or make it optional."
    }
    return nil
  }

  // MARK: Relationships

  private var relationshipFaults: [String] {
    struct Name: Hashable {
      let entity: String
      let name: String
    }
    let before = Dictionary(
      uniqueKeysWithValues: old.relationships.map { (Name(entity: $0.entity, name: $0.name), $0) })
    return StoredSchema(new).relationships.compactMap { wanted in
      guard let known = before[Name(entity: wanted.entity, name: wanted.name)] else { return nil }
      let path = "'\(wanted.entity).\(wanted.name)'"
      if known.isToMany != wanted.isToMany {
        return "\(path) is to-\(known.isToMany ? "many" : "one") in the store and "
          + "to-\(wanted.isToMany ? "many" : "one") in the model."
      }
      if known.destination != wanted.destination {
        return "\(path) leads to '\(known.destination)' in the store and to '\(wanted.destination)' in the model."
      }
      if known.storage != wanted.storage {
        return "The inverse of \(path) is of another kind in the store than in the model."
      }
      return nil
    } + renamedLinks
  }

  /// Links are named after both relationships: a new inverse, or one left out, gives them another name.
  private var renamedLinks: [String] {
    let wanted = Set(new.linkTables.map(\.links.name))
    return new.linkTables.compactMap { table in
      guard !old.linkTables.contains(where: { $0.links == table.links.name }) else { return nil }
      let parts = table.links.name.split(separator: "-")
      let former = old.linkTables.first { stored in
        !wanted.contains(stored.links) && stored.links.split(separator: "-").contains { parts.contains($0) }
      }
      return former == nil
        ? nil : "The inverse of '\(table.links.forward.name)' differs between the store and the model."
    }
  }
}

extension SQLColumn {
  /// What existing records get when the column is new: an attribute's default.
  var defaultValue: AttributeValue {
    if case .attribute(let attribute) = slot { return attribute.defaultValue }
    return .null
  }
}

extension EntityDescription {
  /// The entity that this one inherits from, and that one's, up to the root.
  fileprivate var ancestors: [EntityDescription] { superentity.map { [$0] + $0.ancestors } ?? [] }
}
