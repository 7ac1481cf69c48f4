import CoherenceConformance
import CoherenceCore
import Notebook
import Testing

@Suite("A store that somebody else wrote")
struct NotebookConformanceTests {
  @Test(arguments: ConformanceSuite.cases)
  func `the store conforms`(conformanceCase: ConformanceCase) async throws {
    try await ConformanceSuite.run(conformanceCase, on: NotebookHarness())
  }

  @Test func `every skip has its case and its reason`() {
    #expect(ConformanceSuite.faults(of: NotebookHarness()) == [])
  }
}

/// What the suite needs to know of notebooks.
struct NotebookHarness: StoreHarness {
  let name = "Notebook"

  func makeLocation() throws -> any StoreLocation { NotebookLocation() }
}

/// A notebook is a place by itself: it keeps its content while stores come and go.
private final class NotebookLocation: StoreLocation {
  let type = Notebook().storeType

  func destroy() throws {}
}
