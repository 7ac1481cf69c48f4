import CoherenceCore

extension MemberCountFailures {
  /// Compares the numbers of members that a server counted, by the owner's key, with the bounds of a check.
  mutating func note(_ result: PostgreSQLResult, of check: MemberCountCheck, in space: IDSpace) {
    for row in 0..<result.rowCount {
      guard let key = result.int(row, 0), let count = result.int(row, 1) else { continue }
      note(Int(count), of: ManagedObjectID(space: space, key: key), in: check)
    }
  }
}
