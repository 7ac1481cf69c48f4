import CoherenceCore

/// A unique index to be made on an existing table, after its records were checked for duplicates.
package struct SchemaConstraint: Sendable {
  /// The most records that an error names.
  private static let exampleCount = 5

  package let table: String
  /// The statement that makes the index.
  package let creation: SQLFragment
  private let root: EntityDescription
  private let index: SQLIndex
  private let entityName: String
  private let propertyNames: [String]
  /// Whether the constraint is that of a key, which `userInfo` names, and not declared.
  let isKey: Bool

  init(_ index: SQLIndex, of table: SQLTable, with schemaStatements: SchemaStatements) {
    self.table = table.name
    self.index = index
    creation = schemaStatements.create(index, on: table.name)
    root = table.root
    let columns = index.columns.map { name in table.columns.first { $0.name == name } }
    propertyNames = zip(index.columns, columns).map { $1?.slot.name ?? $0 }
    // An abstract entity and its only concrete subentity have indexes of the same records.
    let owners: [EntityDescription] =
      index.entities.map { members in
        table.root.hierarchy.filter { table.recordNames(of: $0).sorted() == members }
      } ?? [table.root]
    entityName = owners.first?.name ?? table.root.name
    let names = propertyNames
    // Another entity may declare a constraint on the properties of this entity's key.
    isKey = owners.contains { $0.keyConstraint?.map(\.name) == names }
  }

  // MARK: Duplicates

  /// Whether the records of a stored schema can be searched for duplicates, because the table has the columns, and no
  /// step writes one of them.
  func isSearchable(in schema: StoredSchema, besides steps: [ConversionStep]) -> Bool {
    guard let stored = schema.table(ofRoot: root.name) else { return false }
    let names = Set(stored.columns.map(\.name))
    return stored.name == table && names.isSuperset(of: index.columns)
      && !steps.contains { $0.table == table && index.columns.contains($0.column.name) }
  }

  /// The number of values that several records have.
  private var valueCount: SQLFragment { "SELECT COUNT(*) FROM (\(groups("1"))) AS \(name: "d")" }

  /// The number of records with these values.
  private var recordCount: SQLFragment {
    "SELECT CAST(COALESCE(SUM(\(name: "d").\(name: "n")), 0) AS BIGINT) FROM (\(groups("COUNT(*)"))) AS \(name: "d")"
  }

  /// The keys of a few records, the oldest of each value.
  private var examples: SQLFragment {
    groups("MIN(\(name: SQLTable.id))") + " ORDER BY 1 LIMIT \(number: Self.exampleCount)"
  }

  /// An expression over the records of each value that several records have.
  private func groups(_ expression: SQLFragment) -> SQLFragment {
    var conditions = index.columns.map { "\(name: $0) IS NOT NULL" as SQLFragment }
    if let entities = index.entities {
      conditions.append("\(name: SQLTable.entity) \(list: entities.map(AttributeValue.string), as: .string)")
    }
    return """
      SELECT \(expression) AS \(name: "n") FROM \(name: table) WHERE \(conditions.joined(separator: " AND ")) \
      GROUP BY \(names: index.columns) HAVING COUNT(*) > 1
      """
  }

  /// The values that keep the store from getting the index; `nil` for none.
  ///
  /// - Parameter numbers: Runs a statement and returns the integers in its first column.
  func duplicates(in store: StoreIdentifier, model: ManagedObjectModel, _ numbers: (SQLFragment) throws -> [Int64])
    throws
    -> DuplicateKeys?
  {
    let count = try numbers(valueCount).first ?? 0
    guard count > 0 else { return nil }
    let space = IDSpaces(store: store, model: model)[root]
    return DuplicateKeys(
      entityName: entityName, propertyNames: propertyNames, valueCount: Int(count),
      recordCount: Int(try numbers(recordCount).first ?? 0),
      examples: try numbers(examples).map { ManagedObjectID(space: space, key: $0) })
  }
}

extension CoherenceError {
  /// The refusal of a store whose records have the same values where the model asks for unique ones.
  static func duplicates(_ found: [(constraint: SchemaConstraint, duplicates: DuplicateKeys)]) -> CoherenceError {
    let isOfKeys = found.allSatisfy(\.constraint.isKey)
    let sentences =
      ["The store cannot get the uniqueness constraints of the model."]
      + found.map { "\($0.duplicates)." } + ["Nothing was changed."]
    let advice =
      isOfKeys
      ? "Attach the store once with the option '\(StoreOption.allowsDuplicateKeys)', merge the records with "
        + "`mergeDuplicates(of:)` and save, then attach it without the option."
      : "Remove the duplicates first, with a program that has the former model."
    var error = CoherenceError(
      isOfKeys ? .duplicateKeys : .incompatibleModel, (sentences + [advice]).joined(separator: " "))
    error.duplicateKeys = found.map(\.duplicates)
    return error
  }
}
