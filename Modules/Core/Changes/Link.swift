/// A link of a link table.
public struct Link: Sendable, Hashable {
  public var source: Int64
  public var target: Int64
  /// The target's place among the source's members, when the forward relationship is ordered.
  public var sourcePosition: Int64?
  /// The source's place among the target's members, when the backward relationship is ordered.
  public var targetPosition: Int64?

  public init(source: Int64, target: Int64, sourcePosition: Int64? = nil, targetPosition: Int64? = nil) {
    self.source = source
    self.target = target
    self.sourcePosition = sourcePosition
    self.targetPosition = targetPosition
  }
}
