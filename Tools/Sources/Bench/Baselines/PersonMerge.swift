/// The statements of a merge by hand, the same for both databases but for what they call equal.
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

  /// Ends an insert: what is there already takes the new values where it differs.
  var onConflict: String {
    let set = others.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    return "ON CONFLICT (id) DO UPDATE SET \(set) WHERE \(condition("person", "excluded"))"
  }

  /// All that was staged into the table, in one statement.
  var upsert: String { "INSERT INTO person (\(list)) SELECT \(list) FROM staged WHERE true \(onConflict)" }

  /// Where table and staged rows differ, by joining them.
  var update: String {
    let set = others.map { "\($0) = s.\($0)" }.joined(separator: ", ")
    return "UPDATE person SET \(set) FROM staged AS s WHERE s.id = person.id AND (\(condition("person", "s")))"
  }

  /// What is not there yet.
  var insert: String {
    "INSERT INTO person (\(list)) SELECT \(list) FROM staged AS s "
      + "WHERE NOT EXISTS (SELECT 1 FROM person AS p WHERE p.id = s.id)"
  }

  /// What was not staged.
  var delete: String { "DELETE FROM person WHERE NOT EXISTS (SELECT 1 FROM staged AS s WHERE s.id = person.id)" }

  private func condition(_ left: String, _ right: String) -> String {
    others.map { "\(left).\($0) \(differs) \(right).\($0)" }.joined(separator: " OR ")
  }
}

extension Substring {
  fileprivate var trimming: String { String(drop { $0 == " " }) }
}
