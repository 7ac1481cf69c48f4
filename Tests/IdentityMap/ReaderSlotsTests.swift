import TestRandom
import Testing

@testable import CoherenceIdentityMap

@Suite("The slots of shared reads")
struct ReaderSlotsTests {
  /// Three threads that share the same two slots, found by their refusals.
  private func rivals() -> [UInt] {
    let slots = ReaderSlots()
    defer { slots.deallocate() }
    var rivals: [UInt] = [1 << 12]
    let taken = [slots.enter(rivals[0]), slots.enter(rivals[0])]
    var thread: UInt = 2 << 12
    while rivals.count < 3 {
      if let slot = slots.enter(thread) { slot.leave() } else { rivals.append(thread) }
      thread += 1 << 12
    }
    for slot in taken { slot?.leave() }
    return rivals
  }

  @Test func `two slots have at most two readers after every sequence of up to five operations`() {
    let threads = rivals()
    var different: [[Int]] = []
    forEachSequence(of: 5, upTo: 5) { sequence in
      let slots = ReaderSlots()
      defer { slots.deallocate() }
      var held: [(thread: UInt, slot: ReaderSlot)] = []
      for operation in sequence {
        switch operation {
        case 3: if !held.isEmpty { held.removeFirst().slot.leave() }
        case 4: held.popLast()?.slot.leave()
        default:
          let slot = slots.enter(threads[operation])
          if (slot == nil) != (held.count == 2) { different.append(sequence) }
          if let slot { held.append((threads[operation], slot)) }
        }
      }
      slots.checkInvariants()
      if slots.readers.sorted() != held.map(\.thread).sorted() { different.append(sequence) }
      // A writer waits for the reads of other threads, and not for its own.
      var waits = 0
      slots.wait(from: threads[0]) {
        waits += 1
        for entry in held where entry.thread != threads[0] { entry.slot.leave() }
      }
      if (waits > 0) != held.contains(where: { $0.thread != threads[0] }) { different.append(sequence) }
      if slots.readers != held.map(\.thread).filter({ $0 == threads[0] }) { different.append(sequence) }
    }
    #expect(different.isEmpty)
  }

  @Test func `every thread number finds a slot when all slots are free`() {
    let slots = ReaderSlots()
    defer { slots.deallocate() }
    let threads: [UInt] = [1, 2, .max, .max / 2, 1 << 63]
    for thread in threads + (1...500).map({ UInt($0) << 12 }) {
      let slot = slots.enter(thread)
      #expect(slots.readers == [thread])
      slot?.leave()
    }
    #expect(slots.readers.isEmpty)
  }
}
