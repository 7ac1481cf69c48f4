package import CoherenceCore

/// Statements of a migration, and the conversion that follows them.
package struct SchemaStage: Sendable {
  package let statements: [SQLFragment]
  package let conversion: ConversionStep
}

/// The conversion of a column's values by an attribute's own rule: a step of a migration that no statement can do.
package struct ConversionStep: Sendable {
  /// The number of records to read at once.
  private static let pageSize = 500

  /// The keys of records and their values before the conversion.
  package typealias Values = [(key: Int64, value: AttributeValue)]

  let table: String
  let column: SQLColumn
  /// The name of the column with the values before.
  let former: String
  let storage: StorageType
  let entities: [String]
  let conversion: ValueConversion

  /// Converts all values.
  ///
  /// - Parameters:
  ///   - read: Runs a statement whose rows are keys and values of a representation.
  ///   - write: Runs statements for their effect.
  /// - Throws: ``ErrorCode/incompatibleModel`` when the conversion throws, or returns a value that the attribute
  ///   refuses; errors of the store.
  package func run(
    read: (SQLFragment, StorageType) throws -> Values, write: ([SQLFragment]) throws -> Void
  ) throws {
    var last: Int64?
    while true {
      let values = try read(page(after: last), storage)
      try write(values.map { update($0.key, try converted($0.value)) })
      guard values.count == Self.pageSize else { return }
      last = values.last?.key
    }
  }

  /// The error of a column whose values have another type than the stored schema says.
  package static func unreadable(_ storage: StorageType) -> CoherenceError {
    CoherenceError(
      .storeCorrupt,
      "A value that is to be converted is not of type \(storage), as the store says of its column; correct it, or "
        + "restore the store from a backup.")
  }

  /// The statement that reads the values of the records after a key, as many as a page has.
  ///
  /// No index has the result of the function in the condition, so that the engine reads the records by their keys. By the
  /// index of several entities, it would sort all remaining records for each page.
  private func page(after key: Int64?) -> SQLFragment {
    let afterKey: SQLFragment = key.map { "AND \(name: SQLTable.id) > \(key: $0) " } ?? ""
    return """
      SELECT \(name: SQLTable.id), \(name: former) FROM \(name: table) \
      WHERE COALESCE(\(name: SQLTable.entity), '') \(list: entities.map(AttributeValue.string), as: .string) \
      \(afterKey)ORDER BY \(name: SQLTable.id) LIMIT \(number: Self.pageSize)
      """
  }

  private func update(_ key: Int64, _ value: AttributeValue) -> SQLFragment {
    """
    UPDATE \(name: table) SET \(name: column.name) = \(value: value, as: column.storage) \
    WHERE \(name: SQLTable.id) = \(key: key)
    """
  }

  /// The value after the conversion, checked against the attribute.
  private func converted(_ value: AttributeValue) throws -> AttributeValue {
    guard case .attribute(let attribute) = column.slot else { return .null }
    let result: AttributeValue
    do {
      result = try attribute.type.checked(conversion(value))
    } catch {
      throw refusal("The conversion of a value failed", error)
    }
    guard !result.isNull || attribute.isOptional || !attribute.defaultValue.isNull else {
      throw refusal("The attribute is required, and the conversion of a value returned none", nil)
    }
    return result
  }

  private func refusal(_ reason: String, _ error: (any Error)?) -> CoherenceError {
    CoherenceError(
      .incompatibleModel,
      "The values of '\(column.key.entity).\(column.key.slot)' cannot be converted to the model's type. \(reason)"
        + "\((error as? CoherenceError).map { ": \($0.message)" } ?? ".") Nothing was changed. Let `converting` "
        + "return a value for every stored one.",
      underlying: error)
  }
}
