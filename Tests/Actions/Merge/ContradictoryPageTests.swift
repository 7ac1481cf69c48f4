import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

/// Pages of one merge that say different things of one relationship, because the service has changed it between the
/// requests.
@Suite("Pages with contradictory links")
struct ContradictoryPageTests {
  /// The first pages of merges, the second pages, and the mentor of the artist 3 after the merge.
  private static let cases: [(first: [MergeRecord], second: [MergeRecord], mentor: Int32?)] = [
    // Two records have one pupil.
    ([pupils([3, 4], of: 1), MergeRecord(["id": 3])], [pupils([3], of: 2)], 2),
    // The pupil has another mentor.
    ([pupils([3, 4], of: 1), MergeRecord(["id": 3])], [mentor(2, of: 3), MergeRecord(["id": 2])], 2),
    ([mentor(1, of: 3), MergeRecord(["id": 1])], [pupils([3, 4], of: 2)], 2),
    // The mentor has lost the pupil.
    ([mentor(1, of: 3), MergeRecord(["id": 1])], [pupils([4], of: 1)], nil),
    // The later page repeats the earlier one.
    ([mentor(1, of: 3), MergeRecord(["id": 1])], [pupils([3, 4], of: 1)], 1),
  ]

  private static func pupils(_ keys: [MergeKey], of id: Int) -> MergeRecord {
    MergeRecord(["id": id], links: ["pupils": .many(keys)])
  }

  private static func mentor(_ key: MergeKey, of id: Int) -> MergeRecord {
    MergeRecord(["id": id], links: ["mentor": .one(key)])
  }

  private func merge(_ pages: [[MergeRecord]], into stack: MergeStack) async throws {
    let stream = AsyncStream<[MergeRecord]> { continuation in
      for page in pages { continuation.yield(page) }
      continuation.finish()
    }
    try await stack.connect.newActionContext().mergePages(stream, for: stack.entity("Artist"))
  }

  @Test(arguments: Backend.available, [false, true])
  func `a link gives way to a contradictory link of a later page, whether the page waits or not`(
    backend: Backend, waits: Bool
  ) async throws {
    for (first, second, expected) in Self.cases {
      let stack = try MergeStack(backend)
      try stack.merge([MergeRecord(["id": 4])] + (waits ? [] : [MergeRecord(["id": 9])]), into: "Artist")
      // The first page waits for the artist 9 of the second page.
      try await merge([first + [Self.mentor(9, of: 8)], second + [MergeRecord(["id": 9])]], into: stack)
      let mentor = try stack.read { context in
        let artists = try stack.objects("Artist", context)
        let pupil = try artists.first { try $0.value(for: "id", as: Int32.self) == 3 }
        return try pupil?.object(for: "mentor")?.value(for: "id", as: Int32.self)
      }
      #expect(mentor == expected)
    }
  }

  @Test(arguments: Backend.available)
  func `contradictory links of one page are refused beside a later page`(backend: Backend) async throws {
    let stack = try MergeStack(backend)
    let first = [Self.pupils([3], of: 1), Self.pupils([3], of: 2), Self.mentor(9, of: 8), MergeRecord(["id": 3])]
    await #expect { try await merge([first, [MergeRecord(["id": 9])]], into: stack) } throws: {
      ErrorCode.contradictoryLinks ~= $0
    }
    #expect(try stack.read { try stack.objects("Artist", $0).isEmpty })
  }
}
