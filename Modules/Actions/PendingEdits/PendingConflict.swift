public import CoherenceCore

/// A conflict over a pending edit, which waits for the decision of a user.
///
/// A merge ends the conflict without the user when its input shows that nothing is left to decide: the server had another
/// value in the conflict and has the edit's base or one of its values again, has the values of the record here, or has
/// deleted or restored the record accordingly.
public struct PendingConflict: Sendable, Hashable {
  /// The names of the properties that both sides changed, or that the server changed in a record deleted here; empty if
  /// the server had deleted the record.
  public var names: Set<String>
  /// The server's values in the conflict, by property, as far as they are known; `nil` if the server had deleted the
  /// record.
  public var serverValues: [String: AttributeValue]?

  /// Makes a conflict.
  public init(names: Set<String>, serverValues: [String: AttributeValue]?) {
    self.names = names
    self.serverValues = serverValues
  }
}
