/// A page of the changes of an entity since a cursor: new and changed records, and the keys of deleted records.
///
/// ```swift
/// let page = DeltaPage(
///   records: reply.items.map(\.record), tombstones: reply.deleted.map { MergeKey($0) }, cursor: reply.cursor,
///   hasMore: reply.hasMore)
/// ```
public struct DeltaPage: Sendable {
  /// The new and changed records.
  public var records: [MergeRecord]
  /// The keys of the deleted records. A key of ``records`` counts as not deleted. Keys without a stored record are ignored.
  public var tombstones: [MergeKey]
  /// The position after this page, which the next request sends: a cursor of the server, or a timestamp of the server's
  /// clock. `nil` keeps the former position.
  public var cursor: String?
  /// Whether another page follows at once.
  public var hasMore: Bool
  /// Whether the records are all records of the scope, because the server does not know the cursor any more. The merge then
  /// deletes the other records. Such a page has no next page: a merge refuses a complete page with ``hasMore``.
  public var isComplete: Bool

  /// Makes a page.
  public init(
    records: [MergeRecord] = [], tombstones: [MergeKey] = [], cursor: String? = nil, hasMore: Bool = false,
    isComplete: Bool = false
  ) {
    self.records = records
    self.tombstones = tombstones
    self.cursor = cursor
    self.hasMore = hasMore
    self.isComplete = isComplete
  }
}
