import CoherenceConformance
import CoherenceCore
import CoherencePostgreSQL
import Foundation
import Testing

@Suite(.needsServer) struct PostgreSQLConformanceTests {
  @Test(arguments: ConformanceSuite.cases)
  func `the store conforms`(conformanceCase: ConformanceCase) async throws {
    try await ConformanceSuite.run(conformanceCase, on: PostgreSQLHarness())
  }

  @Test func `every skip names a case and a reason`() {
    #expect(ConformanceSuite.faults(of: PostgreSQLHarness()) == [])
  }
}

private struct PostgreSQLHarness: StoreHarness {
  let name = "PostgreSQL"

  func makeLocation() throws -> any StoreLocation { try PostgreSQLLocation() }
}

/// A new schema.
private final class PostgreSQLLocation: StoreLocation {
  let type = StoreType.postgreSQL
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  var url: URL? { schema.url }
  /// The smallest sufficient pool: some cases open a dozen readers at once.
  var options: [String: OptionValue] {
    [PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2]
  }

  /// The owner of the schema removes it.
  func destroy() throws {}
}
