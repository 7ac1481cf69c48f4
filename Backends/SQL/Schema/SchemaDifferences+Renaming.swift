import CoherenceCore

// An undeclared rename looks like a left-out attribute and a new one. The store keeps the values of the left-out
// attribute, and the program reads the new one, which is empty.

/// A new attribute, and a left-out attribute of the same type and entity with stored values.
struct SuspectedRename: Sendable {
  let entity: String
  let added: String
  let leftOut: String
  /// Counts the stored values of the left-out attribute.
  let count: SQLFragment

  func sentence(of number: Int) -> String {
    "'\(entity).\(added)' is new, and the model leaves out '\(entity).\(leftOut)' of the same type (\(number) "
      + "\(number == 1 ? "value" : "values"))"
  }
}

extension SchemaDifferences {
  /// The possible undeclared renames: each new attribute with each left-out attribute of its type and entity.
  var suspectedRenames: [SuspectedRename] {
    new.tables.flatMap { table -> [SuspectedRename] in
      guard let storedTable = old.table(ofRoot: table.root.name) else { return [] }
      return table.columns.filter { storedTable.column($0.key) == nil }.flatMap { column -> [SuspectedRename] in
        guard case .attribute(let attribute) = column.slot else { return [] }
        return leftOut(of: column.key.entity, in: storedTable, besides: table)
          .filter { $0.type == attribute.type.canonicalName }
          .map { stored in
            SuspectedRename(
              entity: column.key.entity, added: column.key.slot, leftOut: stored.slot,
              count: values(of: stored, in: storedTable))
          }
      }
    }
  }

  /// The attributes whose former names were declared too late: an earlier model without the former names has already
  /// added a column for the new name, beside the column of the former name. If the column of the new name is empty, it
  /// is dropped, and the attribute takes the column of its former name.
  var lateRenames: [SchemaMismatch] {
    new.tables.flatMap { table -> [SchemaMismatch] in
      guard let storedTable = old.table(ofRoot: table.root.name) else { return [] }
      return table.columns.compactMap { column -> SchemaMismatch? in
        guard case .attribute(let attribute) = column.slot, !attribute.formerNames.isEmpty,
          let stored = storedTable.column(column.key)
        else { return nil }
        let candidates = leftOut(of: stored.entity, in: storedTable, besides: table).filter { $0.type == stored.type }
        guard let former = attribute.formerNames.first(where: { name in candidates.contains { $0.slot == name } })
        else {
          return nil
        }
        return .lateRename(
          "'\(stored.entity).\(stored.slot)' was '\(former)' in an earlier model, and has values of its own in the "
            + "store: those of '\(former)' stay where they are.",
          table: storedTable.name, column: stored.name, count: values(of: stored, in: storedTable),
          drops: SchemaDrops(columns: [SchemaDrops.Column(root: storedTable.root, key: stored.key)]))
      }
    }
  }

  /// The columns of an entity that the model leaves out.
  private func leftOut(
    of entity: String, in storedTable: StoredSchema.Table, besides table: SQLTable
  ) -> [StoredSchema.Column] {
    let declared = Set(table.columns.map(\.key))
    return storedTable.columns.filter { $0.entity == entity && !declared.contains($0.key) }
  }

  /// Counts the values of a column. Other entities of the hierarchy may have the column's default in it, which is no
  /// value of theirs.
  func values(of column: StoredSchema.Column, in table: StoredSchema.Table) -> SQLFragment {
    "\(records(of: old.entityNames(from: column.entity), in: table.name)) AND \(name: column.name) IS NOT NULL"
  }
}
