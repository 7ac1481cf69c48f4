import CoherenceCore

/// A column whose values are converted when a store is opened with a model that gives the attribute another type.
struct ColumnConversion: Sendable {
  /// The rule by which the values are converted.
  enum Method: Sendable {
    /// The engine converts numbers.
    case numbers(NumberConversion)
    /// The attribute's own conversion makes the values.
    case custom(ValueConversion, from: StorageType)
  }
  /// The root of the table's hierarchy.
  let root: String
  let key: SQLColumn.Key
  /// The type that the values get, by its name.
  let type: String
  /// The entities whose records have values in the column.
  let entities: [String]
  let method: Method

  /// - Returns: `nil` when the values can be converted neither by the engine nor by the attribute.
  init?(_ stored: StoredSchema.Column, to column: SQLColumn, root: String, entities: [String]) {
    guard case .attribute(let attribute) = column.slot, let source = StorageType(ofTypeNamed: stored.type) else {
      return nil
    }
    self.root = root
    key = column.key
    type = attribute.type.canonicalName
    self.entities = entities
    if let conversion = attribute.conversion {
      method = .custom(conversion, from: source)
    } else if stored.type == source.rawValue, type == column.storage.rawValue,
      let numbers = NumberConversion(from: source, to: column.storage)
    {
      method = .numbers(numbers)
    } else {
      return nil
    }
  }

  /// Whether the engine stores the values of both types in the same way, so that no conversion is needed.
  func isIdentity(in dialect: any SQLDialect) -> Bool {
    if case .numbers(let numbers) = method { return numbers.isIdentity(in: dialect) }
    return false
  }

  /// Whether the conversion may remove the value of a record.
  var mayLoseValues: Bool {
    if case .numbers(let numbers) = method { return !numbers.isLossless }
    return true
  }
}

extension StoredSchema {
  /// The schema with the columns' names and types after the conversions.
  ///
  /// A converted column has another name. The statements of a program that still uses the store with the earlier type
  /// fail, and neither read nor write the column.
  func converting(_ conversions: [ColumnConversion], for dialect: any SQLDialect) -> StoredSchema {
    var result = self
    for conversion in conversions {
      guard let table = result.tables.firstIndex(where: { $0.root == conversion.root }),
        let column = result.tables[table].columns.firstIndex(where: { $0.key == conversion.key })
      else { continue }
      result.tables[table].columns[column].type = conversion.type
      if conversion.mayLoseValues { result.tables[table].columns[column].isOptional = true }
      if !conversion.isIdentity(in: dialect) { result.tables[table].rename(column, for: conversion, dialect) }
    }
    return result
  }
}

extension StoredSchema.Table {
  /// Gives the column of a conversion a name that no column of the table has.
  fileprivate mutating func rename(_ column: Int, for conversion: ColumnConversion, _ dialect: any SQLDialect) {
    var names = SQLNames(dialect: dialect)
    for name in [SQLTable.id, SQLTable.version, SQLTable.entity] + columns.map(\.name) { names.reserve(name) }
    let former = columns[column].name
    let candidate = "\(conversion.key.slot)$\(conversion.type)"
    let name = names.allocate([candidate], key: "\(conversion.key.entity).\(candidate)")
    columns[column].name = name
    // The default of the new column may be another one.
    columns[column].hasEngineDefault = nil
    for index in indexes.indices {
      indexes[index].columns = indexes[index].columns.map { $0 == former ? name : $0 }
    }
  }
}
