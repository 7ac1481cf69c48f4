import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

@Suite(.needsServer) struct RefusedConnectionTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  /// The error for a role with the given attributes.
  private func refusal(ofRoleWith attributes: SQLFragment) throws -> CoherenceError? {
    let administration = try schema.administration()
    try administration.run("CREATE ROLE \(name: schema.name) LOGIN \(attributes)", isPrepared: false)
    defer { _ = try? administration.run("DROP ROLE \(name: schema.name)", isPrepared: false) }
    let model = try PeopleModel.make()
    let url = try schema.url(with: ["user": schema.name])
    return #expect(throws: CoherenceError.self) { try schema.open(model, url: url) }
  }

  @Test func `the error of a server without free connections is retryable`() throws {
    let error = try refusal(ofRoleWith: "CONNECTION LIMIT 0")
    #expect(error?.code == .tooManyConnections)
    #expect(error?.isRetryable == true)
  }

  @Test func `the error for a user who may not create a schema names the missing right`() throws {
    let error = try refusal(ofRoleWith: "")
    #expect(error?.code == .storeInaccessible)
    #expect(error?.message.contains("right") == true)
    #expect(error?.isRetryable == false)
  }
}
