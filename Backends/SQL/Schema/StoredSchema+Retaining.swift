import CoherenceCore

// A model without a record in the store may be earlier than the newest model: a program of an earlier release may
// attach the store for the first time. Such a model only leaves parts of the newest model out. The other indexes and
// the checked references of the store stay, because programs with the newest model rely on both.

extension StoredSchema {
  /// The schema under the names of a model's entities and properties.
  ///
  /// For a model without a record, the schema lists the indexes and checked references that stay besides those of the
  /// model.
  ///
  /// - Parameter age: The age of the model in comparison with the models that opened the store.
  func named(for environment: StoreEnvironment, _ age: ModelAge, dialect: any SQLDialect) -> StoredSchema {
    var result = renamed(for: environment)
    guard age == .unseen else { return result }
    for index in result.tables.indices {
      result.tables[index].retainedIndexes = nil
      for column in result.tables[index].columns.indices {
        result.tables[index].columns[column].retainsForeignKey = nil
      }
    }
    result.retainRules(besides: SQLSchema(environment: environment, dialect: dialect, stored: result))
    return result
  }

  /// Lists the indexes and the checked references that stay for the newest model, if a model only leaves parts of the
  /// newest model out.
  ///
  /// - Parameter schema: The schema of the model, which has no record in the store.
  mutating func retainRules(besides schema: SQLSchema) {
    let wanted = StoredSchema(schema)
    guard includes(wanted), hasColumnOfNewestModel(besides: wanted) else { return }
    for index in tables.indices {
      guard let table = wanted.table(ofRoot: tables[index].root) else { continue }
      let names = tables[index].indexes.filter { !table.indexes.contains($0) }.map(\.name)
      tables[index].retainedIndexes = names.isEmpty ? nil : names
      for column in tables[index].columns.indices where tables[index].columns[column].foreignKey != nil {
        let own = table.column(tables[index].columns[column].key)
        if let own, own.foreignKey == nil { tables[index].columns[column].retainsForeignKey = true }
      }
    }
  }

  /// Whether the store has all entities, columns and links of a model, with the same types.
  private func includes(_ wanted: StoredSchema) -> Bool {
    let links = Set(linkTables.map(\.links))
    guard wanted.linkTables.allSatisfy({ links.contains($0.links) }) else { return false }
    return wanted.tables.allSatisfy { table in
      guard let stored = self.table(ofRoot: table.root) else { return false }
      let names = Set(stored.entities.map(\.name))
      return table.entities.allSatisfy { names.contains($0.name) }
        && table.columns.allSatisfy { stored.column($0.key)?.type == $0.type }
    }
  }

  /// Whether the newest model of the store has a column that another model leaves out. A column of which that is
  /// unknown does not count: a constraint that stays for it would never end.
  private func hasColumnOfNewestModel(besides wanted: StoredSchema) -> Bool {
    tables.contains { table in
      let other = wanted.table(ofRoot: table.root)
      return table.columns.contains { $0.isLeftOut == false && other?.column($0.key) == nil }
    }
  }

  /// The names of the unique indexes that stay though the newest model does not ask for them.
  var retainedUniqueIndexes: [String] {
    tables.flatMap { table in
      table.indexes.filter { $0.isUnique && table.retainedIndexes?.contains($0.name) == true }.map(\.name)
    }
  }
}

extension StoredSchema.Table {
  /// The table whose columns say which of them the newest model leaves out.
  ///
  /// - Parameter wanted: The table as the newest model asks for it; `nil` for a model without the hierarchy.
  func markingColumns(besides wanted: StoredSchema.Table?) -> StoredSchema.Table {
    var result = self
    for index in result.columns.indices {
      result.columns[index].isLeftOut = wanted?.column(result.columns[index].key) == nil
    }
    return result
  }
}
