public import CoherenceCore

extension StoreType {
  /// A store that keeps its records in memory, for as long as it is open.
  public static let inMemory = StoreType("InMemory", factory: InMemoryFactory())
}

/// The options of in-memory stores.
public enum InMemoryOption {
  /// A name under which in-memory stores of one process share their content. A `string`.
  ///
  /// Stores opened with the same name and the same model configuration have one content and one identity. The content
  /// lives while at least one of them is open. They must be opened with the same model, not with another one built from
  /// the same declarations: ``ErrorCode/incompatibleModel`` otherwise. A store without a name has a content of its own.
  public static let sharedName = "sharedName"
}

/// Opens in-memory stores.
struct InMemoryFactory: StoreFactory {
  var usesFiles: Bool { false }

  func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    guard let name = try sharedName(environment) else {
      return InMemoryStore(environment: environment, content: InMemoryContent(environment))
    }
    return InMemoryStore(environment: environment, content: try InMemoryRegistry.content(named: name, for: environment))
  }

  /// The metadata of a live shared content; `nil` without one, and for a store without a name.
  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? {
    guard let name = try sharedName(environment) else { return nil }
    return InMemoryRegistry.liveContent(named: name, for: environment)?.metadata
  }

  /// Removes the name of a shared content. The open stores keep the content.
  func setAside(_ environment: StoreEnvironment) throws -> String {
    guard let name = try sharedName(environment) else { return "nowhere: an in-memory store begins empty" }
    InMemoryRegistry.forget(name, for: environment)
    return "in the in-memory stores that are open, no longer reached by the name '\(name)'"
  }

  private func sharedName(_ environment: StoreEnvironment) throws -> String? {
    guard environment.options[InMemoryOption.sharedName] != nil else { return nil }
    guard let name = environment.string(InMemoryOption.sharedName), !name.isEmpty else {
      throw CoherenceError(
        .invalidOption,
        "The option '\(InMemoryOption.sharedName)' of an in-memory store must be a text that is not empty."
      )
    }
    return name
  }
}

extension InMemoryFactory: StoreErasing {
  /// Removes the name of a shared content, which is released with its last open store.
  func erase(_ environment: StoreEnvironment) throws { _ = try setAside(environment) }
}
