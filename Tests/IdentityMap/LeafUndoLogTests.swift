import TestRandom
import Testing

@testable import CoherenceIdentityMap

/// Transactions that throw after every short sequence of operations on leaves.
@Suite("The undo log of leaves")
struct LeafUndoLogTests {
  private struct Refusal: Error {}

  /// A store with two leaves, of which either may exist, beside the texts that it should have.
  private final class Stage {
    let store = EntityStore(delivery: .immediate)
    private(set) var texts: [Int: String] = [:]
    /// Retain the leaves, as the store has no other reason to.
    private var handles: [EntityObserver<Leaf>] = []
    private var step = 0

    init(present: Int) {
      for id in 0..<2 where present >> id & 1 == 1 { put(id) }
    }

    private func put(_ id: Int) {
      step += 1
      texts[id] = "text number \(step), longer than the inline form"
      handles.append(store.store(entity: Leaf(id, texts[id])))
    }

    private func change(_ id: Int) {
      step += 1
      let text = "changed text number \(step), longer than the inline form"
      let exists = store.update(Leaf.self, id: id) { $0.text = text }
      if exists { texts[id] = text }
    }

    private func remove(_ id: Int) {
      store.remove(Leaf.self, id: id)
      texts[id] = nil
    }

    /// Operations 0 to 5 concern one leaf; 6 and 7 are inner transactions.
    func run(_ operation: Int) {
      switch operation {
      case 0, 1: put(operation)
      case 2, 3: change(operation - 2)
      case 4, 5: remove(operation - 4)
      case 6:
        inTransactionThatThrows {
          put(0)
          remove(1)
          change(0)
        }
      default:
        store.transaction { _ in
          change(1)
          remove(0)
          put(0)
        }
      }
    }

    func inTransactionThatThrows(_ body: () -> Void) {
      let former = texts
      try? store.transaction { _ in
        body()
        throw Refusal()
      }
      texts = former
    }

    /// Whether the store has the expected leaves, and the log is consistent.
    var isAsExpected: Bool {
      store.core.exclusively { store.core.table(of: Leaf.self).leafLog.checkInvariants() }
      return (0..<2).allSatisfy { store.find(Leaf.self, id: $0)?.value.text == texts[$0] }
    }

    var logCount: Int { store.core.exclusively { store.core.table(of: Leaf.self).leafLog.count } }
  }

  @Test(arguments: 0..<4)
  func `a transaction that throws restores the leaves after every sequence of up to four operations`(present: Int) {
    var different: [[Int]] = []
    forEachSequence(of: 8, upTo: 4) { sequence in
      let stage = Stage(present: present)
      stage.inTransactionThatThrows {
        for operation in sequence { stage.run(operation) }
        if !stage.isAsExpected { different.append(sequence) }
      }
      if !stage.isAsExpected || stage.logCount != 0 { different.append(sequence) }
    }
    #expect(different.isEmpty)
  }

  @Test(arguments: SeededRandom.seeds)
  func `transactions that throw restore the leaves after long random sequences`(seed: UInt64) {
    print("COHERENCE_SEED=\(seed)")
    var random = SeededRandom(seed: seed)
    let stage = Stage(present: 1)
    for _ in 0..<200 {
      let operations = (0..<Int.random(in: 1...40, using: &random)).map { _ in Int.random(in: 0..<8, using: &random) }
      if Bool.random(using: &random) {
        stage.inTransactionThatThrows { for operation in operations { stage.run(operation) } }
      } else {
        for operation in operations { stage.run(operation) }
      }
      #expect(stage.isAsExpected && stage.logCount == 0)
    }
  }
}
