import CoherenceCore
import TestSupport
import Testing

/// Values that another program has written into a column of another type, read by rows, by groups and by conversions.
@Suite struct DamagedValueTests {
  private let place: TemporaryStore

  init() throws { place = try TemporaryStore() }

  private func model(_ attribute: Attribute) throws -> ManagedObjectModel {
    try ManagedObjectModel { Entity("Thing") { attribute } }
  }

  /// Runs SQL in the store's file.
  private func write(_ text: String) throws {
    let other = try OtherProgram(place.path)
    try other.run(text)
    try other.close()
  }

  /// For each column, values of other types.
  private static let values: [(column: String, values: [String])] = [
    ("anInteger", ["'x'", "0.5", "x'00'"]), ("aTruth", ["2", "-1", "'x'", "0.5"]), ("aDate", ["'x'", "1.5"]),
    ("aNumber", ["'x'", "x'00'"]), ("aText", ["x'61'", "CAST(x'FF' AS TEXT)", "CAST(x'610062' AS TEXT)"]),
    ("anIdentifier", ["x'00'", "'x'", "zeroblob(15)", "zeroblob(17)"]), ("someData", ["'x'", "1"]),
    ("aDecimal", ["'abc'", "'1e3'", "'--1'", "'1-2'", "x'31'"]),
  ]

  @Test func `a value of a wrong type for its column is refused with the column`() throws {
    let model = try ManagedObjectModel {
      Entity("Thing") {
        Attribute("anInteger", .int64, optional: true)
        Attribute("aTruth", .bool, optional: true)
        Attribute("aDate", .date, optional: true)
        Attribute("aNumber", .double, optional: true)
        Attribute("aText", .string, optional: true)
        Attribute("anIdentifier", .uuid, optional: true)
        Attribute("someData", .data, optional: true)
        Attribute("aDecimal", .decimal, optional: true)
      }
    }
    let store = try place.open(model)
    let row = try store.insert("Thing")
    let other = try OtherProgram(place.path)
    for (column, values) in Self.values {
      for value in values {
        try other.run(#"UPDATE "Thing" SET "\#(column)" = \#(value)"#)
        let error = #expect(throws: CoherenceError.self, "\(column) = \(value)") { try store.current(row) }
        #expect(error?.code == .storeCorrupt)
        #expect(error?.message.hasPrefix("Column '\(column)' of table 'Thing' ") == true, "\(error?.message ?? "")")
      }
      try other.run(#"UPDATE "Thing" SET "\#(column)" = NULL"#)
      #expect(try store.current(row)?.id == row.id)
    }
    try other.close()
  }

  @Test func `groups with a value of a wrong type for its column are refused with the column`() throws {
    let store = try place.open(model(Attribute("size", .int64)))
    try store.insert("Thing", ["size": .int(7)])
    let query = AggregateQuery(
      records: StoreQuery(entity: store.entity("Thing")), keys: [PropertyPath("size")],
      aggregates: [AggregateExpression(.count)], columns: [.key(0), .aggregate(0)])
    func values() throws -> [AttributeValue]? {
      try store.reading { reader in
        let aggregating = try #require(reader as? any Aggregating)
        return try aggregating.aggregate(query)?.values
      }
    }
    #expect(try values() == [.int(7), .int(1)])
    try write(#"UPDATE "Thing" SET "size" = 'x'"#)
    let error = #expect(throws: CoherenceError.self) { try values() }
    #expect(error?.code == .storeCorrupt)
    #expect(error?.message.hasPrefix("Column 0 of a statement about groups") == true, "\(error?.message ?? "")")
  }

  @Test func `a value of a wrong type for its column is not converted, and the store stays unchanged`() throws {
    let first = try model(Attribute("size", .int64))
    let store = try place.open(first)
    try store.insert("Thing", ["size": .int(7)])
    store.close()
    try write(#"UPDATE "Thing" SET "size" = 'x'"#)
    let converting = try model(Attribute("size", .string, converting: { _ in .string("seven") }))
    let error = #expect(throws: CoherenceError.self) { try place.open(converting) }
    #expect(error?.code == .storeCorrupt)
    #expect(error?.message.hasPrefix("A value that is to be converted is not of type") == true)
    try write(#"UPDATE "Thing" SET "size" = 9"#)
    let again = try place.open(first)
    #expect(try again.fetch("Thing").map { $0["size"] } == [.int(9)])
    again.close()
    #expect(try place.open(converting).fetch("Thing").map { $0["size"] } == [.string("seven")])
  }
}
