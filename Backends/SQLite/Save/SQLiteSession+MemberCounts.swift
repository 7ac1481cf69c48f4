import CoherenceCore
import CoherenceSQL

extension SQLiteSession {
  /// Checks numbers of members at the end of a transaction. SQLite allows one writer at a time, over all processes, so
  /// no other transaction changes them in between.
  ///
  /// - Throws: ``ErrorCode/validationFailed``.
  func check(_ checks: [MemberCountCheck], _ store: SQLiteStore) throws {
    guard !checks.isEmpty else { return }
    var failures = MemberCountFailures()
    let statements = MemberCountStatements(schema: store.schema)
    for check in checks {
      let space = store.spaces[check.relationship.entity]
      for start in stride(from: 0, to: check.owners.count, by: Self.keysInStatement) {
        let owners = Array(check.owners[start..<min(start + Self.keysInStatement, check.owners.count)])
        try with(statements.counts(check.relationship, of: owners)) { statement in
          while try statement.step() {
            let owner = ManagedObjectID(space: space, key: statement.integer(0))
            failures.note(Int(statement.integer(1)), of: owner, in: check)
          }
        }
      }
    }
    try failures.conclude()
  }

  /// The number of keys that one statement at the end of a transaction binds.
  static let keysInStatement = 512
}
