import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Pages that depend on later pages of the same merge.
@Suite("Merging pages in any order")
struct PageOrderTests {
  /// Players with unique names, and with captains among the players.
  private static func players() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Player", uniqueness: [["name"]], userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int32)
        Attribute("name", .string, optional: true)
        Relationship("captain", toOne: "Player", inverse: "team")
        Relationship("team", toMany: "Player", inverse: "captain")
      }
    }
  }

  private func stack(_ backend: Backend, _ names: [Int: String]) throws -> MergeStack {
    let stack = try MergeStack(backend, try Self.players())
    try stack.merge(MergeStack.artists(names), into: "Player")
    return stack
  }

  @discardableResult
  private func merge(
    _ pages: [[MergeRecord]], into stack: MergeStack, _ options: MergeOptions = MergeOptions()
  ) async throws -> MergeResult {
    let stream = AsyncStream<[MergeRecord]> { continuation in
      for page in pages { continuation.yield(page) }
      continuation.finish()
    }
    return try await stack.connect.newActionContext().mergePages(stream, for: stack.entity("Player"), options: options)
  }

  private func page(_ names: [Int: String]) -> [MergeRecord] { MergeStack.artists(names) }

  private func names(_ stack: MergeStack) throws -> [Int32: String] { try stack.values(of: "Player", "name", by: "id") }

  private func captains(_ stack: MergeStack) throws -> [Int32: Int32] {
    try stack.read { context in
      Dictionary(
        uniqueKeysWithValues: try stack.objects("Player", context).compactMap { player in
          guard let captain = try player.object(for: "captain") else { return nil }
          return (try player.value(for: "id", as: Int32.self), try captain.value(for: "id", as: Int32.self))
        })
    }
  }

  @Test(arguments: Backend.available)
  func `a unique value moves to a record of an earlier page`(backend: Backend) async throws {
    let stack = try stack(backend, [1: "x", 3: "z"])
    try stack.merge([MergeRecord(["id": 3, "captain": 1])], into: "Player", options: MergeOptions())
    let result = try await merge([page([2: "x"]), page([4: "v"]), page([1: "y"])], into: stack)
    #expect(result.counts == MergeResult.with(inserted: 2, updated: 1))
    #expect(try names(stack) == [1: "y", 2: "x", 3: "z", 4: "v"])
    #expect(try captains(stack) == [3: 1])
  }

  @Test(arguments: Backend.available)
  func `records of two pages exchange their unique values`(backend: Backend) async throws {
    let stack = try stack(backend, [1: "x", 2: "y"])
    try await merge([page([1: "y"]), page([2: "x"])], into: stack)
    #expect(try names(stack) == [1: "y", 2: "x"])
  }

  @Test(arguments: Backend.available)
  func `a record of a page takes the unique value of a record that no page contains`(backend: Backend) async throws {
    let stack = try stack(backend, [1: "x", 3: "z"])
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 0.5)
    let result = try await merge([page([2: "x"]), page([3: "z"])], into: stack, options)
    #expect(result.counts == MergeResult.with(inserted: 1, unchanged: 1, deleted: 1))
    #expect(try names(stack) == [2: "x", 3: "z"])
  }

  @Test(arguments: Backend.available)
  func `a page that waits for the deletion and links to a record of no page fails the merge before the deletion`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend, [1: "x", 3: "z"])
    let pages = [[MergeRecord(["id": 2, "name": "x"], links: ["captain": .one(3)])]]
    await #expect {
      try await merge(pages, into: stack, MergeOptions(mode: .replace, maximumDeletedShare: 1))
    } throws: {
      ErrorCode.objectNotFound ~= $0
    }
    #expect(try names(stack) == [1: "x", 3: "z"])
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 1, missingTargets: .leaveOut)
    let result = try await merge(pages, into: stack, options)
    #expect(result.inserted == 1 && result.deleted == 2 && result.missingLinks == 1)
    #expect(try names(stack) == [2: "x"])
  }

  @Test(arguments: Backend.available)
  func `a unique value that no later page gives up is refused, and pages before it stay merged`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend, [1: "x"])
    await #expect {
      try await merge([page([4: "v"]), page([2: "x"]), page([3: "z"])], into: stack)
    } throws: {
      ErrorCode.uniquenessViolated ~= $0
    }
    #expect(try names(stack) == [1: "x", 4: "v"])
  }

  @Test(arguments: Backend.available)
  func `a record links to a record of a later page`(backend: Backend) async throws {
    for options in [MergeOptions(), MergeOptions(missingTargets: .leaveOut)] {
      let stack = try stack(backend, [1: "x"])
      let first = [MergeRecord(["id": 1, "captain": 2])]
      let result = try await merge([first, page([4: "v"]), page([2: "y"])], into: stack, options)
      #expect(result.missingLinks == 0)
      #expect(try captains(stack) == [1: 2])
    }
  }

  @Test(arguments: Backend.available)
  func `a link to a record of no page fails the merge, or is left out after the last page`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend, [1: "x"])
    let pages = [[MergeRecord(["id": 1, "captain": 9])], page([2: "y"])]
    await #expect { try await merge(pages, into: stack) } throws: { ErrorCode.objectNotFound ~= $0 }
    #expect(try names(stack) == [1: "x"])
    let result = try await merge(pages, into: stack, MergeOptions(missingTargets: .leaveOut))
    #expect(result.inserted == 1 && result.missingLinks == 1)
    #expect(try names(stack) == [1: "x", 2: "y"])
  }

  @Test(arguments: Backend.available)
  func `a merge of two pages gives a record the values of the later page`(backend: Backend) async throws {
    let stack = try stack(backend, [1: "x", 2: "y"])
    let first = [MergeRecord(["id": 3, "name": "x"], links: ["captain": .one(1)])]
    let second = [MergeRecord(["id": 3, "captain": 2]), MergeRecord(["id": 1, "name": "z"])]
    try await merge([first, second], into: stack)
    #expect(try names(stack) == [1: "z", 2: "y", 3: "x"])
    #expect(try captains(stack) == [3: 2])
  }

  @Test(arguments: Backend.available)
  func `a page waits for no later page without saving, and beside other changes`(backend: Backend) async throws {
    let pages = [[MergeRecord(["id": 1, "captain": 2])], page([2: "y"])]
    let unsaving = try stack(backend, [1: "x"])
    await #expect { try await merge(pages, into: unsaving, MergeOptions(saves: false)) } throws: {
      ErrorCode.objectNotFound ~= $0
    }
    let changed = try stack(backend, [1: "x"])
    let context = changed.connect.newActionContext()
    try await context.perform {
      try context.insertNewObject(forEntityName: "Player").setValue(Int32(9), for: "id")
    }
    let stream = AsyncStream<[MergeRecord]> { continuation in
      for page in pages { continuation.yield(page) }
      continuation.finish()
    }
    await #expect { try await context.mergePages(stream, for: changed.entity("Player")) } throws: {
      ErrorCode.objectNotFound ~= $0
    }
    #expect(try names(changed) == [1: "x"])
  }

  @Test(arguments: [64, 65])
  func `64 pages are merged together, and no more`(count: Int) async throws {
    let stack = try stack(.inMemory, [1: "x"])
    let pages = [[MergeRecord(["id": 1, "captain": count])]] + (2...count).map { page([$0: "\($0)"]) }
    if count == 64 {
      #expect(try await merge(pages, into: stack).counts == MergeResult.with(inserted: 63, updated: 1))
      #expect(try captains(stack) == [1: 64])
    } else {
      await #expect { try await merge(pages, into: stack) } throws: { ErrorCode.objectNotFound ~= $0 }
      #expect(try names(stack) == [1: "x"])
    }
  }

  @Test(arguments: Backend.available)
  func `a stored record of a page that waits for the deletion is updated, and not deleted before`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend, [1: "x", 2: "y", 3: "z"])
    let before = try stack.versions(of: "Player").keys
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 0.5)
    let result = try await merge([page([3: "z"]), page([2: "x"])], into: stack, options)
    #expect(result.counts == MergeResult.with(updated: 1, unchanged: 1, deleted: 1))
    #expect(try names(stack) == [2: "x", 3: "z"])
    #expect(try stack.versions(of: "Player").keys.allSatisfy(before.contains))
  }

  @Test(arguments: Backend.available)
  func `a merge of several pages refuses a record that a later page has twice`(
    backend: Backend
  ) async throws {
    let stack = try stack(backend, [1: "x"])
    let waiting = [MergeRecord(["id": 3, "captain": 9])]
    await #expect { try await merge([waiting, page([3: "a"]) + page([3: "b"])], into: stack) } throws: {
      ErrorCode.invalidMergeKey ~= $0
    }
    let options = MergeOptions(duplicates: .lastWins)
    let pages = [waiting, page([3: "a"]) + page([3: "b"]), page([9: "c"])]
    #expect(try await merge(pages, into: stack, options).counts == MergeResult.with(inserted: 2, skipped: 1))
    #expect(try names(stack) == [1: "x", 3: "b", 9: "c"])
  }

  @Test(arguments: Backend.available)
  func `a record that a page has twice replaces the record of an earlier page that waits, and keeps its other values`(
    backend: Backend
  ) async throws {
    let options = MergeOptions(duplicates: .lastWins)
    let waiting = MergeRecord(["id": 3, "captain": 9])
    let later = [waiting]
    for isTwiceFirst in [true, false] {
      let stack = try stack(backend, [1: "x"])
      let twice = isTwiceFirst ? page([3: "a"]) + later : page([3: "a"]) + page([3: "b"])
      let pages = isTwiceFirst ? [twice, page([3: "c"])] : [later, twice]
      let result = try await merge(pages + [page([9: "d"])], into: stack, options)
      #expect(result.counts == MergeResult.with(inserted: 2, skipped: 1))
      #expect(try names(stack) == [1: "x", 3: isTwiceFirst ? "c" : "b", 9: "d"])
      #expect(try captains(stack) == [3: 9])
    }
  }
}
