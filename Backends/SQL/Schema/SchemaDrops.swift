/// The columns, link tables and records that a change of a store's schema drops. The change counts their values first,
/// and fails if the user does not allow the loss.
struct SchemaDrops: Sendable, Hashable {
  /// A column, by the root of its table's hierarchy.
  struct Column: Sendable, Hashable {
    let root: String
    let key: SQLColumn.Key
  }
  var columns: Set<Column> = []
  /// The names of link tables.
  var linkTables: Set<String> = []
  /// By root, the entities whose records are deleted.
  var entities: [String: [String]] = [:]

  mutating func formUnion(_ other: SchemaDrops) {
    columns.formUnion(other.columns)
    linkTables.formUnion(other.linkTables)
    entities.merge(other.entities) { $0 + $1 }
  }
}
