import CoherenceConformance
import CoherenceCore
import Testing

extension StoreType {
  static let skeleton = StoreType("Skeleton", factory: SkeletonFactory { SkeletonStore($0) })
}

struct NewStoreHarness: StoreHarness {
  let name = "Skeleton"

  func makeLocation() throws -> any StoreLocation { NewStoreLocation() }
}

/// A fresh place for a store, which keeps its content while stores are opened and closed here.
final class NewStoreLocation: StoreLocation {
  let type = StoreType.skeleton

  func destroy() throws {}
}

@Suite("The first steps of the article about custom stores")
struct NewStoreTests {
  @Test func `the report on a new store lists its failures`() async {
    let report = await ConformanceSuite.report(on: NewStoreHarness())
    print(report.failures.first ?? "The store conforms.")
    #expect(!report.isConforming)
    #expect(report.failures.contains { $0.contains("has no 'metadata()' yet") })
  }

  @Test func `the cases of one area are run by themselves`() async {
    var failures: [String] = []
    for conformanceCase in ConformanceSuite.cases where conformanceCase.area == "Metadata" {
      do {
        try await ConformanceSuite.run(conformanceCase, on: NewStoreHarness())
      } catch {
        failures.append("\(error)")
      }
    }
    #expect(failures.contains { $0.contains("has no 'metadata()' yet") })
  }
}
