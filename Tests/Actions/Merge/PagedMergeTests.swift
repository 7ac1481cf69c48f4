import CoherenceActions
import CoherenceCore
import Synchronization
import Testing
import TestSupport

@Suite("Merging pages")
struct PagedMergeTests {
  private typealias Pages = AsyncThrowingStream<[MergeRecord], any Error>
  private static let replacing = MergeOptions(mode: .replace)

  private struct Artist: Decodable, Sendable {
    var id: Int32
    var name: String
  }

  private func artists(_ ids: some Sequence<Int>, _ name: String) -> [MergeRecord] {
    ids.map { MergeRecord(["id": $0, "name": "\(name) \($0)"]) }
  }

  private func pages(_ pages: [[MergeRecord]], then failure: (any Error)? = nil) -> Pages {
    Pages { continuation in
      for page in pages { continuation.yield(page) }
      continuation.finish(throwing: failure)
    }
  }

  @discardableResult
  private func merge(
    _ pages: Pages, into stack: MergeStack, within filter: FetchPredicate? = nil,
    if condition: FetchPredicate = .constant(true), options: MergeOptions = PagedMergeTests.replacing
  ) async throws -> MergeResult {
    try await stack.connect.newActionContext().mergePages(
      pages, for: stack.entity("Artist"), subsetFilter: filter, condition: condition, options: options)
  }

  @Test(arguments: Backend.available)
  func `a merge of ten pages stores the records of all pages`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    let content = (0..<10).map { page in artists((page * 100)..<(page * 100 + 100), "new") }
    #expect(try await merge(pages(content), into: stack).counts == MergeResult.with(inserted: 1000))
    #expect(try stack.names().count == 1000)
    let versions = try stack.versions(of: "Artist")
    #expect(try await merge(pages(content), into: stack).counts == MergeResult.with(unchanged: 1000))
    #expect(try stack.versions(of: "Artist") == versions)
  }

  @Test(arguments: Backend.available)
  func `records that no page contains are deleted after the last page and not before`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...10, "old"), into: "Artist")
    let content = [artists(1...2, "new"), artists([3, 11], "new")]
    let counts = Noted<Int>()
    let pages = Pages(unfolding: {
      let page = counts.note(try stack.names().count)
      return page < content.count ? content[page] : nil
    })
    let result = try await merge(pages, into: stack)
    #expect(counts.values == [10, 10, 11])
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 3, deleted: 7))
    #expect(try stack.names() == [1: "new 1", 2: "new 2", 3: "new 3", 11: "new 11"])
  }

  @Test(arguments: Backend.available, [MergeOptions.MissingTargetPolicy.fail, .leaveOut])
  func `a link of a record that the condition protects neither refuses a deletion nor counts as missing`(
    backend: Backend, missingTargets: MergeOptions.MissingTargetPolicy
  ) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    let content = [MergeRecord(["id": 1, "name": "new 1", "mentor": 3])] + artists([2], "new")
    let result = try await merge(
      pages([content]), into: stack, if: try FetchPredicate(format: "id != 1"),
      options: MergeOptions(mode: .replace, missingTargets: missingTargets))
    #expect(result.counts == MergeResult.with(updated: 1, deleted: 1, skipped: 1))
    #expect(result.missingLinks == 0)
    #expect(try stack.names() == [1: "old 1", 2: "new 2"])
  }

  @Test(arguments: Backend.available)
  func `pages delete nothing without the mode replace`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...4, "old"), into: "Artist")
    let content = [artists([1], "new"), artists([5], "new")]
    let result = try await merge(pages(content), into: stack, options: MergeOptions())
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1))
    #expect(try stack.names().count == 5)
  }

  @Test(arguments: Backend.available)
  func `after a failed page nothing is deleted, and earlier pages stay merged`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...6, "old"), into: "Artist")
    await #expect(throws: MockError.self) {
      try await merge(pages([artists([1], "new")], then: MockError()), into: stack)
    }
    let unreadable = [artists([2], "new"), [MergeRecord(["id": "three"])], artists([4], "new")]
    await #expect { try await merge(pages(unreadable), into: stack) } throws: { ErrorCode.wrongType ~= $0 }
    let names = try stack.names()
    #expect(names.count == 6)
    #expect([names[1], names[2], names[4]] == ["new 1", "new 2", "old 4"])
  }

  @Test(arguments: Backend.available)
  func `a sequence of pages that ends early in a cancelled task deletes nothing, and the error says what is saved`(
    backend: Backend
  ) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...6, "old"), into: "Artist")
    let page = artists([1], "new")
    let requests = Noted<Void>()
    let cancel = Once { withUnsafeCurrentTask { $0?.cancel() } }
    let pages = Pages(unfolding: {
      if requests.note(()) == 0 { return page }
      cancel()
      return nil
    })
    let merging = Task { try await merge(pages, into: stack) }
    await #expect { try await merging.value } throws: { error in
      ErrorCode.cancelled ~= error && "\(error)".contains("pages that a merge of pages had saved before stay saved")
    }
    let names = try stack.names()
    #expect(names.count == 6 && names[1] == "new 1")
  }

  @Test(arguments: Backend.available)
  func `a merge of pages deletes a record to which only a replaced record of a page links`(
    backend: Backend
  ) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    let page = [MergeRecord(["id": 1, "mentor": 2]), MergeRecord(["id": 1, "mentor": 3])] + artists([3], "old")
    let options = MergeOptions(mode: .replace, duplicates: .lastWins)
    let result = try await merge(pages([page]), into: stack, options: options)
    #expect(result.counts == MergeResult.with(updated: 1, unchanged: 1, deleted: 1, skipped: 1))
    #expect(try stack.names() == [1: "old 1", 3: "old 3"])
  }

  @Test(arguments: Backend.available)
  func `empty pages delete nothing, unless the maximum share allows it`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    for content in [[], [[]], [[], []]] as [[[MergeRecord]]] {
      await #expect { try await merge(pages(content), into: stack) } throws: { ErrorCode.excessiveDeletion ~= $0 }
    }
    #expect(try stack.names().count == 3)
    #expect(try await merge(pages([]), into: stack, options: .replaceAll).counts == MergeResult.with(deleted: 3))
  }

  @Test(arguments: Backend.available)
  func `inserted records do not count in the deleted share of a paged merge`(
    backend: Backend
  ) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...10, "old"), into: "Artist")
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 0.5)
    let error = await #expect(throws: CoherenceError.self) {
      try await merge(pages([artists(11...20, "new"), artists([1], "old")]), into: stack, options: options)
    }
    #expect(error?.code == .excessiveDeletion)
    let numbers = error?.underlying as? ExcessiveDeletion
    #expect(numbers?.deletedCount == 9 && numbers?.storedCount == 10)
    #expect(try stack.names().count == 20)
  }

  @Test(arguments: Backend.available)
  func `the filter and the condition limit the deletion after the last page`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...4, "mine") + artists(5...8, "others"), into: "Artist")
    let isMine = FetchPredicate.comparison(.path(PropertyPath("name")), .beginsWith, .value(.string("mine")))
    let result = try await merge(
      pages([artists([1], "mine"), artists([5], "others")]), into: stack, within: isMine,
      if: try FetchPredicate(format: "id != 4"))
    #expect(result.counts == MergeResult.with(unchanged: 2, deleted: 2, skipped: 1))
    #expect(try stack.names().keys.sorted() == [1, 4, 5, 6, 7, 8])
  }

  @Test(arguments: Backend.available)
  func `a record on two pages gets the values of the later page`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    let result = try await merge(pages([artists(1...2, "first"), artists(2...3, "second")]), into: stack)
    #expect(result.counts == MergeResult.with(inserted: 3, updated: 1))
    #expect(try stack.names() == [1: "first 1", 2: "second 2", 3: "second 3"])
  }

  @Test(arguments: Backend.available)
  func `pages without saving become one transaction of the caller`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    let context = stack.connect.newActionContext()
    let result = try await context.mergePages(
      pages([artists([1], "new"), artists([4], "new")]), for: stack.entity("Artist"),
      options: MergeOptions(mode: .replace, saves: false))
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1, deleted: 2))
    #expect(try stack.names() == [1: "old 1", 2: "old 2", 3: "old 3"])
    try await context.perform { try context.save() }
    #expect(try stack.names() == [1: "new 1", 4: "new 4"])
  }

  @Test func `invalid arguments are refused before the first page is requested`() async throws {
    let stack = try MergeStack(.inMemory)
    let entity = try stack.entity("Artist")
    let requests = Noted<Void>()
    let pages = Pages(unfolding: {
      _ = requests.note(())
      return nil
    })
    let context = stack.connect.newActionContext()
    await #expect { try await context.mergePages(pages, for: entity, ignoreAttributes: ["naem"]) } throws: {
      ErrorCode.unknownProperty ~= $0
    }
    await #expect { try await context.mergePages(pages, for: entity, subsetFilter: .constant(true)) } throws: {
      ErrorCode.invalidMergeOption ~= $0
    }
    #expect(requests.values.isEmpty)
  }

  @Test func `pages of decoded values are merged by the names of their properties`() async throws {
    let stack = try MergeStack(.inMemory)
    try stack.merge(artists(1...2, "old"), into: "Artist")
    let pages = AsyncStream<[Artist]> { continuation in
      continuation.yield([Artist(id: 1, name: "Ada")])
      continuation.yield([Artist(id: 3, name: "Grace")])
      continuation.finish()
    }
    let result = try await stack.connect.newActionContext().mergePages(
      pages, for: stack.entity("Artist"), options: Self.replacing)
    #expect(result.counts == MergeResult.with(inserted: 1, updated: 1, deleted: 1))
    #expect(try stack.names() == [1: "Ada", 3: "Grace"])
  }

  @Test(arguments: Backend.available)
  func `a paged merge deletes a record to which only an earlier page's state of a record links`(
    backend: Backend
  ) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    // The service has deleted artist 2 between the requests, and artist 1 has moved to the second page.
    let content = [
      [MergeRecord(["id": 1, "mentor": 2])], [MergeRecord(["id": 1, "mentor": Int?.none]), MergeRecord(["id": 3])],
    ]
    #expect(try await merge(pages(content), into: stack).deleted == 1)
    #expect(try stack.names().keys.sorted() == [1, 3])
  }

  @Test(arguments: Backend.available)
  func `a paged merge fails rather than delete a record that a page links to`(
    backend: Backend
  ) async throws {
    let stack = try MergeStack(backend)
    try stack.merge(artists(1...3, "old"), into: "Artist")
    for _ in 0..<2 {
      await #expect {
        try await merge(pages([[MergeRecord(["id": 1, "mentor": 2])], artists([4], "new")]), into: stack)
      } throws: {
        ErrorCode.objectNotFound ~= $0
      }
      #expect(try stack.names().count == 4)
    }
  }
}

/// The values that closures record, in order.
private final class Noted<Value: Sendable>: Sendable {
  private let list = Mutex<[Value]>([])
  var values: [Value] { list.withLock { $0 } }

  /// - Returns: The value's index.
  func note(_ value: Value) -> Int {
    list.withLock { list in
      list.append(value)
      return list.count - 1
    }
  }
}
