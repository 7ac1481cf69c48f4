import CoherenceCore

/// The start of a new store: it compiles, it opens, and the suite names the missing parts.
final class SkeletonStore: PersistentStore {
  let environment: StoreEnvironment
  let spaces: IDSpaces
  let capabilities: StoreCapabilities = []

  init(_ environment: StoreEnvironment) {
    self.environment = environment
    spaces = IDSpaces(store: StoreIdentifier("skeleton"), model: environment.model)
  }

  func metadata() throws -> StoreMetadata { throw missing() }
  func setUserInfo(_ userInfo: [String: String]) throws { throw missing() }
  func makeReader() throws -> any StoreReader { throw missing() }
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> { throw missing() }
  func save(_ request: StoreSaveRequest) throws { throw missing() }
  func close() {}
}

/// The error of a missing part.
func missing(_ function: StaticString = #function) -> CoherenceError {
  CoherenceError(.unsupported, "The store has no '\(function)' yet; write it.")
}

/// Opens the unfinished store.
struct SkeletonFactory: StoreFactory {
  let make: @Sendable (StoreEnvironment) -> any PersistentStore

  var usesFiles: Bool { false }
  func open(_ environment: StoreEnvironment) throws -> any PersistentStore { make(environment) }
  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { throw missing() }
  func setAside(_ environment: StoreEnvironment) throws -> String { throw missing() }
}
