public import CoherenceCore

extension StoreType {
  /// A store that keeps its records in memory, for as long as it is open.
  public static let inMemory = StoreType("InMemory", factory: InMemoryStoreFactory())
}

/// Opens in-memory stores.
struct InMemoryStoreFactory: StoreFactory {
  var usesFiles: Bool { false }

  func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    if environment.isPartialModel, try metadata(environment) == nil {
      throw CoherenceError(
        .notADatabase,
        "No store in memory is open under the name, and the option '\(StoreOption.partialModel)' makes none; open "
          + "the store with the whole model first.")
    }
    guard let name = try InMemoryOptions(environment).sharedName else {
      return InMemoryStore(environment: environment, content: InMemoryContent(environment))
    }
    return InMemoryStore(environment: environment, content: try InMemoryRegistry.content(named: name, for: environment))
  }

  /// The metadata of a live shared content; `nil` without one, and for a store without a name.
  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? {
    guard let name = try InMemoryOptions(environment).sharedName else { return nil }
    return InMemoryRegistry.liveContent(named: name, for: environment)?.metadata
  }

  /// Removes the name of a shared content. The open stores keep the content.
  func setAside(_ environment: StoreEnvironment) throws -> String {
    guard let name = try InMemoryOptions(environment).sharedName else {
      return "nowhere: an in-memory store begins empty"
    }
    InMemoryRegistry.forget(name, for: environment)
    return "in the in-memory stores that are open, no longer reached by the name '\(name)'"
  }
}

extension InMemoryStoreFactory: StoreErasing {
  /// Removes the name of a shared content, which is released with its last open store.
  func erase(_ environment: StoreEnvironment) throws { _ = try setAside(environment) }
}
