import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Testing

/// The index by which the members of an ordered relationship are found in their order.
@Suite(.needsServer) struct OrderedIndexTests {
  private let schema: TemporarySchema

  init() throws { schema = try TemporarySchema() }

  @Test func `the members of an ordered relationship are read in their order without a sort`() throws {
    let model = try ManagedObjectModel {
      Entity("Album") { Relationship("tracks", toMany: "Track", inverse: "album", ordered: true) }
      Entity("Track") { Relationship("album", toOne: "Album", inverse: "tracks") }
    }
    let store = try schema.open(model)
    defer { store.close() }
    let administration = try schema.administration()
    // Without other ways to find the rows, the plan sorts only if no index has the order.
    for setting in ["enable_sort", "enable_seqscan", "enable_bitmapscan"] {
      try administration.run("SELECT set_config(\(text: setting), 'off', false)", isPrepared: false)
    }
    let plan = try administration.run(
      """
      EXPLAIN SELECT \(name: "$id") FROM \(name: "Track") WHERE \(name: "album") = 1 \
      ORDER BY \(name: "album.position") NULLS FIRST, \(name: "$id")
      """, isPrepared: false)
    let lines = (0..<plan.rowCount).compactMap { plan.text($0, 0) }
    #expect(lines.contains { $0.contains("Index") }, "\(lines)")
    #expect(!lines.contains { $0.contains("Sort") }, "\(lines)")
  }
}
