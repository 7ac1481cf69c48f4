import CoherenceActions
import CoherenceCore
import Testing
import TestSupport

@Suite("Deletions of merges")
struct MergeDeletionTests {
  private struct Artist: Decodable {
    var id: Int32
    var name: String
  }

  private func artists(_ ids: some Sequence<Int>, _ name: String) -> [MergeRecord] {
    ids.map { MergeRecord(["id": $0, "name": "\(name) \($0)"]) }
  }

  private static let isMine = FetchPredicate.comparison(
    .path(PropertyPath("name")), .beginsWith, .value(.string("mine")))

  @Test(arguments: Backend.available)
  func `a merge of records without options deletes nothing, in every form of input`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let entity = try stack.entity("Artist")
    let context = stack.connect.newActionContext()
    try context.merge(records: artists(1...3, "old"), for: entity)
    #expect(try context.merge(records: [MergeRecord](), for: entity).counts == MergeResult.with())
    #expect(try context.merge(records: artists([1], "new"), for: entity).counts == MergeResult.with(updated: 1))
    let dictionaries: [[String: any AttributeConvertible]] = [["id": 2, "name": "new 2"]]
    #expect(try context.merge(records: dictionaries, for: entity).counts == MergeResult.with(updated: 1))
    let decoded = [Artist(id: 3, name: "new 3")]
    #expect(try context.merge(records: decoded, for: entity).counts == MergeResult.with(updated: 1))
    #expect(try stack.names() == [1: "new 1", 2: "new 2", 3: "new 3"])
  }

  @Test(arguments: Backend.available)
  func `an empty input deletes nothing, unless the maximum share allows it`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    let keyless = [MergeRecord(["name": "nobody"])]
    let inputs: [([MergeRecord], MergeOptions.MissingKeyPolicy)] = [([], .fail), (keyless, .skip)]
    for (records, missingKeys) in inputs {
      let options = MergeOptions(mode: .replace, missingKeys: missingKeys)
      let error = #expect(throws: CoherenceError.self) { try stack.merge(records, into: "Artist", options: options) }
      #expect(error?.code == .excessiveDeletion)
      let numbers = error?.underlying as? ExcessiveDeletion
      #expect(numbers?.deletedCount == 3 && numbers?.storedCount == 3 && numbers?.maximumShare == nil)
    }
    #expect(try stack.names().count == 3)
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 1)
    #expect(try stack.merge([], into: "Artist", options: options).counts == MergeResult.with(deleted: 3))
    #expect(try stack.merge([], into: "Artist", options: MergeOptions(mode: .replace)).counts == MergeResult.with())
  }

  @Test(arguments: Backend.available)
  func `a merge above its maximum deleted share throws the numbers and changes nothing`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...10, "old"), into: "Artist")
    let page = artists(1...3, "old") + artists([4, 11], "new")
    let error = #expect(throws: CoherenceError.self) {
      try stack.merge(page, into: "Artist", options: MergeOptions(mode: .replace, maximumDeletedShare: 0.5))
    }
    #expect(error?.code == .excessiveDeletion)
    #expect(error?.message.contains("6 of 10 records of 'Artist'") == true, "\(error?.message ?? "")")
    let numbers = error?.underlying as? ExcessiveDeletion
    #expect(numbers?.entityName == "Artist" && numbers?.deletedCount == 6 && numbers?.storedCount == 10)
    #expect(numbers?.maximumShare == 0.5 && numbers?.share == 0.6)
    let names = try stack.names()
    #expect(names.count == 10 && names[4] == "old 4")

    let options = MergeOptions(mode: .replace, maximumDeletedShare: 0.6)
    let result = try stack.merge(page, into: "Artist", options: options)
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1, unchanged: 3, deleted: 6))
  }

  @Test(arguments: Backend.available)
  func `the deleted share refers to the records in the filter, and protected records count as kept`(
    backend: Backend
  ) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...4, "mine") + artists(5...10, "others"), into: "Artist")
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 0.5)
    let error = #expect(throws: CoherenceError.self) {
      try stack.merge(artists([1], "mine"), into: "Artist", within: Self.isMine, options: options)
    }
    let numbers = error?.underlying as? ExcessiveDeletion
    #expect(numbers?.deletedCount == 3 && numbers?.storedCount == 4)
    let result = try stack.merge(
      artists([1], "mine"), into: "Artist", within: Self.isMine, if: try FetchPredicate(format: "id == 2"),
      options: options)
    #expect(result.counts == MergeResult.with(unchanged: 1, deleted: 1, skipped: 2))
  }

  @Test func `an invalid share, and a filter without deletion, are refused`() throws {
    let stack = try MergeStack(.inMemory)
    for share in [-0.1, 1.5, .nan] {
      #expect {
        try stack.merge([], into: "Artist", options: MergeOptions(mode: .replace, maximumDeletedShare: share))
      } throws: {
        ErrorCode.invalidMergeOption ~= $0
      }
    }
    #expect {
      try stack.merge(artists([1], "mine"), into: "Artist", within: Self.isMine, options: MergeOptions())
    } throws: {
      ErrorCode.invalidMergeOption ~= $0
    }
  }
}
