extension EntityStore {
  /// Makes one operation of many: observers are told once, when all is done, and other threads see all of it or nothing.
  ///
  /// Transactions can be nested; an inner one that throws is undone alone.
  /// - Parameters:
  ///   - origin: Says where the changes come from, for the change log.
  ///   - body: What is to be done. When it throws, everything it did to the store is undone, and nobody is told.
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
