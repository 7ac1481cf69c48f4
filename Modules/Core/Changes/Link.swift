/// A link of a link table: a pair of records in a many-to-many relationship, or in one without an inverse.
public struct Link: Sendable, Hashable {
  /// The key of the source.
  public var source: Int64
  /// The key of the target.
  public var target: Int64
  /// The target's position among the source's members; `nil` if the forward relationship is unordered.
  public var sourcePosition: Int64?
  /// The source's position among the target's members; `nil` if the backward relationship is unordered.
  public var targetPosition: Int64?

  /// Makes a link between two keys, with positions for ordered relationships.
  public init(source: Int64, target: Int64, sourcePosition: Int64? = nil, targetPosition: Int64? = nil) {
    self.source = source
    self.target = target
    self.sourcePosition = sourcePosition
    self.targetPosition = targetPosition
  }
}
