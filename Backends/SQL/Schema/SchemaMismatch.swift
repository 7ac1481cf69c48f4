import CoherenceCore

/// A difference between a store and a model for which additions to the store's schema are not enough. Most differences
/// matter only if the store has certain values or records, which a statement counts.
package struct SchemaMismatch: Sendable {
  /// The difference, as a sentence that names the property or the entity.
  let sentence: String
  let table: String
  /// The column whose values are counted; `nil` for records and links.
  let column: String?
  /// Counts the values or records for which the difference matters. Without a count, a difference with a ``conversion``
  /// never matters, a difference with ``drops`` costs nothing, and any other difference always matters.
  let count: SQLFragment?
  /// The parts whose removal ends the difference; `nil` when no removal does.
  let drops: SchemaDrops?

  /// The conversion that ends the difference, except for the counted values; `nil` for none.
  var conversion: ColumnConversion? = nil
  /// Whether the difference remains, with a warning, if values are counted, so that none of them is dropped.
  var isOptional = false

  /// A difference for which the store refuses the model.
  static func obstacle(_ sentence: String, in table: String, count: SQLFragment? = nil) -> SchemaMismatch {
    SchemaMismatch(sentence: sentence, table: table, column: nil, count: count, drops: nil)
  }

  /// A difference whose end costs the counted values or records.
  static func loss(
    _ sentence: String, table: String, column: String?, count: SQLFragment, drops: SchemaDrops
  ) -> SchemaMismatch {
    SchemaMismatch(sentence: sentence, table: table, column: column, count: count, drops: drops)
  }

  /// A difference whose end removes values that the migration computes again.
  static func replacement(_ sentence: String, table: String, column: String, drops: SchemaDrops) -> SchemaMismatch {
    SchemaMismatch(sentence: sentence, table: table, column: column, count: nil, drops: drops)
  }

  /// The loss that the end of the difference causes.
  func loss(of number: Int) -> DataLoss {
    let reason = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
    return DataLoss(table: table, column: column, count: number, reason: reason)
  }

  /// The values, records or links that the end of the difference destroys, by the names of the properties, the entities
  /// or the table.
  func lostParts(_ number: Int) -> String {
    let drops = drops ?? SchemaDrops()
    let isOfColumns = conversion != nil || !drops.columns.isEmpty
    let unit = isOfColumns ? "value" : !drops.entities.isEmpty ? "record" : "link"
    var keys = drops.columns.map(\.key)
    if let conversion { keys.append(conversion.key) }
    var names = keys.map { "'\($0.entity).\($0.slot)'" }
    names += drops.entities.values.joined().map { "'\($0)'" }
    names += drops.linkTables.map { "'\($0)'" }
    return "\(number) \(unit)\(number == 1 ? "" : "s") of \(names.sorted().joined(separator: ", "))"
  }

  /// A column beside the column of its attribute's former name. If the column has no values, it is dropped, and the
  /// attribute takes the column of the former name; otherwise both columns stay.
  static func lateRename(
    _ sentence: String, table: String, column: String, count: SQLFragment, drops: SchemaDrops
  ) -> SchemaMismatch {
    SchemaMismatch(sentence: sentence, table: table, column: column, count: count, drops: drops, isOptional: true)
  }

  /// A difference that a conversion ends. The conversion drops the counted values, which do not fit the new type.
  static func conversion(
    _ conversion: ColumnConversion, _ sentence: String, table: String, column: String, misfits: SQLFragment?
  ) -> SchemaMismatch {
    SchemaMismatch(
      sentence: sentence, table: table, column: column, count: misfits, drops: nil, conversion: conversion)
  }
}
