/// A reader that fetches and counts the members of a to-many relationship directly.
///
/// Core uses it for a page, a count or a filtered part of a long list. For a reader without the refinement, Core first
/// reads the identifiers of all members, or the links of the owner.
public protocol MemberReading: StoreReader {
  /// Starts a fetch of members.
  ///
  /// - Returns: A fetch whose predicate, order and range are exact, or `nil` when the store cannot translate the query
  ///   exactly.
  func fetchMembers(_ query: MemberQuery) throws -> StoreFetch?

  /// Returns the number of members that satisfy a query, without its limit and offset; `nil` when the store cannot
  /// translate the predicate exactly.
  func countMembers(_ query: MemberQuery) throws -> Int?

  /// Returns the numbers of members of several owners, by the owner's key. Owners without members may be left out.
  func memberCounts(of relationship: RelationshipDescription, owners: [Int64]) throws -> [Int64: Int]
}

/// A query over the members of one record's to-many relationship.
public struct MemberQuery: Sendable {
  /// The to-many relationship.
  public var relationship: RelationshipDescription
  /// The key of the owner.
  public var owner: Int64
  /// The condition, the order and the range. The entity is the relationship's destination. Without sort keys, the order
  /// is the relationship's: by position, missing positions first, and then by key.
  public var query: StoreQuery

  /// Makes a query, for tests of stores. Core makes the queries of collections.
  public init(relationship: RelationshipDescription, owner: Int64, query: StoreQuery? = nil) {
    self.relationship = relationship
    self.owner = owner
    self.query = query ?? StoreQuery(entity: relationship.destination)
  }
}
