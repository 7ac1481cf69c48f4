public import Foundation

/// A request for rows computed from groups of records, with the types of its columns.
///
/// ```swift
/// let request = FetchRequest(Track.self)
///   .grouped { ($0.album.title, $0.count, $0.length.sum) }
///   .having { $0.count > 3 }
///   .sort(\.length.sum, .reverse)
///   .limit(10)
/// for (title, count, seconds) in try context.fetchRows(request) { … }
/// ```
/// A request is a value, made by ``FetchRequest/grouped(_:)``. ``ManagedObjectContext/fetchRows(_:)`` checks its names.
public struct GroupedRequest<Root: DeclaredEntity, each Value: Sendable>: Sendable {
  /// The request without types.
  public private(set) var request: AggregateRequest<Root>
  let readers: (repeat GroupColumnReader<each Value>)

  init(_ request: AggregateRequest<Root>, _ readers: (repeat GroupColumnReader<each Value>)) {
    self.request = request
    self.readers = readers
  }

  /// Returns the request with a further condition on the groups: rows must satisfy both.
  ///
  /// - Parameter condition: Compares group keys and aggregates, which need not be columns.
  public func having(_ condition: (GroupScope<Root>) -> FetchPredicate) -> GroupedRequest {
    having(condition(GroupScope()))
  }

  /// Returns the request with a further condition on the groups: rows must satisfy both.
  ///
  /// - Parameter predicate: A condition on group keys and aggregates, such as `@count > 3 AND @sum.length > 600`.
  public func having(_ predicate: FetchPredicate) -> GroupedRequest {
    var result = self
    result.request.havingPredicate = request.havingPredicate.map { $0 && predicate } ?? predicate
    return result
  }

  /// Returns the request with a further, less significant criterion of order: a group key, or an aggregate, which need
  /// not be a column.
  ///
  /// - Parameters:
  ///   - options: Differences between texts to ignore. Only for texts.
  ///   - missingValues: The place of groups without a value.
  public func sort<Column: GroupColumn>(
    _ column: KeyPath<GroupScope<Root>, Column>, _ order: SortOrder = .forward, options: StringOptions = [],
    missingValues: MissingValuePlacement = .smallest
  ) -> GroupedRequest {
    var result = self
    let path = GroupScope<Root>()[keyPath: column].columnPath
    result.request.sortKeys.append(SortKey(path, order, options: options, missingValues: missingValues))
    return result
  }

  /// Returns the request with a range, in place of its limit and offset.
  ///
  /// - Parameters:
  ///   - count: The greatest number of rows to return.
  ///   - offset: The number of rows to skip at the beginning.
  public func limit(_ count: Int, offset: Int = 0) -> GroupedRequest {
    var result = self
    result.request.fetchLimit = count
    result.request.fetchOffset = offset
    return result
  }
}

extension FetchRequest where Result: DeclaredEntity {
  /// Returns a request for rows computed from the records of this request, one for each group of records with equal
  /// group keys.
  ///
  /// ```swift
  /// FetchRequest(Track.self).grouped { ($0.album.title, $0.count, $0.length.sum) }
  /// ```
  /// The columns without a function are the group keys: attributes, also over to-one relationships, and to-one
  /// relationships themselves. Without group keys all records are one group. Without aggregates the rows are the
  /// different values of the group keys. Stored values that the type of a key cannot represent are different keys, and
  /// have the default value of the type in their rows.
  ///
  /// - Parameter columns: Returns the columns of the rows.
  public func grouped<each Column: GroupColumn>(
    _ columns: (GroupScope<Result>) -> (repeat each Column)
  ) -> GroupedRequest<Result, repeat (each Column).Value> {
    let columns = columns(GroupScope())
    var keys: [String] = []
    var list: [ResultColumn] = []
    for column in repeat each columns {
      let path = column.columnPath.description
      list.append(ResultColumn(expression: path))
      if column.isGroupKey { keys.append(path) }
    }
    return GroupedRequest(
      AggregateRequest(self, propertiesToGroupBy: keys, propertiesToFetch: list),
      (repeat GroupColumnReader(each columns)))
  }
}

/// Converts the stored values of a column to its type.
struct GroupColumnReader<Value: Sendable>: Sendable {
  let read: @Sendable (AttributeValue) -> Value

  init<Column: GroupColumn>(_ column: Column) where Column.Value == Value {
    read = { column.columnValue(from: $0) }
  }
}
