import CoherenceCore
import Foundation
import TestSupport
import Testing

@testable import CoherenceOutbox

/// The sequences, the keys and the positions of entries.
@Suite("The order of entries", .timeLimit(.minutes(15)))
struct EntryOrderTests {
  private let date = Date(timeIntervalSince1970: 1_000)

  @Test func `sequences are microseconds, and ascend while the clock stands still or is set back`() {
    let sequence = OutboxSequence()
    #expect(sequence.reserve(3, at: date) == 1_000_000_000..<1_000_000_003)
    #expect(sequence.reserve(2, at: date) == 1_000_000_003..<1_000_000_005)
    #expect(sequence.reserve(1, at: date - 500) == 1_000_000_005..<1_000_000_006)
    #expect(sequence.reserve(0, at: date) == 1_000_000_006..<1_000_000_007)
    #expect(sequence.reserve(1, at: date + 1) == 1_001_000_000..<1_001_000_001)
  }

  @Test func `sequences continue above those of a store, and ignore damaged ones`() {
    let sequence = OutboxSequence()
    sequence.raise(to: 2_000_000_000)
    #expect(sequence.reserve(1, at: date).lowerBound == 2_000_000_001)
    sequence.raise(to: 5)
    #expect(sequence.reserve(1, at: date).lowerBound == 2_000_000_002)
    for damaged in [4_000_000_000_000_000_000, .max] as [Int64] { sequence.raise(to: damaged) }
    #expect(sequence.reserve(1, at: date).lowerBound == 2_000_000_003)
    sequence.raise(to: 3_999_999_999_999_999_999)
    #expect(sequence.reserve(1, at: date).lowerBound == 4_000_000_000_000_000_000)
  }

  @Test func `the key of a change differs from the key of its log by the offset of the change`() throws {
    let log = try #require(UUID(uuidString: "01234567-89AB-4CDE-8F01-000000000000"))
    #expect(log.combined(with: 0) == log)
    #expect(log.combined(with: 0x0102_0304).uuidString == "01234567-89AB-4CDE-8F01-000001020304")
    #expect(log.combined(with: 0x0102_0304).combined(with: 0x0102_0304) == log)
  }

  @Test func `positions are ordered by sequence, key and store`() {
    let ordered = [
      OutboxCursor(sequence: 1, key: 9, store: "b"), OutboxCursor(sequence: 2, key: 1, store: "b"),
      OutboxCursor(sequence: 2, key: 2, store: "a"), OutboxCursor(sequence: 2, key: 2, store: "b"),
      OutboxCursor(sequence: 3, key: 1, store: "a"),
    ]
    #expect(ordered.reversed().sorted() == ordered)
    #expect(!(ordered[0] < ordered[0]) && ordered[0] < ordered[1])
  }

  @Test(arguments: Backend.available)
  func `pages have each of several entries with one sequence once`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    for number in 0..<5 { try stack.saveItem("Item \(number)") }
    let saved = try await stack.outbox.entries()
    let sequence = saved[1].sequence
    let ids = saved[2...3].map(\.id)
    try stack.save { context in
      for id in ids { try context.existingObject(with: id).setValue(sequence, for: "sequence") }
    }
    let all = try await stack.outbox.entries()
    #expect(all.map(\.sequence) == [saved[0].sequence, sequence, sequence, sequence, saved[4].sequence])
    for limit in 1...4 {
      var paged: [OutboxEntry.ID] = []
      var cursor: OutboxCursor?
      repeat {
        let page = try await stack.outbox.entries(limit: limit, after: cursor)
        paged += page.map(\.id)
        cursor = page.last?.cursor
      } while cursor != nil && paged.count <= all.count
      #expect(paged == all.map(\.id), "\(limit)")
    }
  }

  @Test func `the number of all entries is the sum over the states`() {
    #expect(OutboxCounts(pending: 1, sending: 2, parked: 4).total == 7)
  }
}
