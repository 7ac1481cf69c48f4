package import CoherenceCore

extension SchemaChange {
  /// Runs the statements of the change, except for those that record its state. To be called in the transaction of the
  /// change, after ``resolve(_:)``.
  ///
  /// - Parameters:
  ///   - write: Runs one or more statements for their effect.
  ///   - values: Runs a statement whose rows are keys and values of a representation.
  ///   - integers: Runs a statement and returns the integers in its first column.
  /// - Throws: As ``creations(_:)`` and ``ConversionStep/run(read:write:)``.
  package func run(
    write: ([SQLFragment]) throws -> Void, values: (SQLFragment, StorageType) throws -> ConversionStep.Values,
    integers: (SQLFragment) throws -> [Int64]
  ) throws {
    for stage in stages {
      if !stage.statements.isEmpty { try write(stage.statements) }
      try stage.conversion.run(read: values) { if !$0.isEmpty { try write($0) } }
    }
    if !statements.isEmpty { try write(statements) }
    let creations = try creations(integers)
    if !creations.isEmpty { try write(creations) }
  }
}
