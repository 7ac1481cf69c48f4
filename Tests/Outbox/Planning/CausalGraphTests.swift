import CoherenceCore
import Foundation
import TestRandom
import Testing

@testable import CoherenceOutbox

/// The order in which records can be sent.
@Suite("Causal order")
struct CausalGraphTests {
  private let now = Date(timeIntervalSince1970: 1_000_000)

  private func ready(_ nodes: [OutboxNode], longestWait: Duration? = nil) -> [Int64] {
    CausalGraph(nodes).ready(at: now, limit: 100, longestWait: longestWait).map(\.record.key)
  }

  @Test func `records without relations are all ready, in the order of their first entries`() {
    #expect(
      ready([
        SampleEntries.node(.update, 3, of: 1), SampleEntries.node(.update, 1, of: 2),
        SampleEntries.node(.insert, 2, of: 3),
      ]) == [2, 3, 1])
    #expect(ready([]) == [])
  }

  @Test func `a record waits for the insert of the record that it refers to`() {
    let parent = SampleEntries.node(.insert, 1, of: 1)
    let child = SampleEntries.node(.insert, 2, of: 2, to: [1])
    #expect(ready([parent, child]) == [1])
    #expect(ready([child]) == [2])
    let graph = CausalGraph([parent, child])
    #expect(graph.waiting(SampleEntries.item(2), at: now) == .records([SampleEntries.item(1)]))
    #expect(graph.waiting(SampleEntries.item(1), at: now) == nil)
  }

  @Test func `a record does not wait for updates of the record that it refers to`() {
    #expect(ready([SampleEntries.node(.update, 1, of: 1), SampleEntries.node(.insert, 2, of: 2, to: [1])]) == [1, 2])
  }

  @Test func `a chain of thirty thousand inserts is sent from its beginning`() {
    let chain = (1...Int64(30_000)).map { SampleEntries.node(.insert, $0, of: $0, to: $0 == 1 ? [] : [$0 - 1]) }
    #expect(ready(chain.reversed()) == [1])
  }

  @Test func `a reference in a later request does not delay the first request of the record`() {
    #expect(
      ready([
        SampleEntries.node(.update, 1, of: 1, groupEnd: 1), SampleEntries.node(.insert, 2, of: 2),
        SampleEntries.node(.update, 3, of: 1, to: [2]),
      ]) == [1, 2])
  }

  @Test func `a new record with the key of a deleted one waits for the deletion`() {
    let deletion = SampleEntries.node(.delete, 2, of: 1, number: 7)
    let insert = SampleEntries.node(.insert, 3, of: 2, number: 7)
    #expect(ready([deletion, insert]) == [1])
    #expect(ready([insert]) == [2])
    #expect(ready([deletion, SampleEntries.node(.insert, 3, of: 2, number: 8)]) == [1, 2])
    #expect(ready([SampleEntries.node(.update, 1, of: 1, groupEnd: 1), deletion, insert]) == [1])
    // The server has never had the first record.
    #expect(ready([SampleEntries.node(.insert, 1, of: 1, number: 7), deletion, insert]) == [1, 2])
  }

  @Test func `an update waits for the record that gives the new key up, unless both exchange their keys`() throws {
    let giving = SampleEntries.node(.update, 1, of: 1, state: .parked, number: 7)
    let taking = SampleEntries.node(.update, 2, of: 2, number: 8)
    let (first, second) = (SampleEntries.item(1), SampleEntries.item(2))
    let taken = CausalGraph.TakenKey(key: try #require(giving.uniqueKey), transaction: 2)
    let graph = CausalGraph([giving, taking], taking: [second: taken])
    #expect(graph.waiting(second, at: now) == .records([first]))
    #expect(graph.keyTakers(awaitedBy: [second]) == [first])
    // One save has given the key from the first record to the second.
    let same = CausalGraph.TakenKey(key: taken.key, transaction: giving.transaction)
    #expect(CausalGraph([giving, taking], taking: [second: same]).waiting(second, at: now) == .records([first]))
    // The first record has got the key in a later save.
    let earlier = CausalGraph.TakenKey(key: taken.key, transaction: 0)
    #expect(CausalGraph([giving, taking], taking: [second: earlier]).waiting(second, at: now) == nil)
    let other = CausalGraph.TakenKey(key: try #require(taking.uniqueKey), transaction: 3)
    let exchange = CausalGraph([giving, taking], taking: [first: other, second: taken])
    #expect(exchange.waiting(second, at: now) == nil)
  }

  @Test func `a new record waits for the unanswered insert of a record with its key`() {
    let insert = SampleEntries.node(.insert, 2, of: 2, number: 7)
    #expect(ready([SampleEntries.node(.insert, 1, of: 1, groupEnd: 1, number: 7), insert]) == [1])
    #expect(ready([SampleEntries.node(.insert, 1, of: 1, number: 7), insert]) == [1, 2])
  }

  @Test func `a key has every value of the identity, and belongs to the entity that identifies its records`() {
    func identity(_ value: AttributeValue) -> Data {
      EntryWriter.identity([EntryFormat.Field(name: "number", base: nil, value: .value(value))])
    }
    func key(_ value: AttributeValue, _ newValues: [String: OutboxValue] = [:]) -> OutboxNode.UniqueKey? {
      OutboxNode.UniqueKey(identity(value), in: "TestItem", replacing: newValues)
    }
    let seven = SampleEntries.node(.update, 1, of: 1, number: 7).uniqueKey
    #expect(seven != nil && key(.int(7)) == seven && key(.int(8)) != seven)
    #expect(key(.int(8), ["number": .value(.int(7))]) == seven)
    #expect(key(.int(7), ["title": .value(.string("a"))]) == seven)
    #expect(key(.null) == nil && key(.int(7), ["number": .value(.null)]) == nil)
    #expect(OutboxNode.UniqueKey(identity(.int(7)), in: "Other") != seven)
    #expect(OutboxNode.UniqueKey(identity(.int(7)), in: nil) == nil)
    #expect(OutboxNode.UniqueKey(EntryWriter.identity([]), in: "TestItem") == nil)
  }

  @Test func `a request that names a record waits for the update of its key, if that update may be sent first`() throws
  {
    let (first, second) = (SampleEntries.item(1), SampleEntries.item(2))
    let key = try #require(SampleEntries.node(.update, 1, of: 3, number: 9).uniqueKey)
    let taken = CausalGraph.TakenKey(key: key, transaction: 2)
    func waiting(_ record: OutboxRecord, in nodes: [OutboxNode]) -> CausalGraph.Waiting? {
      CausalGraph(nodes, taking: [first: taken]).waiting(record, at: now)
    }
    func update(_ state: OutboxEntryState = .pending, groupEnd: Int64? = nil) -> OutboxNode {
      SampleEntries.node(.update, 2, of: 1, state: state, groupEnd: groupEnd, number: 7)
    }
    let naming = SampleEntries.node(.update, 3, of: 2, to: [1])
    #expect(waiting(second, in: [update(), naming]) == .records([first]))
    // The user decides over a parked update. The server may know the new key after an attempt.
    #expect(waiting(second, in: [update(.parked), naming]) == nil)
    #expect(waiting(second, in: [update(.parked, groupEnd: 2), naming]) == .records([first]))
    // The update waits for the record that has its new key.
    let owner = SampleEntries.node(.update, 1, of: 3, state: .parked, number: 9)
    #expect(waiting(second, in: [owner, update(), naming]) == nil)
    #expect(waiting(second, in: [owner, update(groupEnd: 2), naming]) == .records([first]))
    // A request on its way has the former key.
    let sent = SampleEntries.node(
      .update, 3, of: 2, to: [1], state: .sending, groupEnd: 3, lease: now.addingTimeInterval(60))
    #expect(waiting(first, in: [update(), sent]) == .records([second]))
    #expect(waiting(second, in: [update(), SampleEntries.node(.delete, 3, of: 2, from: [1])]) == nil)
  }

  @Test func `an update of a circle with a reference does not wait for its key`() throws {
    let deletion = SampleEntries.node(.delete, 1, of: 1, number: 7)
    let taking = SampleEntries.node(.update, 2, of: 2, number: 8)
    let insert = SampleEntries.node(.insert, 3, of: 3, number: 8)
    let member = SampleEntries.node(.update, 4, of: 4, to: [3], from: [1])
    let taken = CausalGraph.TakenKey(key: try #require(deletion.uniqueKey), transaction: 2)
    let graph = CausalGraph([deletion, taking, insert, member], taking: [SampleEntries.item(2): taken])
    let ready = graph.ready(at: now, limit: 10)
    #expect(ready.map(\.record.key) == [2])
  }

  @Test func `a member that moves from a deleted record to a new one with the same key is sent first`() {
    let deletion = SampleEntries.node(.delete, 1, of: 1, number: 7)
    let insert = SampleEntries.node(.insert, 2, of: 2, number: 7)
    let member = SampleEntries.node(.update, 3, of: 3, to: [2], from: [1])
    let ready = CausalGraph([deletion, insert, member]).ready(at: now, limit: 100)
    #expect(ready.map(\.record.key) == [3])
    #expect(ready.first?.deferred == [SampleEntries.item(2)])
  }

  @Test func `a delete waits for the entries of records that refer to the deleted record`() {
    let moved = SampleEntries.node(.update, 1, of: 2, to: [3], from: [1])
    let removed = SampleEntries.node(.delete, 2, of: 4, from: [1])
    let parent = SampleEntries.node(.delete, 3, of: 1)
    #expect(ready([moved, removed, parent]) == [2, 4])
    #expect(ready([parent]) == [1])
  }

  @Test func `a parked insert blocks its record and the records that refer to it, and no other records`() {
    let parked = SampleEntries.node(.insert, 1, of: 1, state: .parked)
    let nodes = [
      parked, SampleEntries.node(.update, 2, of: 1), SampleEntries.node(.insert, 3, of: 2, to: [1]),
      SampleEntries.node(.insert, 4, of: 3),
    ]
    #expect(ready(nodes) == [3])
    #expect(CausalGraph(nodes).waiting(SampleEntries.item(1), at: now) == .parked)
  }

  @Test func `an entry that another process sends is taken over at the end of its lease`() {
    let lease = now.addingTimeInterval(10)
    let nodes = [SampleEntries.node(.update, 1, of: 1, state: .sending, groupEnd: 1, lease: lease)]
    #expect(ready(nodes) == [])
    #expect(CausalGraph(nodes).ready(at: lease, limit: 1).count == 1)
  }

  @Test func `a postponed entry waits for its time, unless the clock was set back`() {
    let later = now.addingTimeInterval(60)
    let nodes = [SampleEntries.node(.update, 1, of: 1, nextAttempt: later)]
    #expect(ready(nodes) == [])
    #expect(ready(nodes, longestWait: .seconds(60)) == [])
    #expect(ready(nodes, longestWait: .seconds(59)) == [1])
    #expect(CausalGraph(nodes).ready(at: later, limit: 1).count == 1)
  }

  @Test func `the oldest of several inserts that refer to each other is sent first, without its reference`() throws {
    let nodes = [SampleEntries.node(.insert, 1, of: 1, to: [2]), SampleEntries.node(.insert, 2, of: 2, to: [1])]
    let ready = CausalGraph(nodes).ready(at: now, limit: 10)
    #expect(ready.map(\.record.key) == [1])
    #expect(ready.first?.deferred == [SampleEntries.item(2)])
    #expect(self.ready([nodes[1]]) == [2])
  }

  @Test func `the oldest of several deletes of records that refer to each other is sent first`() {
    let nodes = [SampleEntries.node(.delete, 1, of: 1, from: [2]), SampleEntries.node(.delete, 2, of: 2, from: [1])]
    let ready = CausalGraph(nodes).ready(at: now, limit: 10)
    #expect(ready.map(\.record.key) == [1] && ready.first?.deferred == [])
  }

  @Test func `a record that refers to itself is ready`() {
    #expect(ready([SampleEntries.node(.insert, 1, of: 1, to: [1])]) == [1])
  }

  @Test func `no record waits for a record that a later entry deletes before its insert is sent`() {
    let nodes = [
      SampleEntries.node(.insert, 1, of: 1), SampleEntries.node(.update, 2, of: 2, to: [1]),
      SampleEntries.node(.delete, 3, of: 1), SampleEntries.node(.update, 4, of: 2, from: [1]),
    ]
    #expect(ready(nodes) == [1, 2])
  }

  @Test func `the limit takes the oldest records`() {
    let nodes = (1...Int64(10)).map { SampleEntries.node(.update, $0, of: 11 - $0) }
    #expect(CausalGraph(nodes).ready(at: now, limit: 3).map(\.record.key) == [10, 9, 8])
  }

  /// Removes the ready records of random graphs again and again, until all records are removed.
  @Test(arguments: SeededRandom.seeds)
  func `every outbox without parked entries is sent to its end, each record after the records that it refers to`(
    seed: UInt64
  ) {
    var random = SeededRandom(seed: seed)
    for _ in 0..<100 {
      let count = Int64.random(in: 1...12, using: &random)
      var nodes = (1...count).map { key in
        let isDelete = Bool.random(using: &random)
        let targets = (0..<Int.random(in: 0...3, using: &random)).map { _ in Int64.random(in: 1...count, using: &random)
        }
        return SampleEntries.node(
          isDelete ? .delete : .insert, key, of: key, to: isDelete ? [] : targets, from: isDelete ? targets : [])
      }
      while !nodes.isEmpty {
        let ready = CausalGraph(nodes).ready(at: now, limit: 100)
        guard !ready.isEmpty else {
          Issue.record("Seed \(seed): \(nodes.count) entries wait for each other.")
          return
        }
        for record in ready {
          guard let sent = nodes.first(where: { $0.record == record.record }), sent.facts.kind == .insert else {
            continue
          }
          let missing = Set(sent.references.map(\.record)).subtracting([sent.record])
            .filter { target in nodes.contains { $0.record == target && $0.facts.kind == .insert } }
          #expect(record.deferred == missing, "Seed \(seed)")
        }
        nodes.removeAll { node in ready.contains { $0.record == node.record } }
      }
    }
  }
}
