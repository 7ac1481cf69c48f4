/// The statements of a handwritten merge, the same for both databases except for the comparison of nullable values.
struct PersonMerge {
  /// The word for "differs, missing values included".
  let differs: String
  let columns: [String]

  static let sqlite = PersonMerge(
    differs: "IS NOT", columns: RawSQLite.columns.split(separator: ",").map { $0.trimming })
  static let postgreSQL = PersonMerge(
    differs: "IS DISTINCT FROM", columns: RawPostgreSQL.columns.split(separator: ",").map { $0.trimming })

  private var list: String { columns.joined(separator: ", ") }
  private var others: [String] { Array(columns.dropFirst()) }

  /// Ends an insert: existing rows take the new values where they differ.
  var onConflict: String {
    let set = others.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    return "ON CONFLICT (id) DO UPDATE SET \(set) WHERE \(condition("person", "excluded"))"
  }

  /// Inserts or updates all staged rows in one statement.
  var upsert: String { "INSERT INTO person (\(list)) SELECT \(list) FROM staged WHERE true \(onConflict)" }

  /// Updates rows that differ from their staged rows.
  var update: String {
    let set = others.map { "\($0) = s.\($0)" }.joined(separator: ", ")
    return "UPDATE person SET \(set) FROM staged AS s WHERE s.id = person.id AND (\(condition("person", "s")))"
  }

  /// Inserts staged rows without a row in the table.
  var insert: String {
    "INSERT INTO person (\(list)) SELECT \(list) FROM staged AS s "
      + "WHERE NOT EXISTS (SELECT 1 FROM person AS p WHERE p.id = s.id)"
  }

  /// Deletes rows without a staged row.
  var delete: String { "DELETE FROM person WHERE NOT EXISTS (SELECT 1 FROM staged AS s WHERE s.id = person.id)" }

  private func condition(_ left: String, _ right: String) -> String {
    others.map { "\(left).\($0) \(differs) \(right).\($0)" }.joined(separator: " OR ")
  }
}

extension Substring {
  fileprivate var trimming: String { String(drop { $0 == " " }) }
}
