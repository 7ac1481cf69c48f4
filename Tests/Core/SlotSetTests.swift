import TestRandom
import Testing

@testable import CoherenceCore

@Suite("Sets of slots")
struct SlotSetTests {
  /// On both sides of each bound between words.
  private static let slots = [0, 1, 62, 63, 64, 65, 126, 127, 128, 129, 191, 192, 500]

  @Test(arguments: slots)
  func `an inserted slot is the only one in the set until its removal`(slot: Int) {
    var set = SlotSet([slot])
    #expect(!set.isEmpty && set.count == 1 && Array(set) == [slot])
    for other in 0..<600 { #expect(set.contains(other) == (other == slot)) }
    set.remove(slot)
    #expect(set.isEmpty && set.count == 0 && set == SlotSet() && Array(set) == [])
  }

  @Test(arguments: slots)
  func `removing a slot from a set leaves the other slots in the set`(slot: Int) {
    var set = SlotSet(Self.slots)
    set.remove(slot)
    #expect(Array(set) == Self.slots.filter { $0 != slot })
    #expect(set == SlotSet(Self.slots.filter { $0 != slot }))
    #expect(set.count == Self.slots.count - 1)
    set.remove(1000)
    #expect(set.count == Self.slots.count - 1)
  }

  @Test func `a set of slots agrees with a standard set after every sequence of up to five operations`() {
    let slots = [63, 64, 127, 200]
    var different: [[Int]] = []
    forEachSequence(of: 2 * slots.count, upTo: 5) { sequence in
      var (set, model): (SlotSet, Set<Int>) = (SlotSet(), [])
      for operation in sequence {
        let slot = slots[operation / 2]
        if operation % 2 == 0 {
          set.insert(slot)
          model.insert(slot)
        } else {
          set.remove(slot)
          model.remove(slot)
        }
      }
      set.checkInvariants()
      let isEqual = set.count == model.count && set.isEmpty == model.isEmpty && set == SlotSet(model)
      if !isEqual || !slots.allSatisfy({ set.contains($0) == model.contains($0) }) { different.append(sequence) }
    }
    #expect(different.isEmpty)
  }

  @Test func `a predicate of all slots gets each slot in ascending order, until the first slot that fails`() {
    let set = SlotSet(Self.slots)
    for last in Self.slots {
      var seen: [Int] = []
      let isSatisfied = set.allSatisfy { slot in
        seen.append(slot)
        return slot != last
      }
      #expect(!isSatisfied && seen == Self.slots.filter { $0 <= last })
    }
    let isSatisfied = set.allSatisfy { $0 <= 500 }
    let isSatisfiedByNone = SlotSet().allSatisfy { _ in false }
    #expect(isSatisfied && isSatisfiedByNone)
  }

  @Test func `a union has the slots of both sets in ascending order`() {
    let (low, high) = (SlotSet([63, 3]), SlotSet([200, 64, 3]))
    #expect(Array(low.union(high)) == [3, 63, 64, 200])
    #expect(low.union(high) == high.union(low))
    #expect(low.union(SlotSet()) == low && SlotSet().union(low) == low)
  }
}
