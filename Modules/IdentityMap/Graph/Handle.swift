import Synchronization

/// Keeps a node from outside of the store, and with it the store's core.
///
/// A node's first handle is made and its last one given up under the lock; those between are given up without it.
// Sendable because the node is immutable here and touched under the lock only, but for its count of handles.
@usableFromInline
final class Handle: @unchecked Sendable {
  /// There as long as it has handles.
  @usableFromInline let unretained: Unmanaged<Node>

  @usableFromInline var node: Node { unretained.takeUnretainedValue() }

  /// Under the lock.
  @inlinable init(_ unretained: Unmanaged<Node>) {
    self.unretained = unretained
    let isFirst = unretained._withUnsafeGuaranteedRef { $0.handles.add(1, ordering: .relaxed).oldValue == 0 }
    if isFirst { unretained._withUnsafeGuaranteedRef { $0.core.noteHandled() } }
  }

  /// Under the lock.
  @inlinable convenience init(_ node: Node) {
    self.init(Unmanaged.passUnretained(node))
  }

  deinit {
    unretained._withUnsafeGuaranteedRef { node in
      var count = node.handles.load(ordering: .relaxed)
      while count > 1 {
        let (isGivenUp, current) = node.handles.compareExchange(
          expected: count, desired: count - 1, ordering: .acquiringAndReleasing)
        if isGivenUp { return }
        count = current
      }
      // Until it is given up, this one still keeps the node and the core.
      node.core.giveUpHandle(of: node)
    }
  }
}
