/// The result of storing an entity: its node, and the effect on the store.
struct StoreResult<T: Identifiable & Sendable> {
  enum Kind {
    /// The entity was absent before.
    case created
    /// The stored value was another one.
    case changed
    /// The stored value was equal already.
    case equal
    /// The stored value differs from the given one: nested entities have kept newer values, or occurred with
    /// different values.
    case adjusted
    /// The value was rejected because of its stamp.
    case rejected
    /// The entity is being stored already: it is nested in itself.
    case closesCycle
  }

  let node: EntityNode<T>
  let kind: Kind

  /// Whether the stored value is the given one, so that an aggregate with the given value has it already.
  var isInputValue: Bool {
    switch kind {
    // A nested entity may have another value than in the given one, and tentative changes may lie over it.
    case .created, .changed: !node.flags.contains(.dirty) && node.relations?.overlay == nil
    case .equal: true
    case .adjusted, .rejected, .closesCycle: false
    }
  }
}
