package import CoherenceCore

/// A store over another store, some of whose saves have an unknown outcome, as after a connection that broke during the
/// commit.
package final class UncertainStore: PersistentStore {
  /// The moment of a save at which the connection breaks.
  package enum Loss: Sendable { case beforeSave, afterSave }

  private struct Factory: StoreFactory {
    let type: StoreType
    let base: any StoreFactory
    let isRetryable: Bool
    let loss: @Sendable (StoreSaveRequest) -> Loss?

    var usesFiles: Bool { base.usesFiles }

    func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
      UncertainStore(over: try base.open(based(environment)), isRetryable: isRetryable, loss)
    }
    func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { try base.metadata(based(environment)) }
    func setAside(_ environment: StoreEnvironment) throws -> String { try base.setAside(based(environment)) }

    private func based(_ environment: StoreEnvironment) -> StoreEnvironment {
      var environment = environment
      environment.type = type
      return environment
    }
  }

  /// Returns a type that opens stores of another type with losses.
  ///
  /// - Parameters:
  ///   - isRetryable: Whether the error of a loss is retryable.
  ///   - loss: Returns the loss of a save; `nil` for a save with a known outcome.
  package static func type(
    over type: StoreType, isRetryable: Bool = false, _ loss: @escaping @Sendable (StoreSaveRequest) -> Loss?
  ) throws -> StoreType {
    let base = try StoreRegistry.current.factory(for: type)
    return StoreType(
      "Uncertain\(type.name)", factory: Factory(type: type, base: base, isRetryable: isRetryable, loss: loss))
  }

  private let base: any PersistentStore
  private let isRetryable: Bool
  private let loss: @Sendable (StoreSaveRequest) -> Loss?

  private init(
    over base: any PersistentStore, isRetryable: Bool, _ loss: @escaping @Sendable (StoreSaveRequest) -> Loss?
  ) {
    self.base = base
    self.isRetryable = isRetryable
    self.loss = loss
  }

  package var environment: StoreEnvironment { base.environment }
  package var spaces: IDSpaces { base.spaces }
  package var capabilities: StoreCapabilities { base.capabilities }
  package func metadata() throws -> StoreMetadata { try base.metadata() }
  package func setUserInfo(_ userInfo: [String: String]) throws { try base.setUserInfo(userInfo) }
  package func makeReader() throws -> any StoreReader { try base.makeReader() }
  package func allocateKeys(_ count: Int, for root: EntityDescription) throws -> Range<Int64> {
    try base.allocateKeys(count, for: root)
  }
  package func close() { base.close() }

  package func save(_ request: StoreSaveRequest) throws {
    let moment = loss(request)
    if moment != .beforeSave { try base.save(request) }
    guard moment != nil else { return }
    throw CoherenceError(
      .connectionLost, "The connection broke during the commit.", outcome: .unknown, isRetryable: isRetryable)
  }
}
