import CoherenceCore
import Foundation
import Testing

@testable import CoherenceOutbox

/// The reasons for which records wait, and the records that a search leaves for the next requests.
@Suite("Records that wait")
struct WaitingRecordTests {
  private let now = Date(timeIntervalSince1970: 1_700_000_000)
  private let store = StoreIdentifier("sample-entries")

  private func claimed(lease: Date?) -> OutboxNode {
    SampleEntries.node(.update, 1, of: 1, state: .sending, groupEnd: 1, lease: lease)
  }

  @Test func `a claim is valid before the end of its lease, unless the lease ends too late for any clock`() {
    let lease = now.addingTimeInterval(10)
    let node = claimed(lease: lease)
    #expect(node.isClaimed(at: now, until: lease))
    #expect(!node.isClaimed(at: now, until: lease.addingTimeInterval(-1)))
    #expect(!node.isClaimed(at: lease, until: .distantFuture))
    #expect(!claimed(lease: nil).isClaimed(at: now, until: .distantFuture))
    let pending = SampleEntries.node(.update, 1, of: 1, lease: lease)
    #expect(!pending.isClaimed(at: now, until: .distantFuture))
  }

  @Test func `the forwarder that reads its own claim knows whether the claim is valid`() {
    var node = claimed(lease: now.addingTimeInterval(10))
    node.validity = .abandoned
    #expect(!node.isClaimed(at: now, until: .distantFuture))
    #expect(CausalGraph([node]).waiting(node.record, at: now) == nil)
    node = claimed(lease: now.addingTimeInterval(-10))
    node.validity = .held
    #expect(node.isClaimed(at: now, until: now))
    #expect(CausalGraph([node]).waiting(node.record, at: now) == .sending)
  }

  @Test func `a lease that ends later than the longest lease is ignored`() {
    let graph = CausalGraph([claimed(lease: now.addingTimeInterval(10))])
    #expect(graph.ready(at: now, limit: 1, longestLease: .seconds(10)).isEmpty)
    #expect(graph.ready(at: now, limit: 1, longestLease: .seconds(9)).count == 1)
    // The longest wait is no limit of leases.
    #expect(graph.ready(at: now, limit: 1, longestWait: .seconds(9)).isEmpty)
  }

  @Test func `a record waits for its time, for its forwarder, or for other records`() {
    let later = now.addingTimeInterval(60)
    let graph = CausalGraph([
      SampleEntries.node(.update, 1, of: 1, nextAttempt: later),
      SampleEntries.node(.update, 2, of: 2, state: .sending, groupEnd: 2, lease: later),
      SampleEntries.node(.insert, 3, of: 3, nextAttempt: later), SampleEntries.node(.insert, 4, of: 4, to: [3]),
    ])
    #expect(graph.waiting(SampleEntries.item(1), at: now) == .notDue(later))
    #expect(graph.waiting(SampleEntries.item(1), at: later) == nil)
    #expect(graph.waiting(SampleEntries.item(2), at: now) == .sending)
    #expect(graph.waiting(SampleEntries.item(4), at: now) == .records([SampleEntries.item(3)]))
    #expect(graph.waiting(SampleEntries.item(4), at: later) == .records([SampleEntries.item(3)]))
    #expect(graph.waiting(SampleEntries.item(5), at: now) == nil)
  }

  @Test func `a record inserted and deleted without an attempt waits for nothing`() {
    let graph = CausalGraph([
      SampleEntries.node(.insert, 1, of: 1, state: .parked), SampleEntries.node(.delete, 2, of: 1),
      SampleEntries.node(.insert, 3, of: 2, nextAttempt: now + 60), SampleEntries.node(.delete, 4, of: 2),
    ])
    #expect(graph.ready(at: now, limit: 10).map(\.record.key) == [1, 2])
  }

  @Test func `records of other programs and records beyond the limit are left out, and retried records are marked`() {
    let graph = CausalGraph([
      SampleEntries.node(.update, 1, of: 1),
      SampleEntries.node(.update, 2, of: 2, nextAttempt: OutboxEntryRecord.retried),
      SampleEntries.node(.update, 3, of: 3, nextAttempt: OutboxEntryRecord.atOnce),
    ])
    let ready = graph.ready(at: now, limit: 10, without: [SampleEntries.item(1)])
    #expect(ready.map(\.record.key) == [2, 3] && ready.map(\.isRetried) == [true, false])
    #expect(ready.map(\.sequence) == [2, 3])
    #expect(graph.ready(at: now, limit: 0).isEmpty)
    #expect(graph.ready(at: now, limit: 2).map(\.record.key) == [1, 2])
  }

  @Test func `a search looks for at least the wanted records, and for one in sixteen of the read entries`() {
    #expect(OutboxSurplus.wantedCount(limit: 10, readCount: 0) == 10)
    #expect(OutboxSurplus.wantedCount(limit: 10, readCount: 175) == 10)
    #expect(OutboxSurplus.wantedCount(limit: 10, readCount: 176) == 11)
  }

  @Test func `the surplus of a search has the records in order, and takes those of unsent requests back`() throws {
    let graph = CausalGraph((1...Int64(4)).map { SampleEntries.node(.update, $0, of: $0) })
    let candidates = graph.ready(at: now, limit: 10).map { OutboxSurplus.Candidate(store: store, ready: $0) }
    var surplus = OutboxSurplus(candidates.reversed(), through: 9)
    #expect(surplus.end == 9 && !surplus.isEmpty)
    let taken = surplus.take(3)
    #expect(taken.map(\.ready.record.key) == [1, 2, 3])
    let steps = OutboxPlan(entries: [
      SampleEntries.entry(
        .update, 2, of: SampleEntries.item(2),
        changes: [
          OutboxChange("a", base: .value(.int(1)), value: .value(.int(2)))
        ])
    ]).steps
    #expect(steps.count == 1)
    surplus.putBack(steps, from: taken)
    #expect(surplus.take(5).map(\.ready.record.key) == [2, 4])
    #expect(surplus.isEmpty && surplus.take(1).isEmpty)
    let empty = OutboxSurplus()
    #expect(empty.isEmpty && empty.end == .min)
  }
}
