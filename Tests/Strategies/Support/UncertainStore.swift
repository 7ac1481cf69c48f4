import CoherenceCore

/// A store that commits its saves and then reports an unknown outcome, as after a connection that broke during the commit.
final class UncertainStore: PersistentStore {
  private let base: any PersistentStore

  private init(_ base: any PersistentStore) { self.base = base }

  var environment: StoreEnvironment { base.environment }
  var spaces: IDSpaces { base.spaces }
  var capabilities: StoreCapabilities { base.capabilities }
  func metadata() throws -> StoreMetadata { try base.metadata() }
  func setUserInfo(_ userInfo: [String: String]) throws { try base.setUserInfo(userInfo) }
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    try base.allocateKeys(count, for: root)
  }
  func makeReader() throws -> any StoreReader { try base.makeReader() }
  func close() { base.close() }

  func save(_ request: StoreSaveRequest) throws {
    try base.save(request)
    throw CoherenceError(.connectionLost, "The connection broke.", outcome: .unknown, isRetryable: true)
  }

  /// A type whose stores are those of another type, with unknown outcomes.
  static func type(for base: StoreType) throws -> StoreType {
    StoreType("Uncertain", factory: Factory(base: base, factory: try StoreRegistry.current.factory(for: base)))
  }

  private struct Factory: StoreFactory {
    let base: StoreType
    let factory: any StoreFactory

    var usesFiles: Bool { factory.usesFiles }
    private func based(_ environment: StoreEnvironment) -> StoreEnvironment {
      var environment = environment
      environment.type = base
      return environment
    }
    func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
      UncertainStore(try factory.open(based(environment)))
    }
    func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? {
      try factory.metadata(based(environment))
    }
    func setAside(_ environment: StoreEnvironment) throws -> String { try factory.setAside(based(environment)) }
  }
}
