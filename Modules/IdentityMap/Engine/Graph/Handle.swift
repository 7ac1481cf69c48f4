import CoherenceRuntime

/// Keeps a node from outside of the store, and with it the store's core.
///
/// All who keep a node share one handle, which the node knows but does not keep: to find a node that is kept already
/// costs a reference, and no object. The last of them to let go ends the handle, without the lock; so until the handle
/// has taken the lock to say so, the node knows one that is on its way out. Who asks then gets a new one, and the node
/// counts both, because each needs it until it is gone.
// Sendable because its only property never changes, and what it points to is touched under the lock only.
@usableFromInline
final class Handle: @unchecked Sendable {
  /// There as long as it has handles.
  private let unretained: Unmanaged<Node>

  var node: Node { unretained.takeUnretainedValue() }

  /// Under the lock.
  private init(_ unretained: Unmanaged<Node>) {
    self.unretained = unretained
  }

  /// The handle of a node, made when there is none. Under the lock.
  @usableFromInline static func of(_ unretained: Unmanaged<Node>) -> Handle {
    if let known = known(unretained) { return known }
    return unretained._withUnsafeGuaranteedRef { node in
      let made = Handle(unretained)
      node.handle = .passUnretained(made)
      node.handles += 1
      if node.handles == 1 { node.core.addHandledNode() }
      return made
    }
  }

  /// The handle of a node, if there is one that is not on its way out. Under the lock or in a read: until the end of
  /// either no handle that a node knows can give up its memory.
  @usableFromInline static func known(_ unretained: Unmanaged<Node>) -> Handle? {
    unretained._withUnsafeGuaranteedRef { node in
      guard let known = node.handle, let kept = swift_tryRetain(known.toOpaque()) else { return nil }
      return Unmanaged<Handle>.fromOpaque(kept).takeRetainedValue()
    }
  }

  static func of(_ node: Node) -> Handle {
    of(.passUnretained(node))
  }

  /// How many references keep a node from outside. Under the lock.
  static func count(of node: Node) -> Int {
    // One that is on its way out is kept by nobody. The reference that is taken to find that out does not count.
    guard let known = node.handle, let kept = swift_tryRetain(known.toOpaque()) else { return 0 }
    defer { known.release() }
    return Int(swift_retainCount(kept)) - 1
  }

  deinit {
    // Until it is given up, the node and the core are there.
    let core = unretained._withUnsafeGuaranteedRef { $0.core }
    core.release(.passUnretained(self), of: unretained)
  }
}
