import CoherenceCore
@testable import CoherencePostgreSQL
import Foundation
import TestSupport
import Testing

@Suite struct ConfigurationTests {
  @Test func `a configuration contains the database as its location and options by name`() throws {
    let configuration = StoreConfiguration(
      type: .postgreSQL, options: [PostgreSQLOption.poolSize: 16],
      location: URL(string: "postgresql://app@db.example/music"))
    let environment = StoreEnvironment(
      type: configuration.type, url: configuration.location, model: try PeopleModel.make(),
      options: configuration.options)
    let options = try PostgreSQLOptions(environment)
    #expect(options.poolSize == 16)
    #expect(options.connectionString == "postgresql://app@db.example/music")
  }
}
