public import CoherenceCore
import Foundation

/// One criterion of a sort order.
public struct SortColumn: Sendable, Hashable {
  /// The name of an attribute, or a path over to-one relationships with dots.
  public let key: String
  public let ascending: Bool

  public init(key: String, ascending: Bool = true) {
    self.key = key
    self.ascending = ascending
  }

  /// The column as the sort key of a fetch request.
  public var descriptor: SortKey { SortKey(key, ascending ? .forward : .reverse) }
}

/// A sort order by several columns. Later columns order records that are equal in the earlier ones.
public struct SortInfo: Sendable, Hashable {
  public let columns: [SortColumn]

  public init(columns: [SortColumn]) { self.columns = columns }

  /// The columns as the sort keys of a fetch request.
  public var descriptors: [SortKey] { columns.map(\.descriptor) }
}
