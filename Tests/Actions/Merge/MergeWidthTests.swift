import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Merges of records with few and with many attributes, and with few and with many differences.
@Suite("Merges by the number of attributes")
struct MergeWidthTests {
  /// Items with a number of attributes, the key among them.
  private static func items(_ count: Int) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Item", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int32, optional: true)
        for number in 1..<count { Attribute("value\(number)", .int64, default: 0) }
      }
    }
  }

  /// An item of the server, with the values of its numbered attributes.
  private static func item(_ id: Int, _ values: [Int]) -> MergeRecord {
    var record = MergeRecord(["id": id])
    for (index, value) in values.enumerated() { record.values["value\(index + 1)"] = value }
    return record
  }

  /// The values of an item in the store.
  private static func values(_ id: Int32, _ count: Int, in stack: MergeStack) throws -> [Int64] {
    try (1...count).map { number in
      let values: [Int32: Int64] = try stack.values(of: "Item", "value\(number)", by: "id")
      return values[id] ?? .min
    }
  }

  @Test(arguments: Backend.available, [16, 17])
  func `each attribute is merged by its name, among 16 attributes and among more`(backend: Backend, count: Int) throws {
    let stack = try MergeStack(backend, Self.items(count))
    let first = Array(1..<count)
    var second = first.map { 10 * $0 }
    let inserted = try stack.merge([Self.item(1, first), Self.item(2, second)], into: "Item")
    #expect(inserted.counts == MergeResult.with(inserted: 2))
    second[second.count - 1] = -1
    let updated = try stack.merge([Self.item(1, first), Self.item(2, second)], into: "Item")
    #expect(updated.counts == MergeResult.with(updated: 1, unchanged: 1))
    #expect(try Self.values(1, count - 1, in: stack) == first.map { Int64($0) })
    #expect(try Self.values(2, count - 1, in: stack) == second.map { Int64($0) })
    let unknown = Self.item(3, first + [1])
    #expect { try stack.merge([unknown], into: "Item") } throws: { ErrorCode.unknownProperty ~= $0 }
  }

  @Test(arguments: Backend.available, [1, 3, 4, 5])
  func `a pending edit of few or of many attributes is kept, and only a change by the server is a conflict`(
    backend: Backend, edited: Int
  ) throws {
    func options(_ policy: MergeOptions.PendingEditsPolicy) -> MergeOptions {
      MergeOptions(mode: .upsertOnly, maximumDeletedShare: 1, pendingEdits: policy)
    }
    let stack = try MergeStack(backend, Self.items(7))
    // The server has zeros, and the user has set the first attributes to one.
    var local = Array(repeating: 1, count: edited) + Array(repeating: 0, count: 6 - edited)
    try stack.merge([Self.item(1, local)], into: "Item")
    let id = try #require(try stack.read { try stack.objects("Item", $0).first?.objectID })
    let names = (1...edited).map { "value\($0)" }
    let base = Dictionary(uniqueKeysWithValues: names.map { ($0, AttributeValue.int(0)) })
    let source = ScriptedEdits(["Item"])
    source.add(PendingEdit(of: id, .update, changed: Set(names), base: base))
    stack.connect.pendingEdits = source

    var server = Array(repeating: 0, count: 6)
    let unchanged = try stack.merge([Self.item(1, server)], into: "Item", options: options(.server))
    #expect(unchanged.counts == MergeResult.with(skipped: 1) && unchanged.keptEdits == 1)
    #expect(source.decisions.isEmpty)

    server[5] = 3
    local[5] = 3
    let updated = try stack.merge([Self.item(1, server)], into: "Item", options: options(.server))
    #expect(updated.counts == MergeResult.with(updated: 1) && updated.keptEdits == 1)
    #expect(source.decisions.isEmpty)

    server[0] = 2
    let refused = try stack.merge([Self.item(1, server)], into: "Item", options: options(.conflict))
    #expect(refused.counts == MergeResult.with(skipped: 1) && refused.pendingConflicts == 1)
    #expect(source.decisions.map(\.conflicting) == [["value1"]])
    #expect(try Self.values(1, 6, in: stack) == local.map { Int64($0) })
  }
}
