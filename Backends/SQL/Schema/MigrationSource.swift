import CoherenceCore

/// The stored schema that a migration begins with, and the changes of its parts.
struct MigrationSource {
  /// The schema as it is stored.
  let stored: StoredSchema
  /// The stored schema without the parts to drop or convert, with the names of the model.
  let remaining: StoredSchema
  /// The entities that have other names in the model.
  let renames: [EntityRename]
  /// The parts to drop.
  let drops: SchemaDrops
  /// The columns to convert.
  let conversions: [ColumnConversion]
}
