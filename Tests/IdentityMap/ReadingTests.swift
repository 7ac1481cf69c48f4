import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CoherenceIdentityMap

@Suite("Concurrent reads")
struct ReadingTests {
  private let store = makeStore()

  /// Reads so often, as if threads had met, that reads are shared from then on, until the next change.
  private func shareReads(of id: Int) {
    store.core.exclusively { store.core.lock.noteContention() }
    for _ in 0..<200 { _ = store.find(Leaf.self, id: id) }
  }

  @Test(.timeLimit(.minutes(15)))
  func `a read does not wait for a read of another thread`() {
    let (gate, hasEnded) = (Gate(), DispatchSemaphore(value: 0))
    let held = (store.store(entity: Gated(id: .init(number: 1, gate: gate))), store.store(entity: Leaf(1, "a")))
    let named = store.store(entities: [Leaf(2)], named: .all)
    let alias = store.find(named: .all)
    shareReads(of: 1)
    gate.close()
    let store = store
    Thread.detachNewThread {
      let found = store.find(Gated.self, id: .init(number: 1, gate: gate))
      #expect(found != nil)
      hasEnded.signal()
    }
    // The other thread is in the midst of its read then.
    gate.waitForReader()
    #expect(store.find(Leaf.self, id: 1)?.value == Leaf(1, "a") && store.find(Leaf.self, id: 9) == nil)
    #expect(held.1.current == Leaf(1, "a") && store.find(named: .all).value == [Leaf(2)])
    #expect(named.current == [Leaf(2)] && alias.current == [Leaf(2)])
    #expect(store.value(Leaf.self, id: 2) == Leaf(2) && store.value(named: .all) == [Leaf(2)])
    gate.open()
    hasEnded.wait()
    withExtendedLifetime((held, named, alias)) {}
  }

  @Test(.timeLimit(.minutes(15)))
  func `shared reads see all of a transaction or nothing`() {
    let held = store.store(entities: (0..<200).map { Leaf($0, "0") }, named: .all)
    let alias = store.find(named: .all)
    let isOver = Atomic<Bool>(false)
    let mixed = Received<[String?]>()
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      guard thread > 0 else {
        for round in 1...500 {
          store.transaction { store in
            for id in 0..<200 { store.update(Leaf.self, id: id) { $0.text = "\(round)" } }
          }
        }
        return isOver.store(true, ordering: .releasing)
      }
      while !isOver.load(ordering: .acquiring) {
        let lists = [held.current, alias.current ?? [], store.find(named: .all).value ?? []]
        for list in lists where Set(list.map(\.text)).count != 1 { mixed.append(list.map(\.text)) }
      }
    }
    #expect(mixed.values.isEmpty)
    #expect(held.current == (0..<200).map { Leaf($0, "500") })
  }

  @Test(.timeLimit(.minutes(15)))
  func `entities are stored and released during shared reads`() {
    let held = (0..<8).map { store.store(entity: Leaf($0, "held")) }
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<5000 {
        guard thread == 0 else {
          let found = store.find(Leaf.self, id: round % 16)
          if round % 16 < 8 { #expect(found?.value.text == "held") }
          continue
        }
        // The index grows and shrinks, and handles begin and end.
        guard round % 20 == 0 else { continue }
        let others = store.store(entities: (8..<200).map { Leaf($0, "other") })
        withExtendedLifetime(others) {}
      }
    }
    #expect(store.count(of: Leaf.self) == 8)
    withExtendedLifetime(held) {}
  }

  @Test func `a read sees the change before it when reads are shared`() {
    let held = store.store(entity: Leaf(1, "0"))
    let root = store.store(entity: Root(id: 1, leaf: Leaf(1, "0")))
    for round in 0..<10 {
      shareReads(of: 1)
      store.update(Leaf.self, id: 1) { $0.text = "\(round)" }
      #expect(held.current.text == "\(round)" && root.current.leaf.text == "\(round)")
      #expect(store.find(Root.self, id: 1)?.value.leaf.text == "\(round)")
    }
  }

  @Test func `an entity without a holder is found while reads are shared, and is released with its observer`() {
    let held = store.store(entity: Leaf(1))
    _ = store.store(entity: Leaf(2, "named"), named: .chosen)
    shareReads(of: 1)
    #expect(store.find(Leaf.self, id: 2)?.value.text == "named")
    shareReads(of: 1)
    #expect(store.find(named: .chosen).value?.text == "named")
    shareReads(of: 1)
    store.removeAlias(named: AliasKey<Leaf>.chosen)
    #expect(store.find(Leaf.self, id: 2) == nil && store.find(named: .chosen).value == nil)
    withExtendedLifetime(held) {}
  }

  @Test(.timeLimit(.minutes(15)))
  func `threads without contention do not share reads`() {
    let held = store.store(entity: Leaf(1))
    for _ in 0..<200 { _ = store.find(Leaf.self, id: 1) }
    #expect(store.core.beginReading() == nil)
    shareReads(of: 1)
    let reading = store.core.beginReading()
    #expect(reading != nil)
    if let reading { store.core.endReading(reading) }
    withExtendedLifetime(held) {}
  }

  @Test func `another thread cannot share a read while a transaction runs`() {
    let held = store.store(entity: Leaf(1))
    shareReads(of: 1)
    let (core, hasEnded) = (store.core, DispatchSemaphore(value: 0))
    store.transaction { _ in
      Thread.detachNewThread {
        let reading = core.beginReading()
        #expect(reading == nil)
        if let reading { core.endReading(reading) }
        hasEnded.signal()
      }
      hasEnded.wait()
    }
    withExtendedLifetime(held) {}
  }

  @Test func `the values of entities and aliases are read without an observer`() {
    store.core.exclusively { store.core.lock.noteContention() }
    #expect(store.value(Leaf.self, id: 1) == nil && store.value(named: .main) == nil && store.value(named: .all) == nil)
    _ = store.store(entity: Root(id: 1, leaf: Leaf(1, "0")), named: .main)
    _ = store.store(entities: [Leaf(1, "0")], named: .all)
    for round in 0..<200 {
      if round % 90 == 0 { store.update(Leaf.self, id: 1) { $0.text = "\(round)" } }
      let text = "\(round / 90 * 90)"
      #expect(store.value(Leaf.self, id: 1)?.text == text && store.value(Root.self, id: 1)?.leaf.text == text)
      #expect(store.value(named: .main)?.leaf.text == text && store.value(named: .all) == [Leaf(1, text)])
    }
    store.removeAllAlias()
    #expect(store.value(Leaf.self, id: 1) == nil && store.value(Root.self, id: 1) == nil)
    #expect(store.value(named: .main) == nil && store.inspect().entities.isEmpty)
  }

  @Test func `reads of values become shared without an observer, until the next change`() {
    _ = store.store(entity: Leaf(1, "a"), named: .chosen)
    _ = store.store(entity: Root(id: 1, leaf: Leaf(2, "b")), named: .main)
    let reads: [(EntityStore) -> Bool] = [
      { $0.value(Leaf.self, id: 1)?.text == "a" }, { $0.value(Root.self, id: 1)?.leaf.text == "b" },
      { $0.value(named: .chosen)?.text == "a" },
    ]
    for read in reads { #expect((0..<200).allSatisfy { _ in read(store) } && !store.core.lock.mayShareReads) }
    store.core.exclusively { store.core.lock.noteContention() }
    for read in reads {
      #expect((0..<200).allSatisfy { _ in read(store) } && store.core.lock.mayShareReads)
      store.update(Leaf.self, id: 2) { $0.text = "b" }
      #expect(!store.core.lock.mayShareReads && store.value(Leaf.self, id: 9) == nil)
    }
  }

  @Test func `a lifetime counts searches while reads are shared`() {
    store.setPolicy(for: Item.self) { $0.lifetime = .last(2) }
    let held = store.store(entity: Leaf(1))
    for id in [1, 2] { _ = store.store(entity: Item(id: id)) }
    shareReads(of: 1)
    _ = store.find(Item.self, id: 1)
    shareReads(of: 1)
    _ = store.store(entity: Item(id: 3))
    #expect(store.find(Item.self, id: 2) == nil)
    shareReads(of: 1)
    #expect(store.value(Item.self, id: 1) != nil)
    shareReads(of: 1)
    _ = store.store(entity: Item(id: 4))
    #expect(store.value(Item.self, id: 1) != nil && store.value(Item.self, id: 3) == nil)
    withExtendedLifetime(held) {}
  }

  @Test func `an update closure may read while reads are shared`() {
    let held = store.store(entities: [Leaf(1, "a"), Leaf(2, "b")])
    shareReads(of: 1)
    store.update(Leaf.self, id: 1) { leaf in
      leaf.text = store.find(Leaf.self, id: 2)?.value.text
      store.update(Leaf.self, id: 2) { $0.text = "c" }
      #expect(store.find(Leaf.self, id: 2)?.value.text == "c" && held.current[1].text == "c")
    }
    #expect(held.current == [Leaf(1, "b"), Leaf(2, "c")])
  }
}

/// Stops a thread that compares identifiers.
private final class Gate: Sendable {
  private let isClosed = Atomic<Bool>(false)
  private let hasCome = DispatchSemaphore(value: 0)
  private let mayGo = DispatchSemaphore(value: 0)

  func close() {
    isClosed.store(true, ordering: .releasing)
  }

  func open() {
    mayGo.signal()
  }

  func waitForReader() {
    hasCome.wait()
  }

  /// Lets only the first thread wait.
  func pass() {
    guard isClosed.exchange(false, ordering: .acquiringAndReleasing) else { return }
    hasCome.signal()
    mayGo.wait()
  }
}

private struct Gated: Identifiable, Sendable {
  struct ID: Hashable, Sendable {
    let number: Int
    let gate: Gate

    static func == (first: ID, second: ID) -> Bool {
      first.gate.pass()
      return first.number == second.number
    }

    func hash(into hasher: inout Hasher) {
      hasher.combine(number)
    }
  }

  let id: ID
}
