import CoherenceConformance
import CoherenceCore
import CoherenceInMemory
import CoherenceSQLite
import Foundation
import Testing

@Suite struct SQLiteConformanceTests {
  @Test(arguments: ConformanceSuite.cases)
  func `the store conforms`(conformanceCase: ConformanceCase) async throws {
    try await ConformanceSuite.run(conformanceCase, on: SQLiteHarness())
  }

  @Test func `every skip names a case and a reason`() {
    #expect(ConformanceSuite.faults(of: SQLiteHarness()) == [])
  }
}

private struct SQLiteHarness: StoreHarness {
  let name = "SQLite"

  func makeLocation() throws -> any StoreLocation { try SQLiteLocation() }
  func makeCompanionLocation() throws -> any StoreLocation { CompanionLocation() }
}

/// A new directory for a file.
private final class SQLiteLocation: StoreLocation {
  let type = StoreType.sqlite
  let url: URL?
  private let directory: URL

  init() throws {
    directory = FileManager.default.temporaryDirectory.appendingPathComponent("conformance-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    url = directory.appendingPathComponent("store.sqlite")
  }

  func destroy() throws {
    do {
      try FileManager.default.removeItem(at: directory)
    } catch CocoaError.fileNoSuchFile where FileManager.default.fileExists(atPath: directory.path) {
      // The last connection, closed at this moment, has deleted the log itself.
      try FileManager.default.removeItem(at: directory)
    }
  }
}

private final class CompanionLocation: StoreLocation {
  let type = StoreType.inMemory
  func destroy() throws {}
}
