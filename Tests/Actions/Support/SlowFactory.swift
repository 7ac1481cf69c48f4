import CoherenceCore

/// A factory that blocks before it fails to open a store.
final class SlowFactory: StoreFactory {
  private let gate = MockScript(waits: true)
  var usesFiles: Bool { false }
  func untilOpening() async { await gate.untilBegun() }
  func release() { gate.release() }
  func open(_ environment: StoreEnvironment) throws -> any PersistentStore {
    try gate.run()
    throw CoherenceError(.unsupported, "There is no such store.")
  }
  func metadata(_ environment: StoreEnvironment) throws -> StoreMetadata? { nil }
  func setAside(_ environment: StoreEnvironment) throws -> String { "nowhere" }
}
