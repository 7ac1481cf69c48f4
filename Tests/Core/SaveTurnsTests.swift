import Dispatch
import Synchronization
import Testing

@testable import CoherenceCore

/// Saves that meet conflicts take turns.
@Suite struct SaveTurnsTests {
  private let space: IDSpace

  init() throws {
    let model = try ManagedObjectModel { Entity("Thing") { Attribute("name", .string) } }
    space = IDSpaces(store: StoreIdentifier("turns"), model: model)[try model.entity(named: "Thing")]
  }

  private func id(_ key: Int) -> ManagedObjectID { ManagedObjectID(space: space, key: Int64(key)) }

  @Test func `two saves never hold the turn of one record at the same time`() {
    let turns = SaveTurns()
    let ids = (0..<4).map(id)
    let inside = ids.map { _ in Atomic0() }
    DispatchQueue.concurrentPerform(iterations: 8) { seed in
      for round in 0..<200 {
        let (one, other) = ((seed + round) % 4, (seed + round * 3 + 1) % 4)
        var turn = SaveTurns.Turn()
        turns.begin(&turn, with: [ids[one], ids[other]])
        for index in Set([one, other]) {
          let count = inside[index].value.add(1, ordering: .relaxed).newValue
          #expect(count == 1)
        }
        for index in Set([one, other]) { inside[index].value.subtract(1, ordering: .relaxed) }
        turns.end(&turn)
      }
    }
  }

  @Test func `a save waits for the turns of its own records only`() {
    let turns = SaveTurns()
    var turn = SaveTurns.Turn()
    turns.begin(&turn, with: [id(1)])
    let (same, other) = (id(1), id(2))
    let isWaited = Atomic<Bool>(true)
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
      isWaited.store(turns.waitForOthers([other]), ordering: .relaxed)
      done.signal()
    }
    done.wait()
    let waitedForOther = isWaited.load(ordering: .relaxed)
    #expect(!waitedForOther)
    DispatchQueue.global().async {
      isWaited.store(turns.waitForOthers([same]), ordering: .relaxed)
      done.signal()
    }
    while turns.waiterCount == 0 { continue }
    turns.end(&turn)
    done.wait()
    let waitedForSame = isWaited.load(ordering: .relaxed)
    #expect(waitedForSame)
    #expect(turn.isEmpty)
  }

  @Test func `a save with a turn may save the record once more from within`() {
    let turns = SaveTurns()
    var turn = SaveTurns.Turn()
    turns.begin(&turn, with: [id(1)])
    #expect(!turns.waitForOthers([id(1)]))
    var inner = SaveTurns.Turn()
    turns.begin(&inner, with: [id(1)])
    turns.end(&inner)
    turns.end(&turn)
  }
}

private final class Atomic0: Sendable {
  let value = Atomic<Int>(0)
}
