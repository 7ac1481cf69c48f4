import CoherenceCore
import Synchronization

/// A store over another store, some of whose saves have an unknown outcome.
final class UnsureStore: PersistentStore {
  /// The moment of a save at which the connection breaks.
  enum Loss: Sendable { case beforeSave, afterSave }

  /// The losses of the next saves that insert a note, in order.
  final class Losses: Sendable {
    private let remaining: Mutex<[Loss]>

    init(_ losses: Loss...) { remaining = Mutex(losses) }

    fileprivate func next(for request: StoreSaveRequest) -> Loss? {
      let insertsNote = request.steps.contains { step in
        if case .insert(let entity, _) = step { entity.name == "Note" } else { false }
      }
      guard insertsNote else { return nil }
      return remaining.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }
  }

  private struct Factory: StoreFactory {
    let type: StoreType
    let base: any StoreFactory
    let losses: Losses

    var usesFiles: Bool { base.usesFiles }

    func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
      UnsureStore(over: try base.open(based(environment)), losses)
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
  static func type(over type: StoreType, _ losses: Losses) throws -> StoreType {
    let factory = Factory(type: type, base: try StoreRegistry.current.factory(for: type), losses: losses)
    return StoreType("Unsure\(type.name)", factory: factory)
  }

  private let base: any PersistentStore
  private let losses: Losses

  private init(over base: any PersistentStore, _ losses: Losses) {
    self.base = base
    self.losses = losses
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
  func close() { base.close() }

  func save(_ request: StoreSaveRequest) throws {
    let loss = losses.next(for: request)
    if loss != .beforeSave { try base.save(request) }
    guard loss != nil else { return }
    throw CoherenceError(.connectionLost, "The connection broke during the commit.", outcome: .unknown)
  }
}
