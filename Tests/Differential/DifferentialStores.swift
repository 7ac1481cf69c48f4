import CoherenceConformance
import CoherenceCore
import CoherenceInMemory

/// The stores that are compared. The in-memory store is the model of the others.
enum DifferentialStores {
  static let all: [any StoreHarness] = [InMemoryHarness(), BareHarness(on: InMemoryHarness())]
}

private struct InMemoryHarness: StoreHarness {
  let name = "InMemory"
  func makeLocation() throws -> any StoreLocation { InMemoryLocation() }
}

private final class InMemoryLocation: StoreLocation {
  let type = StoreType.inMemory
  func destroy() throws {}
}
