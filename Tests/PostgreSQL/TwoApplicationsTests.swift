import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// Several programs with different models share a schema of a database.
@Suite(.needsServer) struct TwoApplicationsTests {
  private let schema: TemporarySchema
  init() throws { schema = try TemporarySchema() }

  private func shop() throws -> ManagedObjectModel {
    try ManagedObjectModel(name: "Shop") {
      Entity("Article") {
        Attribute("name", .string)
        Attribute("price", .decimal, optional: true)
      }
    }
  }

  private func blog() throws -> ManagedObjectModel {
    try ManagedObjectModel(name: "Blog") { Entity("Post") { Attribute("title", .string) } }
  }

  @Test func `a second application on one schema is refused with the advice to use another schema`() throws {
    let store = try schema.open(shop())
    try store.insert("Article", ["name": .string("pen")])
    for options in [[:], [StoreOption.allowsDataLoss: true]] as [[String: OptionValue]] {
      let error = #expect(throws: CoherenceError.self) { try schema.open(blog(), options: options) }
      #expect(error?.code == .incompatibleModel)
      #expect(error?.message.contains("'\(PostgreSQLOption.schema)'") == true)
      #expect(error?.message.contains("Shop") == true)
    }
    #expect(try store.fetch("Article").map { $0["name"] } == [.string("pen")])
  }

  @Test func `only one of two applications gets an empty schema`() async throws {
    let (schema, shop, blog) = (schema, try shop(), try blog())
    let opened = await withTaskGroup(of: Bool.self) { group in
      for model in [shop, blog] {
        group.addTask { (try? schema.open(model)) != nil }
      }
      return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
    }
    #expect(opened == 1)
  }

  @Test func `processes that extend a store at the same time leave a store with all extensions`() async throws {
    try schema.open(shop()).close()
    let schema = schema
    let models = try (0..<4).map { number in
      try ManagedObjectModel(name: "Shop") {
        Entity("Article") {
          Attribute("name", .string)
          Attribute("extra\(number)", .int32, default: number)
        }
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for model in models { group.addTask { try schema.open(model).close() } }
      try await group.waitForAll()
    }
    let all = try ManagedObjectModel {
      Entity("Article") {
        Attribute("name", .string)
        for number in 0..<4 { Attribute("extra\(number)", .int32, default: number) }
      }
    }
    let store = try schema.open(all, options: [StoreOption.allowsDataLoss: false])
    #expect(try store.metadata().models.count == 6)
    #expect(try store.fetch("Article").isEmpty)
  }

  @Test func `a changed attribute type drops values only if data loss is allowed, and the error counts them`() throws {
    let store = try schema.open(shop())
    try store.insert("Article", ["name": .string("pen"), "price": .decimal(2)])
    let changed = try ManagedObjectModel(name: "Shop") {
      Entity("Article") {
        Attribute("name", .string)
        Attribute("price", .string, optional: true)
      }
    }
    let error = #expect(throws: CoherenceError.self) { try schema.open(changed) }
    let loss = try #require(error?.dataLosses.first)
    #expect(loss.table == "Article" && loss.column == "price" && loss.count == 1)
    let newer = try schema.open(changed, options: [StoreOption.allowsDataLoss: true])
    #expect(try newer.fetch("Article").map { $0["price"] } == [.null])
  }
}
