/// The number of contexts that run at once, for stores that keep a resource for each.
package enum ContextThreads {
  package static var count: Int { WorkerPool.shared.limit }

  /// Runs a block that waits for an event outside of the process, such as a server's response. Another context may run
  /// in place of the caller's.
  package static func waiting<T>(_ wait: () throws -> T) rethrows -> T { try WorkerPool.shared.waitingOutside(wait) }
}
