import CoherenceActions
import CoherenceCore
import Testing
import TestSupport

/// A second merge of the same input, in any order, must change nothing, or be refused like the first.
@Suite("Merging the same input again")
struct MergeIdempotenceTests {
  private func artist(_ id: Int, _ links: [String: MergeLink] = [:]) -> MergeRecord {
    MergeRecord(["id": id], links: links)
  }

  @Test func `an unknown ignored name is refused with the names of the entity's properties`() throws {
    let stack = try MergeStack(.inMemory)
    let error = #expect(throws: CoherenceError.self) {
      try stack.merge([artist(1)], into: "Artist", ignoring: ["name", "naem"])
    }
    #expect(error?.code == .unknownProperty)
    #expect(error?.message.contains("'naem'") == true && error?.message.contains("note") == true)
    #expect(try stack.names().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a link to a record that the same merge would delete is refused every time, and nothing is merged`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge([artist(1), artist(2), artist(3)], into: "Artist")
    let page = [artist(1, ["mentor": .one(2)]), artist(3)]
    for _ in 0..<2 {
      let error = #expect(throws: CoherenceError.self) { try stack.merge(page, into: "Artist") }
      #expect(error?.code == .objectNotFound && error?.objectIDs.count == 1)
      #expect(try stack.names().count == 3)
    }
    // The deletion would also clear a stored link.
    try stack.merge([artist(1, ["mentor": .one(2)])], into: "Artist", options: MergeOptions())
    #expect { try stack.merge(page, into: "Artist") } throws: { ErrorCode.objectNotFound ~= $0 }
    #expect(try stack.names().count == 3)
    // The link of an ignored relationship is not merged.
    #expect(try stack.merge(page, into: "Artist", ignoring: ["mentor"]).deleted == 1)
  }

  @Test(arguments: [false, true])
  func `contradictory sides of one relationship are refused, in any order`(reversed: Bool) throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge([artist(1), artist(2), artist(3)], into: "Artist")
    let versions = try stack.versions(of: "Artist")
    let contradictions = [
      [artist(1, ["mentor": .one(2)]), artist(2, ["pupils": .many([3])]), artist(3, ["mentor": .one(2)])],
      [artist(1, ["mentor": .none]), artist(2, ["pupils": .many([1])]), artist(3)],
      [artist(1, ["mentor": .one(3)]), artist(2, ["pupils": .many([1])]), artist(3)],
    ]
    for page in contradictions {
      #expect { try stack.merge(reversed ? page.reversed() : page, into: "Artist") } throws: {
        ErrorCode.contradictoryLinks ~= $0
      }
    }
    #expect(try stack.versions(of: "Artist") == versions)
  }

  @Test(arguments: [false, true])
  func `two owners of one member are refused, in any order`(reversed: Bool) throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge([MergeRecord(["label": "L", "number": 1])], into: "Album")
    let key = MergeKey("L", 1)
    let page = [artist(1, ["albums": .many([key])]), artist(2, ["albums": .many([key])])]
    #expect { try stack.merge(reversed ? page.reversed() : page, into: "Artist") } throws: {
      ErrorCode.contradictoryLinks ~= $0
    }
    #expect(try stack.names().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `consistent sides of one relationship are merged once`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let page = [
      artist(1, ["mentor": .one(2), "pupils": .many([])]), artist(2, ["mentor": .none, "pupils": .many([1, 3])]),
      artist(3, ["mentor": .one(2)]),
    ]
    #expect(try stack.merge(page, into: "Artist").inserted == 3)
    #expect(try stack.merge(page, into: "Artist").counts == MergeResult.with(unchanged: 3))
    #expect(try stack.merge(page.reversed(), into: "Artist").counts == MergeResult.with(unchanged: 3))
  }
}
