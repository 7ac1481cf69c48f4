import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Testing

/// The names of tables and columns within the limit of the server. The tests need no server.
@Suite struct RelationNameTests {
  private func name(_ candidate: String) -> String {
    var names = SQLNames(dialect: PostgreSQLDialect())
    return names.allocate([candidate], key: "k")
  }

  @Test func `a name of at most 63 bytes is kept, and a longer one ends with the digest of its key`() {
    let longest = String(repeating: "a", count: 63)
    #expect(name(longest) == longest)
    #expect(name(longest + "a") == String(repeating: "a", count: 54) + "~ee0c38ea")
  }

  @Test func `a name is shortened between characters`() {
    #expect(name(String(repeating: "é", count: 40)) == String(repeating: "é", count: 27) + "~ee0c38ea")
    #expect(name("a" + String(repeating: "é", count: 40)) == "a" + String(repeating: "é", count: 26) + "~ee0c38ea")
  }

  @Test(arguments: ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "$commits"])
  func `a name of the server or of the store's own table is not used`(reserved: String) {
    #expect(name(reserved) == "_\(reserved)~ee0c38ea")
  }

  @Test func `names that differ in their case are different`() {
    var names = SQLNames(dialect: PostgreSQLDialect())
    let allocated = ["a", "A"].map { names.allocate([$0], key: "k") }
    #expect(allocated == ["a", "A"])
  }
}
