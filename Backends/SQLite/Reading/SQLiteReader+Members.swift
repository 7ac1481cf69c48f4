import CoherenceCore
import CoherenceSQL

extension SQLiteReader: MemberReading {
  func fetchMembers(_ query: MemberQuery) throws -> StoreFetch? {
    try store.planner.members(query).map { try fetch($0) }
  }

  func countMembers(_ query: MemberQuery) throws -> Int? {
    guard let statement = try store.planner.memberCount(query) else { return nil }
    return try read { Int(try $0.integers(statement).first ?? 0) }
  }

  func memberCounts(of relationship: RelationshipDescription, owners: [Int64]) throws -> [Int64: Int] {
    var counts: [Int64: Int] = [:]
    try read { session in
      for chunk in owners.chunks {
        try session.with(store.planner.memberCounts(of: relationship, owners: chunk)) { statement in
          while try statement.step() { counts[statement.integer(0)] = Int(statement.integer(1)) }
        }
      }
    }
    return counts
  }
}
