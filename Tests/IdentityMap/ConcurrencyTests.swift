import CoherenceIdentityMap
import Dispatch
import Foundation
import Synchronization
import Testing

@Suite("Many threads")
struct ConcurrencyTests {
  @Test func `64 concurrent writers and observers end with equal values`() {
    let store = EntityStore()
    let shared = store.store(entities: (0..<8).map { Person($0, "") })
    let received = Mutex<[Int: Int]>([:])
    DispatchQueue.concurrentPerform(iterations: 64) { writer in
      let mine = store.store(entity: Person(100 + writer, "w", [Person(writer % 8, "\(writer)")]))
      let subscription = mine.observe { person in received.withLock { $0[person.id, default: 0] += 1 } }
      for round in 0..<50 {
        store.update(Person.self, id: (writer + round) % 8) { $0.name = "\(writer) \(round)" }
        _ = store.find(Person.self, id: 100 + (writer + 1) % 64)?.current
        _ = store.store(entities: [Person(200 + round, "t", [Person(round % 8, "s")])], named: AliasKey("all"))
        _ = store.find(named: AliasKey<[Person]>("all")).value
        if round % 10 == 0 {
          store.transaction { store in
            store.update(Person.self, id: 100 + writer) { $0.name = "r\(round)" }
            store.update(Person.self, id: writer % 8) { $0.name = "t\(round)" }
          }
        }
      }
      subscription.unsubscribe()
    }
    for person in shared.current {
      #expect(store.find(Person.self, id: person.id)?.value == person)
    }
    let all = store.find(named: AliasKey<[Person]>("all")).value ?? []
    #expect(all.allSatisfy { $0.friends.allSatisfy { store.find(Person.self, id: $0.id)?.value == $0 } })
    #expect(received.withLock { $0.count } == 64)
  }

  @Test func `handles may be released on every thread`() {
    let store = EntityStore(delivery: .immediate)
    DispatchQueue.concurrentPerform(iterations: 16) { thread in
      for round in 0..<500 {
        let id = (thread + round) % 20
        let held = store.store(entity: Leaf(id, "\(round)"))
        _ = store.find(Leaf.self, id: id)?.value
        withExtendedLifetime(held) {}
      }
    }
    #expect(store.count(of: Leaf.self) == 0)
  }

  @Test func `an entity released by one thread stays for another thread with a handle`() {
    let store = EntityStore(delivery: .immediate)
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<2000 {
        guard thread > 0 else {
          _ = store.store(entity: Leaf(1, "\(round)"))
          continue
        }
        // A transaction keeps other threads from releasing entities until it ends.
        store.transaction { store in
          guard let found = store.find(Leaf.self, id: 1) else { return }
          #expect(store.find(Leaf.self, id: 1)?.value == found.value)
        }
        guard let found = store.find(Leaf.self, id: 1) else { continue }
        #expect(store.find(Leaf.self, id: 1) != nil)
        withExtendedLifetime(found) {}
      }
    }
    #expect(store.count(of: Leaf.self) == 0)
  }

  @Test func `an entity found while its last handle is being released stays`() {
    let store = makeStore()
    let holder = Mutex<EntityObserver<Leaf>?>(store.store(entity: Leaf(1, "a")))
    let hasEnded = DispatchSemaphore(value: 0)
    let found = store.transaction { store in
      Thread.detachNewThread {
        holder.withLock { $0 = nil }
        hasEnded.signal()
      }
      // The holder is gone then, and waits for the transaction to say so.
      while store.inspect().entities.contains(where: { $0.handles > 0 }) { sched_yield() }
      return store.find(Leaf.self, id: 1)
    }
    hasEnded.wait()
    #expect(found?.current == Leaf(1, "a") && store.count(of: Leaf.self) == 1)
    #expect(store.inspect().entities.map(\.handles) == [1])
    withExtendedLifetime(found) {}
  }

  @Test func `a read on another thread sees all of a transaction or nothing`() {
    let store = EntityStore(delivery: .immediate)
    let held = store.store(entities: [Leaf(1, "0"), Leaf(2, "0")])
    DispatchQueue.concurrentPerform(iterations: 4) { thread in
      for round in 0..<300 {
        if thread == 0 {
          store.transaction { store in
            store.update(Leaf.self, id: 1) { $0.text = "\(round)" }
            store.update(Leaf.self, id: 2) { $0.text = "\(round)" }
          }
        } else {
          let both = held.current
          #expect(both[0].text == both[1].text)
        }
      }
    }
  }
}
