import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Ignored properties, which keep their values in existing records.
@Suite("Ignored properties of merges")
struct IgnoredPropertyTests {
  private func artist(_ id: Int, _ links: [String: MergeLink]) -> MergeRecord { MergeRecord(["id": id], links: links) }

  @Test(arguments: Backend.available)
  func `a merge keeps each of several ignored attributes, and does not compare them`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let ignored = ["note", "height", "revision"]
    func record(_ name: String, _ number: Int) -> MergeRecord {
      MergeRecord(["id": 1, "name": name, "note": "\(number)", "height": Double(number), "revision": number])
    }
    try stack.merge([record("old", 1)], into: "Artist")
    #expect(try stack.merge([record("old", 2)], into: "Artist", ignoring: ignored).unchanged == 1)
    #expect(try stack.merge([record("new", 2)], into: "Artist", ignoring: ignored).updated == 1)
    #expect(try stack.names() == [1: "new"])
    #expect(try stack.values(of: "Artist", "note", by: "id", as: (Int32, String).self) == [1: "1"])
    #expect(try stack.values(of: "Artist", "height", by: "id", as: (Int32, Double).self) == [1: 1])
    #expect(try stack.values(of: "Artist", "revision", by: "id", as: (Int32, Int64).self) == [1: 1])
  }

  @Test(arguments: Backend.available)
  func `a merge that ignores a composite keeps all of its parts`(backend: Backend) throws {
    let stack = try MergeStack(backend, try FormItem.model())
    func item(_ name: String, _ size: Double) -> MergeRecord {
      MergeRecord(["id": 1, "name": name, "size.width": size, "size.height": size])
    }
    try stack.merge([item("old", 1)], into: "Item")
    #expect(try stack.merge([item("old", 2)], into: "Item", ignoring: ["size"]).unchanged == 1)
    #expect(try stack.merge([item("new", 2)], into: "Item", ignoring: ["size"]).updated == 1)
    for part in ["size.width", "size.height"] {
      #expect(try stack.values(of: "Item", part, by: "id", as: (Int32, Double).self) == [1: 1], "\(part)")
    }
  }

  @Test func `links of an ignored relationship contradict no others`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge([MergeRecord(["label": "L", "number": 1])], into: "Album")
    try stack.merge([artist(1, [:]), artist(2, [:])], into: "Artist")
    let key = MergeKey("L", 1)
    let owners = [artist(1, ["albums": .many([key])]), artist(2, ["albums": .many([key])])]
    #expect(try stack.merge(owners, into: "Artist", ignoring: ["albums"]).unchanged == 2)
    let sides = [artist(1, ["mentor": .one(2)]), artist(2, ["pupils": .many([])])]
    #expect { try stack.merge(sides, into: "Artist") } throws: { ErrorCode.contradictoryLinks ~= $0 }
    for ignored in ["mentor", "pupils"] {
      let result = try stack.merge(sides, into: "Artist", ignoring: [ignored])
      #expect(result.updated == (ignored == "pupils" ? 1 : 0), "\(ignored)")
    }
  }

  @Test(arguments: Backend.available)
  func `an existing record needs no destination of an ignored link, and a new record needs it`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge([artist(1, [:])], into: "Artist")
    let links: [[String: MergeLink]] = [["mentor": .one(9)], ["pupils": .many([9])]]
    for link in links {
      let ignored = Array(link.keys)
      #expect(try stack.merge([artist(1, link)], into: "Artist", ignoring: ignored).unchanged == 1)
      let error = #expect(throws: CoherenceError.self) {
        try stack.merge([artist(1, link), artist(2, link)], into: "Artist", ignoring: ignored)
      }
      #expect(error?.code == .objectNotFound)
    }
  }

  @Test func `missing targets of ignored, protected and excluded links are not counted`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge([artist(1, [:]), artist(2, [:])], into: "Artist")
    let page = [
      artist(1, ["mentor": .one(8)]), artist(1, ["mentor": .none]), MergeRecord(["id": 2, "name": "new", "mentor": 9]),
    ]
    func merge(ignoring ignored: [String] = [], if condition: FetchPredicate = .constant(true)) throws -> MergeResult {
      try stack.merge(
        page, into: "Artist", ignoring: ignored, if: condition,
        options: MergeOptions(duplicates: .lastWins, missingTargets: .leaveOut))
    }
    #expect(try merge(if: FetchPredicate(format: "id == 1")).missingLinks == 0)
    #expect(try merge(ignoring: ["mentor"]).missingLinks == 0)
    #expect(try merge().missingLinks == 1)
  }
}
