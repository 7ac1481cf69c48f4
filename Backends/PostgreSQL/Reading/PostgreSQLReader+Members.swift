import CoherenceCore
import CoherenceSQL

extension PostgreSQLReader: MemberReading {
  func fetchMembers(_ query: MemberQuery) throws -> StoreFetch? {
    try store.planner.members(query).map { try fetch($0, limit: query.query.limit) }
  }

  func countMembers(_ query: MemberQuery) throws -> Int? {
    try store.planner.memberCount(query).map { Int(try result(of: $0).int(0, 0) ?? 0) }
  }

  func memberCounts(of relationship: RelationshipDescription, owners: [Int64]) throws -> [Int64: Int] {
    if owners.isEmpty { return [:] }
    let result = try self.result(of: store.planner.memberCounts(of: relationship, owners: owners))
    var counts: [Int64: Int] = [:]
    for row in 0..<result.rowCount {
      if let owner = result.int(row, 0), let count = result.int(row, 1) { counts[owner] = Int(count) }
    }
    return counts
  }
}
