import CoherenceCore
import Synchronization

/// Refuses the saves of a store while it is on.
final class SaveRefusal: Sendable {
  private let refuses = Atomic<Bool>(false)

  var isOn: Bool {
    get { refuses.load(ordering: .acquiring) }
    set { refuses.store(newValue, ordering: .releasing) }
  }

  /// Returns a store type that opens stores of another type, whose saves this instance refuses.
  func type(for base: StoreType) throws -> StoreType {
    let factory = try StoreRegistry.current.factory(for: base)
    return StoreType("Refused\(base.name)", factory: Factory(base: base, factory: factory, refusal: self))
  }

  private struct Factory: StoreFactory {
    let base: StoreType
    let factory: any StoreFactory
    let refusal: SaveRefusal

    var usesFiles: Bool { factory.usesFiles }

    private func based(_ environment: StoreEnvironment) -> StoreEnvironment {
      var environment = environment
      environment.type = base
      return environment
    }

    func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
      RefusingStore(base: try factory.open(based(environment)), refusal: refusal)
    }
    func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? {
      try factory.metadata(based(environment))
    }
    func setAside(_ environment: StoreEnvironment) throws -> String { try factory.setAside(based(environment)) }
  }
}

/// A store with only the required members of the protocol.
private final class RefusingStore: PersistentStore {
  let base: any PersistentStore
  let refusal: SaveRefusal

  init(base: any PersistentStore, refusal: SaveRefusal) {
    self.base = base
    self.refusal = refusal
  }

  var environment: StoreEnvironment { base.environment }
  var spaces: IDSpaces { base.spaces }
  var capabilities: StoreCapabilities { base.capabilities }
  func metadata() throws -> StoreMetadata { try base.metadata() }
  func setUserInfo(_ userInfo: [String: String]) throws { try base.setUserInfo(userInfo) }
  func makeReader() throws -> any StoreReader { try base.makeReader() }
  func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    try base.allocateKeys(count, for: root)
  }
  func save(_ request: StoreSaveRequest) throws {
    guard !refusal.isOn else {
      var error = CoherenceError(.inputOutput, "The disk fails.")
      error.outcome = .notApplied
      throw error
    }
    try base.save(request)
  }
  func close() { base.close() }
}
