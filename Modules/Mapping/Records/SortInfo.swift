public import CoherenceCore

/// One column of an order.
public struct SortColumn: Sendable, Hashable {
  /// The name of an attribute, reached over to-one relationships with dots.
  public let key: String
  public let ascending: Bool

  public init(key: String, ascending: Bool = true) {
    self.key = key
    self.ascending = ascending
  }

  /// The column as a criterion of a fetch request.
  public var descriptor: SortKey { SortKey(key, ascending: ascending) }
}

/// An order by several columns, the first counting most.
public struct SortInfo: Sendable, Hashable {
  public let columns: [SortColumn]

  public init(columns: [SortColumn]) { self.columns = columns }

  /// The order as criteria of a fetch request.
  public var descriptors: [SortKey] { columns.map(\.descriptor) }
}
