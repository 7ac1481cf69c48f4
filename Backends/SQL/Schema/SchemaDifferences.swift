import CoherenceCore

/// The differences that keep a store's schema from being extended to a model. Empty if additions are enough.
struct SchemaDifferences {
  /// The schema of the store, under the model's names of entities and properties.
  let old: StoredSchema
  /// The schema that the model asks for.
  let new: SQLSchema
  /// Whether a program has opened the store with the model before. Missing values, which another program may have left,
  /// then do not refuse the model.
  private let isKnownModel: Bool
  private let dialect: any SQLDialect
  /// Whether values may be converted to another type. `false` for a model older than the store.
  private let converts: Bool

  /// - Parameter age: The age of the model in comparison with the models that opened the store.
  init(from old: StoredSchema, to new: SQLSchema, age: ModelAge, dialect: any SQLDialect) {
    isKnownModel = age != .unseen
    converts = age != .older
    self.dialect = dialect
    self.old = old
    self.new = new
  }

  var mismatches: [SchemaMismatch] {
    hierarchyMismatches + leftOutEntities + new.tables.flatMap(columnMismatches) + relationshipMismatches
  }

  // MARK: Entities

  /// Entities with another superentity, and entities that became abstract.
  private var hierarchyMismatches: [SchemaMismatch] {
    let before = old.entitiesByName
    return new.tables.flatMap { table in
      table.root.hierarchy.compactMap { entity -> SchemaMismatch? in
        guard let stored = before[entity.name] else { return nil }
        if stored.parent != entity.superentity?.name {
          return .obstacle(
            "'\(entity.name)' \(Self.inherits(stored.parent)) in the store and "
              + "\(Self.inherits(entity.superentity?.name)) in the model.", in: table.name)
        }
        if entity.isAbstract, !stored.isAbstract {
          return .obstacle(
            "'\(entity.name)' has records in the store and is abstract in the model.", in: table.name,
            count: records(of: [entity.name], in: table.name))
        }
        return nil
      }
    }
  }

  private static func inherits(_ parent: String?) -> String {
    parent.map { "inherits from '\($0)'" } ?? "inherits from nothing"
  }

  /// Entities that the model leaves out of a hierarchy that it has. Their records share the table: the model can
  /// neither show them nor skip them.
  private var leftOutEntities: [SchemaMismatch] {
    new.tables.flatMap { table -> [SchemaMismatch] in
      let wanted = Set(table.root.hierarchy.map(\.name))
      let stored = old.table(ofRoot: table.root.name)?.entities ?? []
      return stored.filter { !wanted.contains($0.name) && !$0.isAbstract }.map { entity in
        .loss(
          "The model leaves out '\(entity.name)', whose records share the table of '\(table.root.name)'.",
          table: table.name, column: nil, count: records(of: [entity.name], in: table.name),
          drops: SchemaDrops(entities: [table.root.name: [entity.name]]))
      }
    }
  }

  // MARK: Columns

  /// The differences between the columns of a table and those that the store has.
  private func columnMismatches(_ table: SQLTable) -> [SchemaMismatch] {
    guard let storedTable = old.table(ofRoot: table.root.name) else { return [] }
    return table.columns.flatMap { column in
      if let stored = storedTable.column(column.key) { return changeMismatches(column, stored, in: storedTable) }
      return additionMismatches(column, in: table, storedTable)
    }
  }

  /// The differences between a column of the model and the stored column of the same property.
  private func changeMismatches(
    _ column: SQLColumn, _ stored: StoredSchema.Column, in table: StoredSchema.Table
  ) -> [SchemaMismatch] {
    let wanted = StoredSchema.Column(column)
    let path = "'\(wanted.entity).\(wanted.slot)'"
    if wanted.type != stored.type {
      let sentence = "\(path) is of type \(stored.type) in the store and \(wanted.type) in the model"
      let entities = old.entityNames(from: stored.entity)
      let conversion = ColumnConversion(stored, to: column, root: table.root, entities: entities)
      if converts, stored.isDerived == true, wanted.isDerived == true, conversion?.mayLoseValues != false {
        return [
          .replacement("\(sentence).", table: table.name, column: stored.name, drops: drops(of: stored, in: table))
        ]
      }
      guard converts, let conversion else {
        let isConvertible =
          [stored.type, wanted.type].allSatisfy { StorageType(ofTypeNamed: $0) != nil } && wanted.isDerived != true
        let advice = isConvertible && converts ? "; a conversion of the attribute, as `converting`, keeps them" : ""
        return [loss("\(sentence)\(advice).", of: stored, in: table)]
      }
      return [conversionMismatch(sentence, conversion, of: stored, in: table)]
        + (conversion.mayLoseValues ? [] : missingValueMismatches(column, stored, in: table))
    }
    return missingValueMismatches(column, stored, in: table)
  }

  /// The difference that a conversion ends, except for the values that do not fit the new type.
  private func conversionMismatch(
    _ sentence: String, _ conversion: ColumnConversion, of column: StoredSchema.Column, in table: StoredSchema.Table
  ) -> SchemaMismatch {
    var misfits: SQLFragment?
    if case .numbers(let numbers) = conversion.method {
      misfits = numbers.misfit("\(name: column.name)", dialect).map {
        "\(records(of: conversion.entities, in: table.name)) AND (\($0))"
      }
    }
    return .conversion(
      conversion,
      "\(sentence), which some values do not fit; keep the type, or give the attribute a conversion, as `converting`.",
      table: table.name, column: column.name, misfits: misfits)
  }

  /// Records without a value that the model requires.
  private func missingValueMismatches(
    _ column: SQLColumn, _ stored: StoredSchema.Column, in table: StoredSchema.Table
  ) -> [SchemaMismatch] {
    let wanted = StoredSchema.Column(column)
    let path = "'\(wanted.entity).\(wanted.slot)'"
    if stored.isOptional, !wanted.isOptional, column.defaultValue.isNull, !isKnownModel {
      let missing: SQLFragment =
        "\(records(of: old.entityNames(from: stored.entity), in: table.name)) AND \(name: stored.name) IS NULL"
      return [
        .obstacle(
          "\(path) became required and has no default for records without a value.", in: table.name, count: missing)
      ]
    }
    return []
  }

  /// The differences that a new column of the model causes.
  private func additionMismatches(
    _ column: SQLColumn, in table: SQLTable, _ storedTable: StoredSchema.Table
  ) -> [SchemaMismatch] {
    let wanted = StoredSchema.Column(column)
    let path = "'\(wanted.entity).\(wanted.slot)'"
    let related = Set((column.slot.entity.ancestors + column.slot.entity.hierarchy).map(\.name))
    let remaining = Set(table.columns.map(\.key))
    // A property may get another entity and another name at once.
    let names = [wanted.slot] + column.slot.formerNames
    let moved = storedTable.columns.first {
      names.contains($0.slot) && related.contains($0.entity) && !remaining.contains($0.key)
    }
    var mismatches: [SchemaMismatch] = []
    if let moved {
      let name = moved.slot == wanted.slot ? "" : " as '\(moved.slot)'"
      mismatches.append(
        loss("\(path) is declared by '\(moved.entity)'\(name) in the store.", of: moved, in: storedTable))
    }
    let hasRecords = storedTable.entities.contains { $0.name == wanted.entity }
    if hasRecords, !wanted.isOptional, column.defaultValue.isNull {
      mismatches.append(
        .obstacle(
          "\(path) is new and required; give it a default for the records that there are, or make it optional.",
          in: table.name, count: records(of: old.entityNames(from: wanted.entity), in: table.name)))
    }
    return mismatches
  }

  /// The loss of a column's values.
  private func loss(
    _ sentence: String, of column: StoredSchema.Column, in table: StoredSchema.Table
  ) -> SchemaMismatch {
    .loss(
      sentence, table: table.name, column: column.name, count: values(of: column, in: table),
      drops: drops(of: column, in: table))
  }

  private func drops(of column: StoredSchema.Column, in table: StoredSchema.Table) -> SchemaDrops {
    SchemaDrops(columns: [SchemaDrops.Column(root: table.root, key: column.key)])
  }

  /// Counts the records of entities.
  func records(of entities: [String], in table: String) -> SQLFragment {
    """
    SELECT COUNT(*) FROM \(name: table) \
    WHERE \(name: SQLTable.entity) \(list: old.recordNames(of: entities).map(AttributeValue.string), as: .string)
    """
  }

  // MARK: Relationships

  private var relationshipMismatches: [SchemaMismatch] {
    let changed = changedRelationships
    let keys = Set(changed.map { SQLColumn.Key(entity: $0.stored.entity, slot: $0.stored.name) })
    return changed.compactMap { mismatch($0.sentence, of: $0.stored, besides: keys) } + renamedLinks + movedLinks
  }

  /// A stored relationship that has another form in the model.
  private struct ChangedRelationship {
    let stored: StoredSchema.Relationship
    /// The difference.
    let sentence: String
  }

  /// Relationships that became to-one or to-many, lead to another entity, or have an inverse of another kind.
  private var changedRelationships: [ChangedRelationship] {
    struct Name: Hashable {
      let entity: String
      let name: String
    }
    let before = Dictionary(
      old.relationships.map { (Name(entity: $0.entity, name: $0.name), $0) }, uniquingKeysWith: { first, _ in first })
    return StoredSchema(new).relationships.compactMap { wanted -> ChangedRelationship? in
      guard let stored = before[Name(entity: wanted.entity, name: wanted.name)],
        let difference = Self.difference(of: wanted, from: stored)
      else { return nil }
      return ChangedRelationship(stored: stored, sentence: difference)
    }
  }

  private static func difference(
    of wanted: StoredSchema.Relationship, from stored: StoredSchema.Relationship
  ) -> String? {
    let path = "'\(wanted.entity).\(wanted.name)'"
    if stored.isToMany != wanted.isToMany {
      return "\(path) is to-\(stored.isToMany ? "many" : "one") in the store and "
        + "to-\(wanted.isToMany ? "many" : "one") in the model."
    }
    if stored.destination != wanted.destination {
      return "\(path) leads to '\(stored.destination)' in the store and to '\(wanted.destination)' in the model."
    }
    return stored.storage != wanted.storage
      ? "The inverse of \(path) is of another kind in the store than in the model." : nil
  }

  /// The loss that another form of a relationship causes; `nil` if the loss is that of the inverse.
  ///
  /// - Parameter changed: The relationships with another form.
  private func mismatch(
    _ sentence: String, of stored: StoredSchema.Relationship, besides changed: Set<SQLColumn.Key>
  ) -> SchemaMismatch? {
    let path = "\(stored.entity).\(stored.name)"
    let table = old.tables.first { $0.entities.contains { $0.name == stored.entity } }
    let key = SQLColumn.Key(entity: stored.entity, slot: stored.name)
    if stored.storage == "column", let table, let column = table.column(key) {
      return loss(sentence, of: column, in: table)
    }
    let links = old.linkTables.first { old.isSide(path, of: $0.links) }
    if stored.storage == "links", let links { return loss(sentence, of: links) }
    guard stored.storage == "inverse",
      let members = old.tables.first(where: { $0.entities.contains { $0.name == stored.destination } })
    else { return .obstacle(sentence, in: table?.name ?? stored.entity) }
    // The stored schema does not name the inverse. An inverse with another form is a loss of its own.
    let columns = members.columns.filter { column in
      guard column.type == "reference", !changed.contains(column.key) else { return false }
      let relationship = old.relationships.first { $0.entity == column.entity && $0.name == column.slot }
      guard let table, let relationship else { return true }
      return table.entities.contains { $0.name == relationship.destination }
    }
    if columns.isEmpty { return nil }
    let counts = columns.map { "(SELECT COUNT(\(name: $0.name)) FROM \(name: members.name))" as SQLFragment }
    let total: SQLFragment = "SELECT \(counts.joined(separator: " + "))"
    return .obstacle(sentence, in: members.name, count: total)
  }

  private func loss(_ sentence: String, of links: StoredSchema.LinkTable) -> SchemaMismatch {
    .loss(
      sentence, table: links.name, column: nil, count: "SELECT COUNT(*) FROM \(name: links.name)",
      drops: SchemaDrops(linkTables: [links.name]))
  }

  /// Links are named after both relationships: a new inverse, or one left out, gives them another name.
  private var renamedLinks: [SchemaMismatch] {
    let wanted = Set(new.linkTables.map(\.links.name))
    return new.linkTables.compactMap { table in
      guard !old.linkTables.contains(where: { $0.links == table.links.name }) else { return nil }
      let sides = [table.links.forward, table.links.backward].compactMap { $0 }
      let paths = sides.map { "\($0.entity.name).\($0.name)" }
      let former = old.linkTables.first { stored in
        !wanted.contains(stored.links) && paths.contains { old.isSide($0, of: stored.links) }
      }
      return former.map {
        loss("The inverse of '\(table.links.forward.name)' differs between the store and the model.", of: $0)
      }
    }
  }
}

extension SchemaDifferences {
  /// Links of a relationship without an inverse, which a superentity or a subentity declares in the store. The inverse of
  /// a relationship leads to another entity after a move, which is a difference of its own.
  private var movedLinks: [SchemaMismatch] {
    let wanted = Set(new.linkTables.map(\.links.name))
    return new.linkTables.compactMap { table in
      let relationship = table.links.forward
      guard table.links.backward == nil, !old.linkTables.contains(where: { $0.links == table.links.name }) else {
        return nil
      }
      let entities = (relationship.entity.ancestors + relationship.entity.hierarchy).map(\.name)
      let names = [relationship.name] + relationship.formerNames
      let paths = entities.flatMap { entity in names.map { "\(entity).\($0)" } }
      return old.linkTables.first { paths.contains($0.links) && !wanted.contains($0.links) }.map { links in
        loss(
          "'\(relationship.entity.name).\(relationship.name)' is declared as '\(links.links)' in the store.", of: links)
      }
    }
  }
}

extension StoredSchema {
  /// Whether a relationship is one of the two sides of links.
  ///
  /// The name of the links joins the paths of both relationships with a hyphen. A path may have hyphens of its own, so
  /// that the name cannot be split: it begins or ends with the path, unless another relationship has a longer path there.
  ///
  /// - Parameters:
  ///   - path: The path of the relationship, as `Entity.relationship`.
  ///   - links: The name of the links.
  fileprivate func isSide(_ path: String, of links: String) -> Bool {
    func begins(_ path: String) -> Bool { links == path || links.hasPrefix("\(path)-") }
    func ends(_ path: String) -> Bool { links == path || links.hasSuffix("-\(path)") }
    let paths = relationships.map { "\($0.entity).\($0.name)" }
    if begins(path), !paths.contains(where: { $0.hasPrefix("\(path)-") && begins($0) }) { return true }
    return ends(path) && !paths.contains { $0.hasSuffix("-\(path)") && ends($0) }
  }
}

extension SQLColumn {
  /// The value of existing records in a new column: the default of an attribute.
  var defaultValue: AttributeValue {
    if case .attribute(let attribute) = slot { return attribute.defaultValue }
    return .null
  }
}

extension EntityDescription {
  /// The superentities, from the entity's own superentity to the root.
  fileprivate var ancestors: [EntityDescription] { superentity.map { [$0] + $0.ancestors } ?? [] }
}
