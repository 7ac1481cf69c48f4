extension PersistentStoreCoordinator {
  /// Runs a block during which no other writer can change the stores that conform to ``WriterExcluding``. Other stores
  /// are not protected.
  func excludingWriters<T>(of stores: [any PersistentStore], _ body: () throws -> T) throws -> T {
    // All callers exclude writers in the same order of stores, so that two callers never wait for each other.
    let excludingStores = stores.compactMap { $0 as? any WriterExcluding }
      .sorted { $0.identifier.rawValue < $1.identifier.rawValue }
    return try excludingWriters(of: excludingStores[...], body)
  }

  private func excludingWriters<T>(
    of stores: ArraySlice<any WriterExcluding>, _ body: () throws -> T
  ) throws -> T {
    guard let store = stores.first else { return try body() }
    return try store.excludingWriters { try excludingWriters(of: stores.dropFirst(), body) }
  }
}
