/// One criterion of a fetch's order.
///
/// Missing values come first in ascending order and last in descending order. Strings are in the order of their UTF-8
/// bytes unless options say otherwise. In every request, records equal by its criteria are ordered by key, so that the
/// order is total and the same on every store.
public struct SortKey: Sendable, Hashable {
  /// An attribute, reached over to-one relationships.
  public var path: PropertyPath
  public var isAscending: Bool
  public var options: StringOptions

  public init(_ path: PropertyPath, ascending: Bool = true, options: StringOptions = []) {
    self.path = path
    self.isAscending = ascending
    self.options = options
  }

  /// A criterion by property names, separated by dots.
  public init(_ path: String, ascending: Bool = true, options: StringOptions = []) {
    self.init(PropertyPath(path), ascending: ascending, options: options)
  }
}
