import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import TestSupport
import Testing

/// The statements that write many rows at once. The tests need no server.
@Suite struct BulkStatementTests {
  private let entity: EntityDescription
  private let schema: SQLSchema

  init() throws {
    let model = try PeopleModel.make()
    entity = try model.entity(named: "Person")
    schema = SQLSchema(
      environment: StoreEnvironment(type: .postgreSQL, url: nil, model: model), dialect: PostgreSQLDialect())
  }

  private func update(_ names: String...) throws -> PostgreSQLBulkStatement {
    let slots = try names.map { name in try #require(entity.attribute(named: name)?.slot) }
    return try PostgreSQLBulkStatement.update(entity, slots: SlotSet(slots), in: schema)
  }

  private let megabyte = String(repeating: "x", count: 1 << 20)

  @Test func `an update writes its columns and the version of the rows at their base version`() throws {
    let statement = try update("name", "email")
    #expect(
      statement.text.text
        == #"UPDATE "Person" AS "t" SET "name" = "u"."c0", "email" = "u"."c1", "$version" = "u"."c2" FROM "#
        + "ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2), pg_catalog.unnest($3), pg_catalog.unnest($4), "
        + #"pg_catalog.unnest($5)) AS "u" ("c0", "c1", "c2", "c3", "c4") "#
        + #"WHERE "t"."$id" = "u"."c3" AND "t"."$version" = "u"."c4""#)
  }

  @Test func `a delete removes the rows at their base version`() throws {
    let statement = try PostgreSQLBulkStatement.delete(entity, in: schema)
    #expect(
      statement.text.text
        == #"DELETE FROM "Person" AS "t" USING ROWS FROM (pg_catalog.unnest($1), pg_catalog.unnest($2)) AS "u" "#
        + #"("c0", "c1") WHERE "t"."$id" = "u"."c0" AND "t"."$version" = "u"."c1""#)
  }

  private static let bounds: [(Int, [Int])] = [
    (0, [0]), (1, [0, 1]), (4_096, [0, 4_096]), (4_097, [0, 4_096, 4_097]), (8_193, [0, 4_096, 8_192, 8_193]),
  ]

  @Test(arguments: bounds)
  func `one execution takes 4,096 rows`(count: Int, bounds: [Int]) throws {
    let ranges = try update("name").ranges(of: count) { _, _ in .string("x") }
    #expect(ranges == zip(bounds, bounds.dropFirst()).map { $0..<$1 })
  }

  @Test func `one execution takes 32 MB of texts, and always one row`() throws {
    let text = AttributeValue.string(megabyte)
    #expect(try update("name").ranges(of: 32) { _, _ in text } == [0..<32])
    #expect(try update("name").ranges(of: 33) { _, _ in text } == [0..<32, 32..<33])
    #expect(try update("name").ranges(of: 65) { _, _ in text } == [0..<32, 32..<64, 64..<65])
    // Each row has two texts.
    #expect(try update("name", "email").ranges(of: 17) { _, _ in text } == [0..<16, 16..<17])
    let huge = AttributeValue.string(String(repeating: megabyte, count: 40))
    #expect(try update("name").ranges(of: 3) { index, _ in index == 1 ? huge : .null } == [0..<1, 1..<2, 2..<3])
  }
}
