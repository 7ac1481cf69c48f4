import CoherenceConformance
import CoherenceCore
import Notebook
import Testing

@Suite("A store of another package")
struct NotebookConformanceTests {
  @Test(arguments: ConformanceSuite.cases)
  func `the store conforms`(conformanceCase: ConformanceCase) async throws {
    try await ConformanceSuite.run(conformanceCase, on: NotebookHarness())
  }

  @Test func `every skip names a case and a reason`() {
    #expect(ConformanceSuite.faults(of: NotebookHarness()) == [])
  }
}

/// Gives the conformance suite access to notebooks.
struct NotebookHarness: StoreHarness {
  let name = "Notebook"

  func makeLocation() throws -> any StoreLocation { NotebookLocation() }

  var skips: [String: String] {
    var skips: [String: String] = [:]
    for area in ["Migration", "Refused migration", "Left out", "Renaming", "Converted types", "Data loss"] {
      skips.merge(
        ConformanceSuite.skips(ofArea: area, because: "A notebook is opened with its own model only.")
      ) { $1 }
    }
    // These cases pass, because a notebook ignores defaults, indexes and delete rules, and identifies an entity by its
    // name.
    for name in [
      "another default leaves existing records unchanged", "an index is added", "an index is dropped",
      "the references of an entity with the name of an alias are checked from then on",
      "an entity that moves into another hierarchy is refused",
      "a part that the store does not have as declared is refused, and the store stays as it is",
    ] {
      skips[name] = nil
    }
    return skips
  }
}

/// A notebook is its own location, which keeps its content while stores are opened and closed.
private final class NotebookLocation: StoreLocation {
  let type = Notebook().storeType

  func destroy() throws {}
}
