import CoherenceCore

/// A difference between a store and a model that additions to the store's schema do not bridge, if the store holds
/// counted values or records.
package struct SchemaFault: Sendable {
  /// What differs, as a sentence that names the property or the entity.
  let sentence: String
  let table: String
  /// The column whose values are counted; `nil` for records and links.
  let column: String?
  /// Counts what stands in the way; `nil` when the difference stands in the way by itself.
  let count: SQLFragment?
  /// What the change drops; `nil` when the difference cannot be bridged by dropping anything.
  let drops: SchemaDrops?

  /// The conversion that bridges the difference, except for the counted values; `nil` for none.
  var conversion: ColumnConversion? = nil
  /// Whether the difference is bridged without values alone, and stays as it is with some.
  var isOptional = false

  /// A difference that nothing bridges.
  static func obstacle(_ sentence: String, in table: String, count: SQLFragment? = nil) -> SchemaFault {
    SchemaFault(sentence: sentence, table: table, column: nil, count: count, drops: nil)
  }

  /// A difference whose bridging drops the counted values or records.
  static func loss(
    _ sentence: String, table: String, column: String?, count: SQLFragment, drops: SchemaDrops
  ) -> SchemaFault {
    SchemaFault(sentence: sentence, table: table, column: column, count: count, drops: drops)
  }

  /// The loss that bridging the difference causes.
  func loss(of number: Int) -> DataLoss {
    let reason = sentence.hasSuffix(".") ? String(sentence.dropLast()) : sentence
    return DataLoss(table: table, column: column, count: number, reason: reason)
  }

  /// A column that an attribute gives up for that of its former name, unless values are counted in it.
  static func lateRename(
    _ sentence: String, table: String, column: String, count: SQLFragment, drops: SchemaDrops
  ) -> SchemaFault {
    SchemaFault(sentence: sentence, table: table, column: column, count: count, drops: drops, isOptional: true)
  }

  /// A difference that a conversion bridges. It drops the counted values, which do not fit.
  static func conversion(
    _ conversion: ColumnConversion, _ sentence: String, table: String, column: String, misfits: SQLFragment?
  ) -> SchemaFault {
    SchemaFault(
      sentence: sentence, table: table, column: column, count: misfits, drops: nil, conversion: conversion)
  }
}
