package import CoherenceCore

extension SchemaChange {
  /// Describes the change of a store that exists, and counts its losses. Writes nothing.
  ///
  /// - Parameter numbers: Runs a statement and returns the integers in its first column.
  /// - Throws: As ``resolve(_:)``, and as ``creations(_:)`` for duplicates among values that the change does not write.
  package func preview(_ numbers: (SQLFragment) throws -> [Int64]) throws -> MigrationPreview {
    guard isNeeded else { return MigrationPreview() }
    // The look-up may lay out the change in another way.
    var change = self
    let losses = try change.resolve { Int(try numbers($0).first ?? 0) }
    // Losses may remove duplicates, and so may the computation of values. A new column has none yet.
    if losses.isEmpty {
      let (schema, steps) = (change.namedSchema, change.stages.map(\.conversion))
      let searched = change.constraints.filter { $0.isSearchable(in: schema, besides: steps) }
      try change.refuseDuplicates(under: searched, numbers)
    }
    let statements = change.stages.flatMap(\.statements) + change.statements + change.constraints.map(\.creation)
    let conversions = change.stages.map { "\($0.conversion.column.key.entity).\($0.conversion.column.key.slot)" }
    return MigrationPreview(
      statements: statements.map { $0.rendered(by: change.dialect).text }, convertedAttributes: conversions,
      dataLosses: losses)
  }
}
