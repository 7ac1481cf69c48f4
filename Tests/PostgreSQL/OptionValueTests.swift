import CoherenceCore
@testable import CoherencePostgreSQL
import Foundation
import Testing

/// The options of a store, as its connections read them. The tests need no server.
@Suite struct OptionValueTests {
  private func options(
    _ options: [String: OptionValue] = [:], url: String? = "postgresql://host/db"
  ) throws -> PostgreSQLOptions {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    return try PostgreSQLOptions(
      StoreEnvironment(type: .postgreSQL, url: url.flatMap { URL(string: $0) }, model: model, options: options))
  }

  private func code(_ options: [String: OptionValue] = [:], url: String? = "postgresql://host/db") -> ErrorCode? {
    do {
      _ = try self.options(options, url: url)
      return nil
    } catch {
      return (error as? CoherenceError)?.code
    }
  }

  static let timeouts: [(OptionValue?, Double, Double?)] = [(nil, 15, nil), (0, 15, nil), (2.5, 3.5, 3.5), (1, 2, 2)]

  @Test(arguments: timeouts)
  func `a connection waits a second longer than a statement may take, and fifteen seconds without a limit`(
    timeout: OptionValue?, silence: Double, commit: Double?
  ) throws {
    var values: [String: OptionValue] = [:]
    values[PostgreSQLOption.statementTimeout] = timeout
    let options = try options(values)
    #expect(options.silenceTimeout == .seconds(silence))
    #expect(options.commitTimeout == commit.map { Duration.seconds($0) })
  }

  @Test func `a schema has any name that the server leaves to programs`() throws {
    for name in ["a", "pg", "information", "$users", String(repeating: "a", count: 63)] {
      #expect(try options([PostgreSQLOption.schema: .string(name)]).schema == name)
    }
    for name in ["", "a\0b", "$user", "information_schema", "pg_a", String(repeating: "a", count: 64)] {
      #expect(code([PostgreSQLOption.schema: .string(name)]) == .invalidOption, "\(name)")
    }
    #expect(try options().schema == "public")
  }

  @Test func `a database is named by its URL or by a connection string, which comes first`() throws {
    #expect(try options(url: "postgres://host/db").connectionString == "postgres://host/db")
    let text = [PostgreSQLOption.connectionString: OptionValue.string("host=h")]
    #expect(try options(text).connectionString == "host=h")
    #expect(try options(text, url: nil).connectionString == "host=h")
    #expect(code(url: nil) == .storeInaccessible && code(url: "https://host/db") == .storeInaccessible)
    #expect(code([PostgreSQLOption.connectionString: ""]) == .invalidOption)
  }

  @Test func `a misspelt name of each option is refused`() {
    for name in [
      PostgreSQLOption.schema, PostgreSQLOption.poolSize, PostgreSQLOption.poolTimeout,
      PostgreSQLOption.connectionLifetime, PostgreSQLOption.statementTimeout, PostgreSQLOption.schemaLockTimeout,
      PostgreSQLOption.connectionString,
    ] {
      #expect(code([name + "_": 1]) == .invalidOption, "\(name)")
    }
  }
}
