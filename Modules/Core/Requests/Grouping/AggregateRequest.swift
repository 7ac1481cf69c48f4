/// A description of rows to compute from groups of records: the group keys, the aggregates, the condition, the order and
/// the range.
///
/// ```swift
/// var request = AggregateRequest(
///   FetchRequest<ManagedObject>(entityName: "Track"), propertiesToGroupBy: ["album.title"],
///   propertiesToFetch: ["album.title", .count, .sum(of: "length", named: "seconds")])
/// request.havingPredicate = try FetchPredicate(format: "@count > 3 AND seconds > 600")
/// request.sortKeys = [SortKey("seconds", .reverse)]
/// let rows = try context.fetchDictionaries(request)
/// ```
/// A request is a value. It is made on any thread and used in any context;
/// ``ManagedObjectContext/fetchDictionaries(_:)`` checks its names. For classes with typed properties,
/// ``FetchRequest/grouped(_:)`` makes the same request with types.
public struct AggregateRequest<Result: ManagedObject>: Sendable {
  /// The fetch of the records to group. Its order matters only with a range.
  public var records: FetchRequest<Result>
  /// The paths of the properties by whose values the records are grouped: attributes and to-one relationships, also
  /// over to-one relationships, and aggregates of members, such as `albums.@count`. Missing values form one group.
  /// Without paths, all records are one group, even without any record.
  public var propertiesToGroupBy: [String]
  /// The columns of the rows: group keys and aggregates.
  public var propertiesToFetch: [ResultColumn]
  /// The condition that groups must satisfy; `nil` for all groups. Its paths are names of columns and expressions of
  /// columns, such as `@count` and `@sum.length`.
  public var havingPredicate: FetchPredicate?
  /// The criteria of order, the most significant first. Their paths are names and expressions of columns, as in
  /// ``havingPredicate``. Rows equal by all criteria are ordered by the group keys.
  public var sortKeys: [SortKey] = []
  /// The greatest number of rows to return; `nil` for all, zero for none. A fetch refuses a negative limit with
  /// ``ErrorCode/invalidFetchRequest``.
  public var fetchLimit: Int?
  /// The number of rows to skip at the beginning of the order. A fetch refuses a negative offset with
  /// ``ErrorCode/invalidFetchRequest``.
  public var fetchOffset = 0

  /// Makes a request for rows computed from the records of a fetch.
  public init(
    _ records: FetchRequest<Result>, propertiesToGroupBy: [String] = [], propertiesToFetch: [ResultColumn]
  ) {
    self.records = records
    self.propertiesToGroupBy = propertiesToGroupBy
    self.propertiesToFetch = propertiesToFetch
  }
}
