import CoherenceConformance
import CoherenceCore
import Testing

@Suite("An unfinished store")
struct SkeletonConformanceTests {
  // A save needs keys, so the report names the missing `save` only when keys exist. It names the missing parts for
  // moving a store aside last. The part `metadata(_:)` is the factory's.

  @Test func `the report on a skeleton names the missing parts`() async {
    let missing = await missingParts { SkeletonStore($0) }
    #expect(missing == ["metadata()", "metadata(_:)", "setUserInfo(_:)", "makeReader()", "allocateKeys(_:for:)"])
  }

  @Test func `with one part written the report names the next missing part`() async {
    let missing = await missingParts { KeyedSkeletonStore($0) }
    #expect(missing == ["metadata()", "metadata(_:)", "setUserInfo(_:)", "makeReader()", "save(_:)"])
  }

  /// The parts that failures of the suite name.
  private func missingParts(
    _ make: @escaping @Sendable (StoreEnvironment) -> any PersistentStore
  ) async -> Set<String> {
    let report = await ConformanceSuite.report(on: SkeletonHarness(make: make))
    #expect(!report.isConforming)
    return Set(report.failures.compactMap { $0.firstMatch(of: /has no '(.+?)' yet/).map { String($0.1) } })
  }
}

private struct SkeletonHarness: StoreHarness {
  let make: @Sendable (StoreEnvironment) -> any PersistentStore
  let name = "Skeleton"

  func makeLocation() throws -> any StoreLocation {
    SkeletonLocation(type: StoreType("Skeleton", factory: SkeletonFactory(make: make)))
  }
}

private final class SkeletonLocation: StoreLocation {
  let type: StoreType

  init(type: StoreType) { self.type = type }

  func destroy() throws {}
}
