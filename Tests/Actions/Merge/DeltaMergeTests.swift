import CoherenceActions
import CoherenceCore
import Foundation
import Testing
import TestSupport

@Suite("Merging pages of changes")
struct DeltaMergeTests {
  private func merge(
    _ page: DeltaPage, into name: String = "Artist", _ stack: MergeStack, within filter: FetchPredicate? = nil,
    options: MergeOptions = MergeOptions()
  ) throws -> MergeResult {
    try stack.connect.newActionContext().merge(
      page, for: stack.entity(name), subsetFilter: filter, options: options)
  }

  private func artists(_ ids: Int...) -> [MergeRecord] { ids.map { MergeRecord(["id": $0, "name": "\($0)"]) } }

  @Test(arguments: Backend.available)
  func `one page inserts, updates and deletes, and the same page again writes nothing`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1, 2, 3), into: "Artist")
    let page = DeltaPage(
      records: [MergeRecord(["id": 1, "name": "one"]), MergeRecord(["id": 4, "name": "4"])], tombstones: [2, 9])
    let result = try merge(page, stack)
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1, deleted: 1))
    #expect(try stack.names() == [1: "one", 3: "3", 4: "4"])
    let again = try merge(page, stack)
    #expect(again.counts == MergeResult.with(unchanged: 2))
    #expect(try stack.names() == [1: "one", 3: "3", 4: "4"])
  }

  @Test func `a page without tombstones deletes nothing`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1, 2), into: "Artist")
    _ = try merge(DeltaPage(records: artists(3)), stack)
    _ = try merge(DeltaPage(), stack)
    #expect(try stack.names() == [1: "1", 2: "2", 3: "3"])
  }

  @Test func `a page of tombstones alone deletes their records, also all records`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1, 2), into: "Artist")
    #expect(try merge(DeltaPage(tombstones: [1, 2]), stack).deleted == 2)
    #expect(try stack.names() == [:])
  }

  @Test func `a key among the records and the tombstones of a page is kept`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1, 2), into: "Artist")
    _ = try merge(DeltaPage(records: artists(1), tombstones: [1, 2]), stack)
    #expect(try stack.names() == [1: "1"])
  }

  @Test(arguments: Backend.available)
  func `tombstones of a key of two attributes delete the records with both values`(backend: Backend) throws {
    let stack = try MergeStack(backend)
    let albums = [("a", 1), ("a", 2), ("b", 1)].map { MergeRecord(["label": $0, "number": $1]) }
    try stack.merge(albums, into: "Album")
    let page = DeltaPage(tombstones: [MergeKey("a", 1), MergeKey("b", 2)])
    #expect(try merge(page, into: "Album", stack).deleted == 1)
    #expect(try stack.values(of: "Album", "label", by: "number", as: (Int64, String).self) == [2: "a", 1: "b"])
  }

  @Test func `a complete page deletes the other records of its scope`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1, 2, 3), into: "Artist")
    let filter = try FetchPredicate(format: "id > 1")
    _ = try merge(DeltaPage(records: artists(3, 4), isComplete: true), stack, within: filter)
    #expect(try stack.names() == [1: "1", 3: "3", 4: "4"])
    #expect { try merge(DeltaPage(isComplete: true), stack) } throws: { ErrorCode.excessiveDeletion ~= $0 }
  }

  @Test func `a complete page with a next page is refused, and deletes no record`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1, 2, 3), into: "Artist")
    #expect { try merge(DeltaPage(records: artists(1, 4), hasMore: true, isComplete: true), stack) } throws: {
      ErrorCode.invalidMergeOption ~= $0
    }
    #expect(try stack.names() == [1: "1", 2: "2", 3: "3"])
  }

  @Test(arguments: [MergeKey(), MergeKey(1, 2), MergeKey(Int?.none)])
  func `a tombstone without a complete key is refused, and no record is merged`(key: MergeKey) throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1), into: "Artist")
    #expect { try merge(DeltaPage(records: artists(5), tombstones: [1, key]), stack) } throws: {
      ErrorCode.invalidMergeKey ~= $0
    }
    #expect(try stack.names() == [1: "1"])
  }

  @Test func `tombstones respect the condition of the merge`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1, 2), into: "Artist")
    let context = stack.connect.newActionContext()
    _ = try context.merge(
      DeltaPage(tombstones: [1, 2]), for: try stack.entity("Artist"),
      condition: try FetchPredicate(format: "name == '2'"))
    #expect(try stack.names() == [1: "1"])
  }

  @Test func `successive pages are merged as one, in which a later page overrides an earlier one`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1, 2, 3), into: "Artist")
    let pages = [
      DeltaPage(records: [MergeRecord(["id": 1, "name": "one"])] + artists(4), tombstones: [2, 3]),
      DeltaPage(records: [MergeRecord(["id": 2, "name": "two"])], tombstones: [4]),
    ]
    var plans: [[String: Int]] = []
    let result = try stack.connect.newActionContext().merge(
      pages, for: stack.entity("Artist"), options: MergeOptions(), beforeSaving: { plans.append($0.counts) })
    #expect(result.counts == MergeResult.with(updated: 2, deleted: 1))
    #expect(plans == [result.counts])
    #expect(try stack.names() == [1: "one", 2: "two"])
  }

  @Test func `a complete page after other pages is merged alone, and no page changes nothing`() throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1, 2), into: "Artist")
    func merge(_ pages: [DeltaPage]) throws -> [String: Int] {
      try stack.connect.newActionContext().merge(
        pages, for: stack.entity("Artist"), options: MergeOptions(maximumDeletedShare: 1), beforeSaving: { _ in }
      ).counts
    }
    #expect(try merge([]) == MergeResult.with())
    #expect(
      try merge([DeltaPage(records: artists(5)), DeltaPage(records: artists(1), isComplete: true)])
        == MergeResult.with(unchanged: 1, deleted: 1))
    #expect(try stack.names() == [1: "1"])
  }
}
