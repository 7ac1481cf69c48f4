/// A handwritten merge: afterwards the table contains exactly the given people.
extension RawSQLite {
  /// Stages all records in a temporary table. The database then inserts, updates and deletes rows.
  func mergeByStaging(_ people: [Person], joining: Bool) throws {
    try execute("PRAGMA temp_store = MEMORY")
    try execute(Self.table.replacing("CREATE TABLE person", with: "CREATE TEMP TABLE staged"))
    try transaction {
      let statement = try prepare("INSERT INTO staged VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
      for person in people { try statement.insert(person) }
      let merge = PersonMerge.sqlite
      for step in joining ? [merge.update, merge.insert, merge.delete] : [merge.upsert, merge.delete] {
        try execute(step)
      }
    }
  }

  /// Runs one upsert for each record. The staged keys identify the rows to delete.
  func mergeByUpserts(_ people: [Person]) throws {
    try execute("PRAGMA temp_store = MEMORY; CREATE TEMP TABLE staged (id INTEGER PRIMARY KEY)")
    try transaction {
      let upsert = try prepare(
        "INSERT INTO person (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) \(PersonMerge.sqlite.onConflict)"
      )
      let key = try prepare("INSERT INTO staged VALUES (?)")
      for person in people {
        try upsert.insert(person)
        key.bind(person.id, at: 1)
        _ = try key.step()
        key.reset()
      }
      try execute(PersonMerge.sqlite.delete)
    }
  }
}
