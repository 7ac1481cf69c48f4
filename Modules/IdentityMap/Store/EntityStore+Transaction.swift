extension EntityStore {
  /// Runs operations as one: observers are notified once, at the end, and other threads see all changes or none.
  ///
  /// Transactions can be nested; an inner one that throws is rolled back alone.
  /// - Parameters:
  ///   - origin: The origin of the changes, for the change log.
  ///   - body: The operations. When it throws, all its changes are rolled back without a notification.
  public func transaction<R, E: Error>(
    origin: String? = nil, _ body: (EntityStore) throws(E) -> R
  ) throws(E) -> R {
    try core.exclusively { () throws(E) -> R in
      let outer = core.instrumentation.origin
      core.instrumentation.origin = origin ?? outer
      defer { core.instrumentation.origin = outer }
      return try core.undoable { () throws(E) -> R in try body(self) }
    }
  }
}
