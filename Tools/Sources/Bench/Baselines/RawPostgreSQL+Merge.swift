/// A handwritten merge: afterwards the table contains exactly the given people.
extension RawPostgreSQL {
  /// Copies all records into a temporary table. The server then inserts, updates and deletes rows.
  func mergeByStaging(_ people: [Person], joining: Bool) throws {
    try execute("BEGIN")
    try execute(Self.table.replacing("CREATE TABLE person", with: "CREATE TEMP TABLE staged"))
    try insertByCopy(people, into: "staged")
    try execute("ANALYZE staged")
    let merge = PersonMerge.postgreSQL
    for step in joining ? [merge.update, merge.insert, merge.delete] : [merge.upsert, merge.delete] {
      try execute(step)
    }
    try execute("COMMIT")
    try execute("DROP TABLE staged")
  }
}
