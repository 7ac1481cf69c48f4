import CoherenceRuntime

/// A reference from outside of the store, which retains a node and the store's core.
///
/// All owners of a node share one handle, so that finding a retained node costs a retain and no allocation. The node
/// does not retain its handle. The last release of a handle happens without the lock: until the handle's `deinit` has
/// taken the lock, the node still points to the handle. A search in that time makes a new handle, and the node counts
/// both, because each handle needs the node until its own `deinit` has ended.
// Sendable because its only property never changes, and the node is changed under the lock only, and read under the
// lock or in a shared read.
@usableFromInline
final class Handle: @unchecked Sendable {
  /// The node, which exists as long as it has handles.
  private let unretained: Unmanaged<Node>

  var node: Node { unretained.takeUnretainedValue() }

  /// Makes a handle, which the caller counts in the node. Called under the lock.
  private init(_ unretained: Unmanaged<Node>) {
    self.unretained = unretained
  }

  /// Returns the handle of a node, and makes it if necessary. Under the lock.
  @usableFromInline static func of(_ unretained: Unmanaged<Node>) -> Handle {
    if let existing = existing(unretained) { return existing }
    return unretained._withUnsafeGuaranteedRef { node in
      let made = Handle(unretained)
      node.handle = .passUnretained(made)
      node.handles += 1
      if node.handles == 1 { node.core.addHandledNode() }
      return made
    }
  }

  /// Returns the handle of a node, unless it is being deallocated. Under the lock or in a shared read, because neither
  /// lets the memory of a handle be freed.
  @usableFromInline @inline(__always)
  static func existing(_ unretained: Unmanaged<Node>) -> Handle? {
    unretained._withUnsafeGuaranteedRef { node in
      guard let handle = node.handle, let retained = swift_tryRetain(handle.toOpaque()) else { return nil }
      return Unmanaged<Handle>.fromOpaque(retained).takeRetainedValue()
    }
  }

  static func of(_ node: Node) -> Handle {
    of(.passUnretained(node))
  }

  /// The number of references to the handle of a node, which retain the node from outside. Under the lock.
  static func count(of node: Node) -> Int {
    // A handle in deallocation has no owner. The reference that this check takes does not count.
    guard let handle = node.handle, let retained = swift_tryRetain(handle.toOpaque()) else { return 0 }
    defer { handle.release() }
    return Int(swift_retainCount(retained)) - 1
  }

  deinit {
    // The node and the core exist until the handle is released.
    let core = unretained._withUnsafeGuaranteedRef { $0.core }
    core.release(.passUnretained(self), of: unretained)
  }
}
