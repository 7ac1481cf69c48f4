package import CoherenceCore

/// A store over another store, some of whose saves fail.
package final class FailingStore: PersistentStore {
  /// The failure of a save.
  package enum Failure: Sendable {
    /// The disk refuses the save.
    case refusal
    /// The connection breaks during the commit, before or after the save. The outcome is unknown.
    case lossBeforeSave, lossAfterSave
  }

  private struct Factory: StoreFactory {
    let type: StoreType
    let base: any StoreFactory
    let isRetryable: Bool
    let failure: @Sendable (StoreSaveRequest) -> Failure?

    var usesFiles: Bool { base.usesFiles }

    func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
      FailingStore(over: try base.open(based(environment)), isRetryable: isRetryable, failure)
    }
    func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { try base.metadata(based(environment)) }
    func setAside(_ environment: StoreEnvironment) throws -> String { try base.setAside(based(environment)) }

    private func based(_ environment: StoreEnvironment) -> StoreEnvironment {
      var environment = environment
      environment.type = type
      return environment
    }
  }

  /// Returns a type that opens stores of another type with failures.
  ///
  /// - Parameters:
  ///   - isRetryable: Whether the error of a lost connection is retryable.
  ///   - failure: Returns the failure of a save; `nil` for a save that the other store decides.
  package static func type(
    over type: StoreType, isRetryable: Bool = false, _ failure: @escaping @Sendable (StoreSaveRequest) -> Failure?
  ) throws -> StoreType {
    let base = try StoreRegistry.current.factory(for: type)
    return StoreType(
      "Failing\(type.name)", factory: Factory(type: type, base: base, isRetryable: isRetryable, failure: failure))
  }

  private let base: any PersistentStore
  private let isRetryable: Bool
  private let failure: @Sendable (StoreSaveRequest) -> Failure?

  private init(
    over base: any PersistentStore, isRetryable: Bool, _ failure: @escaping @Sendable (StoreSaveRequest) -> Failure?
  ) {
    self.base = base
    self.isRetryable = isRetryable
    self.failure = failure
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
    let failure = failure(request)
    if failure == .refusal {
      throw CoherenceError(.inputOutput, "The disk fails.", outcome: .notApplied)
    }
    if failure != .lossBeforeSave { try base.save(request) }
    guard failure != nil else { return }
    throw CoherenceError(
      .connectionLost, "The connection broke during the commit.", outcome: .unknown, isRetryable: isRetryable)
  }
}
