import CoherenceCore

/// The stored schema that a migration begins with, and the changes of its parts.
struct MigrationSource {
  /// The stored schema, with the names of the model.
  let stored: StoredSchema
  /// The stored schema after the drops and conversions, to which the migration adds the missing parts. A converted
  /// column has its new name and type.
  let remaining: StoredSchema
  /// The parts to drop.
  let drops: SchemaDrops
  /// The columns to convert.
  let conversions: [ColumnConversion]
}
