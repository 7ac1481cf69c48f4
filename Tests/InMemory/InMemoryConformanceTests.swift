import CoherenceConformance
import CoherenceCore
import CoherenceInMemory
import Foundation
import Synchronization
import Testing

@Suite struct InMemoryConformanceTests {
  @Test(arguments: ConformanceSuite.cases)
  func `the store conforms`(conformanceCase: ConformanceCase) async throws {
    try await ConformanceSuite.run(conformanceCase, on: InMemoryHarness())
  }

  @Test func `every skip names a case and a reason`() {
    #expect(ConformanceSuite.faults(of: InMemoryHarness()) == [])
    #expect(ConformanceSuite.cases.count >= 1_500)
  }
}

private struct InMemoryHarness: StoreHarness {
  let name = "InMemory"

  func makeLocation() throws -> any StoreLocation { InMemoryLocation() }

  let skips = ["Migration", "Refused migration", "Left out", "Renaming", "Converted types", "Data loss"].reduce(
    into: [:]) { skips, area in
      skips.merge(
        ConformanceSuite.skips(
          ofArea: area, because: "A store in memory is never older than its model: it lives no longer than the process."
        )
      ) { $1 }
    }
    .filter { !Self.passing.contains($0.key) }

  /// The cases of these areas that pass, because a store in memory is opened with its own model only.
  private static let passing: Set = [
    "a part that the store does not have as declared is refused, and the store stays as it is",
    "no store is made for a part of a model",
  ]
}

/// A name that stores share their content by, which is kept open from the first store to the end.
private final class InMemoryLocation: StoreLocation {
  let type = StoreType.inMemory
  let options: [String: OptionValue] = [InMemoryOption.sharedName: .string(UUID().uuidString)]
  private let anchors = Mutex<[any PersistentStore]>([])

  func willOpen(_ environment: StoreEnvironment) throws {
    // Another model than before is for the store itself to refuse.
    guard let anchor = try? environment.type.factory?.open(environment) else { return }
    anchors.withLock { $0.append(anchor) }
  }

  func destroy() throws {
    anchors.withLock { anchors in
      for anchor in anchors { anchor.close() }
      anchors = []
    }
  }
}
