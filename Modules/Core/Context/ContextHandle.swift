import CoherenceRuntime

/// A weak reference to a context.
///
/// Swift's own weak reference would give the context a side table. Every retain of the context would then take the
/// runtime's slow path, and bulk work retains the context for each object. The context clears the handle in its
/// `deinit`, under the lock that also guards ``context``.
package final class ContextHandle: @unchecked Sendable {
  // Sendable: `address` is used under `lock` only.
  // Safety of `Unmanaged`: the context clears the address before its memory is freed, and the runtime refuses a reference
  // to a context whose deinitialisation has begun.
  private let lock = Lock()
  private var address: UnsafeMutableRawPointer?

  init(_ context: ManagedObjectContext) { address = Unmanaged.passUnretained(context).toOpaque() }

  /// The context; `nil` once its deinitialisation has begun.
  package var context: ManagedObjectContext? {
    var result: ManagedObjectContext?
    lock.withLock {
      guard let address, let retained = swift_tryRetain(address) else { return }
      result = Unmanaged<ManagedObjectContext>.fromOpaque(retained).takeRetainedValue()
    }
    return result
  }

  /// Whether the context has been deinitialised. Takes no reference to the context, which could become the last one:
  /// the context would be deinitialised in the middle of the caller's work.
  package var isCleared: Bool { lock.withLock { address == nil } }

  func clear() { lock.withLock { address = nil } }
}

extension ManagedObjectContext {
  /// A weak reference to this context.
  package final var handle: ContextHandle? { storage.handle }
}
