package import CoherenceCore

extension ManagedObjectContext {
  /// Runs a block in the context, and saves.
  @discardableResult
  package func saving<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    try performAndWait {
      let result = try body(self)
      try save()
      return result
    }
  }
}
