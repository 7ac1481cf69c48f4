import Synchronization
import TestRandom
import Testing

@testable import CoherenceCore

/// The lists of the entries of a context and of the ready contexts of a pool.
@Suite struct EntryListTests {
  /// The number of the block that ran last.
  private final class Last: Sendable {
    private let stored = Atomic<Int>(-1)
    var number: Int { stored.load(ordering: .relaxed) }
    func note(_ number: Int) { stored.store(number, ordering: .relaxed) }
  }

  private final class Witness: Sendable {}

  private let last = Last()

  private func entry(_ number: Int) -> QueueEntry { .block { [last] in last.note(number) } }

  private func number(of entry: QueueEntry?) -> Int? {
    guard case .block(let block)? = entry else { return nil }
    block()
    return last.number
  }

  @Test(arguments: SeededRandom.seeds)
  func `entries leave a list in their order, also after the return of an entry`(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    var list = EntryList()
    var expected: [Int] = []
    for round in 0..<5_000 {
      // Long lists follow short ones, so that the list gives the room of removed entries back.
      if random.isTrue(round / 500 % 2 == 0 ? 0.8 : 0.2) {
        list.append(entry(round))
        expected.append(round)
      } else {
        let entry = list.popFirst()
        #expect(number(of: entry) == expected.first)
        if let entry, random.isTrue(0.3) {
          list.putBack(entry)
        } else if !expected.isEmpty {
          expected.removeFirst()
        }
      }
      #expect(list.isEmpty == expected.isEmpty)
    }
  }

  @Test func `an entry removed from the list is released while later entries wait`() {
    weak var witness: Witness?
    var list = EntryList()
    list.append(entry(0))
    do {
      let object = Witness()
      witness = object
      list.append(.block { withExtendedLifetime(object) {} })
    }
    list.append(entry(2))
    _ = list.popFirst()
    #expect(witness != nil)
    _ = list.popFirst()
    #expect(witness == nil)
    #expect(number(of: list.popFirst()) == 2)
  }

  @Test func `only a waiting thread at the front is taken out as a thread`() {
    let thread = WaitingThread(for: Confinement(.privateQueue), servesMain: true)
    var list = EntryList()
    #expect(list.popThread() == nil)
    list.append(entry(0))
    list.append(.thread(thread))
    #expect(list.popThread() == nil)
    #expect(number(of: list.popFirst()) == 0)
    #expect(list.popThread() === thread)
    #expect(list.isEmpty)
    #expect(QueueEntry.thread(thread).isThread)
    #expect(!entry(0).isThread)
  }

  @Test func `contexts leave the queue of a pool in their order, with a moved context first`() {
    let contexts = (0..<700).map { _ in Confinement(.privateQueue) }
    var queue = ContextQueue()
    var expected = contexts
    for context in contexts { queue.append(context) }
    for round in 0..<600 {
      if round.isMultiple(of: 50) {
        let moved = expected[20]
        queue.moveToFront(moved)
        queue.moveToFront(moved)
        expected.removeAll { $0 === moved }
        expected.insert(moved, at: 0)
        // A context outside of the queue.
        queue.moveToFront(Confinement(.privateQueue))
      }
      let first = expected.removeFirst()
      #expect(queue.popFirst() === first)
      #expect(queue.count == expected.count)
    }
    for context in expected { #expect(queue.popFirst() === context) }
    #expect(queue.isEmpty)
    #expect(queue.popFirst() == nil)
    queue.append(contexts[3])
    #expect(!queue.isEmpty)
    #expect(queue.popFirst() === contexts[3])
  }

  @Test func `a context removed from the queue is released while later contexts wait`() {
    var queue = ContextQueue()
    weak var context: Confinement?
    do {
      let first = Confinement(.privateQueue)
      context = first
      queue.append(first)
    }
    queue.append(Confinement(.privateQueue))
    _ = queue.popFirst()
    #expect(context == nil)
    #expect(queue.count == 1)
  }

  // MARK: Entries into a context

  @Test func `a thread leaves a context with the last of its nested entries`() {
    let confinement = Confinement(.privateQueue)
    confinement.owning {
      #expect(!confinement.isEntered && !confinement.isInside)
      #expect(confinement.enter())
      #expect(!confinement.enter())
      confinement.leave()
      #expect(confinement.isEntered && confinement.isInside)
      confinement.leave()
      #expect(!confinement.isEntered)
      #expect(confinement.enter())
      confinement.leave()
    }
  }

  @Test func `contexts of the main queue and of a thread are used without perform`() {
    #expect(Confinement(.mainQueue).isUsedDirectly)
    #expect(Confinement(.currentThread).isUsedDirectly)
    #expect(!Confinement(.privateQueue).isUsedDirectly)
    #expect(Confinement(.currentThread).isOfThread)
    #expect(!Confinement(.mainQueue).isOfThread)
    #expect(Confinement(.currentThread).isInside)
  }
}
