import CoherenceConformance
import CoherenceCore
import CoherenceInMemory
import Foundation

/// The compared stores. The results of the first store, in memory, are the expected results of the other stores.
enum DifferentialStores {
  static var all: [any StoreHarness] {
    let stores: [any StoreHarness] = [InMemoryHarness(), BareHarness(on: InMemoryHarness()), SQLiteHarness()]
    return stores + (PostgreSQLHarness().map { [$0] } ?? [])
  }
}

private struct InMemoryHarness: StoreHarness {
  let name = "InMemory"
  func makeLocation() throws -> any StoreLocation { InMemoryLocation() }
}

private final class InMemoryLocation: StoreLocation {
  let type = StoreType.inMemory
  func destroy() throws {}
}
