/// The result of storing an entity: its node, and the effect on the store.
struct StoreResult<T: Identifiable & Sendable> {
  enum Outcome {
    case created, changed, equal
    /// Fresher nested entities of the store were kept in the value.
    case adjusted
    case refused, closesCycle
  }

  let node: EntityNode<T>
  let outcome: Outcome

  /// Whether the stored value is the given one.
  var isInputValue: Bool {
    switch outcome {
    case .created, .changed: !node.flags.contains(.dirty) && node.relations?.overlay == nil
    case .equal: true
    case .adjusted, .refused, .closesCycle: false
    }
  }
}
