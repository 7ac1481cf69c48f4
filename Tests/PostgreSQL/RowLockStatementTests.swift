import CoherenceCore
@testable import CoherencePostgreSQL
@testable import CoherenceSQL
import TestSupport
import Testing

/// The statements by which a save locks its rows before it changes them. The tests need no server.
@Suite struct RowLockStatementTests {
  private let person: EntityDescription
  private let schema: SQLSchema
  private let space: IDSpace

  init() throws {
    let model = try PeopleModel.make()
    person = try model.entity(named: "Person")
    schema = SQLSchema(
      environment: StoreEnvironment(type: .postgreSQL, url: nil, model: model), dialect: PostgreSQLDialect())
    space = IDSpaces(store: StoreIdentifier("s"), model: model)[person]
  }

  private func row(_ key: Int64) -> Row {
    Row.make(
      id: ManagedObjectID(space: space, key: key), entity: person, version: 2,
      values: [AttributeValue](repeating: .null, count: person.slotCount))
  }

  private func update(_ name: String, of keys: Int64...) throws -> SaveStep {
    let slot = try #require(person.attribute(named: name)?.slot)
    return .update(person, slots: SlotSet([slot]), keys.map { RowUpdate(row: row($0), baseVersion: 1) })
  }

  private func fix(_ keys: Int64...) throws -> SaveStep {
    let slot = try #require(person.relationship(named: "boss")?.slot)
    return .fix(person, slots: SlotSet([slot]), keys.map { row($0) })
  }

  private func insert(_ keys: Int64...) -> SaveStep { .insert(person, keys.map { row($0) }) }

  private func delete(_ keys: Int64...) -> SaveStep {
    .delete(person, keys.map { RowDelete(id: row($0).id, baseVersion: 1) })
  }

  /// The statements of a save.
  private func locks(_ steps: SaveStep..., counting checks: [MemberCountCheck] = []) throws -> [String] {
    let request = StoreSaveRequest(steps: steps, memberCounts: checks)
    return try PostgreSQLRowLocks(of: request, in: schema).statements().map { $0.text(in: PostgreSQLDialect()) }
  }

  /// Whether a save has one statement, which locks rows in the order of their keys with a clause.
  private func isLock(_ statements: [String], _ clause: String) -> Bool {
    statements.count == 1 && statements[0].hasSuffix(#" ORDER BY "$id" \#(clause)"#)
  }

  @Test func `a save of one stored record locks no row before`() throws {
    #expect(try locks(update("name", of: 1)).isEmpty)
    #expect(try locks(update("name", of: 1), update("email", of: 1), fix(1)).isEmpty)
    // Other writers do not see the inserted rows.
    #expect(try locks(insert(2, 3), update("name", of: 1), fix(2, 3)).isEmpty)
    #expect(try locks(update("name", of: 1), update("email", of: 2)).count == 1)
    #expect(try locks(insert(3), update("name", of: 1), fix(2, 3)).count == 1)
  }

  @Test func `a lock lets others refer to the rows, unless the save deletes rows or changes their unique values`()
    throws
  {
    #expect(isLock(try locks(update("name", of: 2, 1)), "FOR NO KEY UPDATE"))
    #expect(isLock(try locks(fix(1, 2)), "FOR NO KEY UPDATE"))
    #expect(isLock(try locks(update("email", of: 1, 2)), "FOR UPDATE"))
    #expect(isLock(try locks(delete(1, 2)), "FOR UPDATE"))
    // One statement has the strongest lock of all rows.
    #expect(isLock(try locks(update("name", of: 1), delete(2)), "FOR UPDATE"))
    #expect(isLock(try locks(delete(2), update("name", of: 1)), "FOR UPDATE"))
  }

  @Test func `a save locks the owners whose members it counts`() throws {
    let staff = try #require(person.relationship(named: "staff"))
    let check = MemberCountCheck(staff, owners: [1, 2])
    #expect(isLock(try locks(counting: [check]), "FOR NO KEY UPDATE"))
    #expect(try locks(insert(1, 2), counting: [check]).isEmpty)
  }
}
