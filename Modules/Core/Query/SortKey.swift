public import Foundation

/// One criterion of a fetch's order.
///
/// Missing values come first in ascending order and last in descending order, unless ``missingValues`` places them.
/// Strings are ordered by their UTF-8 bytes unless options ignore case or diacritics. Records equal by all criteria of
/// a request are ordered by key, so that the order is total and the same on every store.
public struct SortKey: Sendable, Hashable {
  /// The path to an attribute, over to-one relationships if any, or to an aggregate of members, such as `tracks.@count`
  /// and `tracks.@sum.length`. A record without a target has no value.
  public var path: PropertyPath
  /// Whether smaller values come first.
  public var isAscending: Bool
  /// The differences between texts to ignore. A fetch refuses options for an attribute other than text with
  /// ``ErrorCode/invalidFetchRequest``.
  public var options: StringOptions
  /// The place of records without a value.
  public var missingValues: MissingValuePlacement

  /// Makes a criterion from a path. The fetch resolves the path, and throws for an unknown name.
  public init(
    _ path: PropertyPath, _ order: SortOrder = .forward, options: StringOptions = [],
    missingValues: MissingValuePlacement = .smallest
  ) {
    self.path = path
    self.isAscending = order == .forward
    self.options = options
    self.missingValues = missingValues
  }

  /// Makes a criterion from property names separated by dots, such as `artist.name`.
  public init(
    _ path: String, _ order: SortOrder = .forward, options: StringOptions = [],
    missingValues: MissingValuePlacement = .smallest
  ) {
    self.init(PropertyPath(path), order, options: options, missingValues: missingValues)
  }
}
