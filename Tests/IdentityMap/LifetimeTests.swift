import CoherenceIdentityMap
import Foundation
import Synchronization
import Testing

@Suite("Lifetimes, staleness, merging")
struct LifetimeTests {
  private let clock = HandClock()
  private let store: EntityStore

  init() {
    store = EntityStore(delivery: .immediate, now: { [clock] in clock.now })
  }

  private func isThere(_ id: Int) -> Bool { store.find(Leaf.self, id: id) != nil }

  @Test func `pinned entities stay until they are removed`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .pinned }
    _ = store.store(entity: Leaf(1))
    #expect(isThere(1))
    store.remove(Leaf.self, id: 1)
    #expect(!isThere(1))
    _ = store.store(entity: Leaf(2))
    store.setPolicy(for: Leaf.self) { $0.lifetime = .whileUsed }
    #expect(!isThere(2))
  }

  @Test func `a count lifetime retains the most recently used entities`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .last(2) }
    for id in 1...3 { _ = store.store(entity: Leaf(id)) }
    #expect(!isThere(1) && isThere(3) && isThere(2))
    _ = store.store(entity: Leaf(4))
    #expect(isThere(2) && !isThere(3) && isThere(4), "The one found last stays.")
  }

  @Test func `a timed lifetime retains an entity until its expiry`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .timeToLive(.seconds(10)) }
    _ = store.store(entity: Leaf(1))
    let used = store.store(entity: Leaf(2))
    clock.advance(by: .seconds(9))
    #expect(isThere(1))
    clock.advance(by: .seconds(1))
    #expect(!isThere(1) && isThere(2), "What is used stays.")
    store.collect()
    #expect(store.count(of: Leaf.self) == 1)
    withExtendedLifetime(used) {}
  }

  @Test func `a write renews the time to live of an entity`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .timeToLive(.seconds(10)) }
    _ = store.store(entity: Leaf(1))
    clock.advance(by: .seconds(6))
    _ = store.store(entity: Leaf(1, "new"))
    clock.advance(by: .seconds(9))
    #expect(isThere(1))
    clock.advance(by: .seconds(1))
    #expect(!isThere(1))
  }

  @Test func `an archive leaves out expired entities`() throws {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .timeToLive(.seconds(10)) }
    _ = store.store(entity: Leaf(1))
    let used = store.store(entity: Leaf(2))
    clock.advance(by: .seconds(10))
    var archive = EntityArchive()
    try archive.add(Leaf.self, as: "leaf", from: store)
    #expect(try archive.restore(Leaf.self, as: "leaf", to: makeStore()).value == [used.value])
  }

  @Test func `an expired entity rejects no archived value`() throws {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .timeToLive(.seconds(10)) }
    _ = store.store(entity: Leaf(1, "archived"), modifiedAt: 3)
    var archive = EntityArchive()
    try archive.add(Leaf.self, as: "leaf", from: store)
    _ = store.store(entity: Leaf(1, "later"), modifiedAt: 5)
    #expect(try archive.restore(Leaf.self, as: "leaf", to: store).value == [Leaf(1, "later")])
    clock.advance(by: .seconds(10))
    #expect(try archive.restore(Leaf.self, as: "leaf", to: store).value == [Leaf(1, "archived")])
  }

  @Test func `an expired entity is not found`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .timeToLive(.seconds(10)) }
    func over() {
      _ = store.store(entity: Leaf(1, "old"))
      clock.advance(by: .seconds(10))
    }
    over()
    #expect(!store.update(Leaf.self, id: 1) { $0.text = "new" } && !isThere(1))
    over()
    #expect(store.await(Leaf.self, id: 1).value == nil)
    over()
    #expect(store.store(entity: Leaf(1, "new"), ifPresent: { $0.text? += "!" }).value.text == "new")
    over()
    #expect(!store.remove(Leaf.self, id: 1) && store.age(of: Leaf.self, id: 1) == nil)
    over()
    let query = store.query(Leaf.self)
    #expect(query.value.isEmpty && store.count(of: Leaf.self) == 0)
    over()
    let change = store.optimistically { draft in
      #expect(!draft.update(Leaf.self, id: 1) { $0.text = "new" } && !draft.remove(Leaf.self, id: 1))
    }
    change.rollback()
  }

  @Test func `an expired entity is not found in a transaction`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .timeToLive(.seconds(10)) }
    _ = store.store(entity: Leaf(1, "old"))
    clock.advance(by: .seconds(10))
    store.transaction { store in
      #expect(store.find(Leaf.self, id: 1) == nil && !store.update(Leaf.self, id: 1) { $0.text = "new" })
    }
    #expect(store.count(of: Leaf.self) == 0)
  }

  @Test func `an expired entity rejects no value in a transaction or inside of an aggregate`() {
    store.setPolicy(for: Leaf.self) {
      $0.lifetime = .timeToLive(.seconds(10))
      $0.merge = { Leaf($0.id, "\($0.text ?? "")\($1.text ?? "")") }
    }
    _ = store.store(entity: Leaf(1, "expired"), modifiedAt: 5)
    clock.advance(by: .seconds(10))
    let held = store.transaction { store in
      #expect(store.find(Leaf.self, id: 1) == nil)
      return store.store(entity: Leaf(1, "new"), modifiedAt: 3)
    }
    #expect(held.current == Leaf(1, "new") && isThere(1))
    _ = store.store(entity: Leaf(2, "expired"), modifiedAt: 5)
    clock.advance(by: .seconds(10))
    let aggregate = store.store(entity: Inner(leaf: Leaf(2, "new")), modifiedAt: 3)
    #expect(aggregate.current.leaf == Leaf(2, "new") && isThere(2))
  }

  @Test func `costs may be of any size and their closure may use the store`() {
    let store = store
    for id in 1...100 { _ = store.store(entity: Leaf(id, "a"), named: AliasKey("\(id)")) }
    store.setPolicy(for: Leaf.self) { policy in
      policy.lifetime = .memory(bytes: 1000)
      policy.cost = { leaf in
        if leaf.id <= 100 { _ = store.store(entity: Leaf(leaf.id + 1000), named: AliasKey("\(leaf.id + 1000)")) }
        return leaf.id % 2 == 0 ? .max : .min
      }
    }
    #expect(store.count(of: Leaf.self) == 200)
  }

  @Test func `a memory lifetime evicts entities once their cost exceeds its bytes`() {
    store.setPolicy(for: Leaf.self) {
      $0.lifetime = .memory(bytes: 100)
      $0.cost = { $0.text?.utf8.count ?? 0 }
    }
    _ = store.store(entity: Leaf(1, String(repeating: "a", count: 60)))
    _ = store.store(entity: Leaf(2, String(repeating: "a", count: 40)))
    #expect(store.count(of: Leaf.self) == 2)
    _ = store.store(entity: Leaf(3, "a"))
    #expect(!isThere(1) && isThere(2) && isThere(3))
  }

  @Test func `another cost of a policy applies to the stored entities`() {
    store.setPolicy(for: Leaf.self) { $0.lifetime = .memory(bytes: 1_000_000) }
    for id in 1...3 { _ = store.store(entity: Leaf(id)) }
    store.setPolicy(for: Leaf.self) { $0.cost = { _ in 400_000 } }
    #expect(!isThere(1) && isThere(2) && isThere(3))
  }

  @Test func `a transaction that throws evicts no entity by the costs of its values`() {
    struct Refusal: Error {}
    store.setPolicy(for: Leaf.self) {
      $0.lifetime = .memory(bytes: 100)
      $0.cost = { $0.text?.utf8.count ?? 0 }
    }
    for id in 1...2 { _ = store.store(entity: Leaf(id, String(repeating: "a", count: 40))) }
    try? store.transaction { store throws in
      _ = store.store(entity: Leaf(2, String(repeating: "b", count: 90)))
      throw Refusal()
    }
    #expect(store.count(of: Leaf.self) == 2)
    // The list has the former costs again, with room for 20 bytes.
    _ = store.store(entity: Leaf(3, String(repeating: "a", count: 20)))
    #expect(store.count(of: Leaf.self) == 3)
    _ = store.store(entity: Leaf(4, "a"))
    #expect(!isThere(1) && isThere(2) && isThere(3) && isThere(4))
  }

  @Test func `an entity becomes stale by time or by invalidation and fresh by a write`() {
    store.setPolicy(for: Leaf.self) { $0.staleAfter = .seconds(60) }
    let held = store.store(entity: Leaf(1))
    #expect(store.isStale(Leaf.self, id: 2) && !store.isStale(Leaf.self, id: 1))
    clock.advance(by: .seconds(30))
    #expect(store.age(of: Leaf.self, id: 1) == .seconds(30))
    #expect(store.isStale(Leaf.self, id: 1, after: .seconds(20)) && !store.isStale(Leaf.self, id: 1))
    store.invalidate(Leaf.self, id: 1)
    #expect(store.isStale(Leaf.self, id: 1))
    _ = store.store(entity: Leaf(1))
    #expect(!store.isStale(Leaf.self, id: 1), "An equal value confirms.")
    clock.advance(by: .seconds(60))
    #expect(store.isStale(Leaf.self, id: 1))
    store.invalidateAll(Leaf.self)
    withExtendedLifetime(held) {}
  }

  @Test func `an entity written while no policy records times has no age`() {
    store.setPolicy(for: Leaf.self) { $0.staleAfter = .seconds(60) }
    let held = store.store(entity: Leaf(1))
    store.setPolicy(for: Leaf.self) { $0.staleAfter = nil }
    clock.advance(by: .seconds(60))
    _ = store.store(entity: Leaf(1, "new"))
    #expect(store.age(of: Leaf.self, id: 1) == nil)
    store.setPolicy(for: Leaf.self) { $0.staleAfter = .seconds(60) }
    #expect(!store.isStale(Leaf.self, id: 1), "The entity was just written.")
    _ = store.store(entity: Leaf(1, "newer"))
    #expect(store.age(of: Leaf.self, id: 1) == .zero)
    withExtendedLifetime(held) {}
  }

  @Test func `a partial payload is merged and a page appended`() {
    store.setPolicy(for: Note.self) {
      $0.merge = { stored, incoming in
        Note(id: stored.id, fields: stored.fields.merging(incoming.fields) { $1 })
      }
    }
    let held = store.store(entity: Note(id: 1, fields: ["a": "1", "b": "1"]))
    _ = store.store(entity: Note(id: 1, fields: ["b": "2"]))
    #expect(held.current.fields == ["a": "1", "b": "2"])
    store.setPolicy(for: Person.self) {
      $0.merge = { stored, page in
        Person(page.id, page.name, stored.friends + page.friends)
      }
    }
    let person = store.store(entity: Person(1, "p", [Person(2, "a")]))
    _ = store.store(entity: Person(1, "p", [Person(3, "b")]))
    #expect(person.current.friends.map(\.id) == [2, 3])
  }

  @Test func `the equality of a policy decides whether observers are notified`() {
    store.setPolicy(for: Opaque.self) { $0.areEqual = { $0.text == $1.text } }
    let (received, subscription) = store.store(entity: Opaque(id: 1)).changes()
    _ = store.store(entity: Opaque(id: 1))
    #expect(received.count == 0)
    withExtendedLifetime(subscription) {}
  }

  @Test func `restoring an archive restores entities and aliases with their stamps`() throws {
    let held = store.store(entities: [Leaf(1, "a"), Leaf(2, "b")], modifiedAt: 5)
    _ = store.store(entity: Leaf(3, "c"), named: .chosen)
    _ = store.store(entities: [Leaf(1, "a")], named: .all)
    var archive = EntityArchive()
    try archive.add(Leaf.self, as: "leaf", from: store)
    try archive.add(alias: .chosen, from: store)
    try archive.add(alias: .all, from: store)
    let data = try JSONEncoder().encode(archive)

    let next = makeStore()
    let read = try JSONDecoder().decode(EntityArchive.self, from: data)
    let kept = try read.restore(Leaf.self, as: "leaf", to: next)
    try read.restore(alias: .chosen, to: next)
    try read.restore(alias: .all, to: next)
    #expect(Set(kept.value.map(\.id)) == [1, 2, 3])
    #expect(next.find(named: .chosen).value == Leaf(3, "c") && next.find(named: .all).value == [Leaf(1, "a")])
    #expect(!next.update(Leaf.self, id: 2, modifiedAt: 5) { $0.text = "old" })
    withExtendedLifetime(held) {}
  }

  @Test func `an alias is restored under the name of the archive, and a missing name restores nothing`() throws {
    _ = store.store(entities: [Leaf(1, "a")], named: .all)
    _ = store.store(entity: Leaf(2, "b"), named: .chosen)
    var archive = EntityArchive()
    try archive.add(alias: .all, as: "leaves", from: store)
    try archive.add(alias: .chosen, as: "leaf", from: store)
    let next = makeStore()
    try archive.restore(alias: .all, to: next)
    try archive.restore(alias: .chosen, to: next)
    #expect(try archive.restore(Leaf.self, as: "leaves", to: next).value.isEmpty)
    #expect(next.value(named: .all) == nil && next.value(named: .chosen) == nil)
    try archive.restore(alias: .all, as: "leaves", to: next)
    try archive.restore(alias: .chosen, as: "leaf", to: next)
    #expect(next.value(named: .all) == [Leaf(1, "a")] && next.value(named: .chosen) == Leaf(2, "b"))
  }

  @Test func `an alias without a stamp is restored with the values that the store has by then`() throws {
    let held = store.store(entities: [Leaf(1, "archived"), Leaf(2, "archived")], modifiedAt: 5)
    _ = store.store(entities: held.value, named: .all)
    _ = store.store(entity: held.value[0], named: .chosen)
    var archive = EntityArchive()
    try archive.add(alias: .all, from: store)
    try archive.add(alias: .chosen, from: store)

    let next = makeStore()
    let newer = next.store(entity: Leaf(1, "newer"), modifiedAt: 6)
    try archive.restore(alias: .all, to: next)
    try archive.restore(alias: .chosen, to: next)
    #expect(next.find(named: .all).value == [Leaf(1, "newer"), Leaf(2, "archived")])
    #expect(next.find(named: .chosen).value == Leaf(1, "newer"))
    withExtendedLifetime(newer) {}
  }

  @Test func `an alias is restored with the stamps of its entities`() throws {
    _ = store.store(entity: Leaf(1, "old"), named: .chosen, modifiedAt: 1)
    store.update(Leaf.self, id: 1, modifiedAt: 5) { $0.text = "archived" }
    _ = store.store(entities: [Leaf(2), Leaf(3)], named: .all, modifiedAt: 1)
    store.append(entities: [Leaf(4)], named: .all, modifiedAt: 5)
    store.update(named: .all, modifiedAt: 9) { $0.reverse() }
    store.invalidate(Leaf.self, id: 4)
    var archive = EntityArchive()
    try archive.add(alias: .chosen, from: store)
    try archive.add(alias: .all, from: store)
    let data = try JSONEncoder().encode(archive)

    let next = makeStore()
    let newer = next.store(entity: Leaf(2, "newer"), modifiedAt: 2)
    let read = try JSONDecoder().decode(EntityArchive.self, from: data)
    try read.restore(alias: .chosen, to: next)
    try read.restore(alias: .all, to: next)
    #expect(next.find(named: .all).value == [Leaf(4), Leaf(3), newer.value])
    #expect(next.isStale(Leaf.self, id: 4) && !next.isStale(Leaf.self, id: 3))
    _ = next.store(entities: [Leaf(1, "late"), Leaf(4, "late")], modifiedAt: 3)
    #expect(next.find(named: .chosen).value == Leaf(1, "archived"))
    #expect(next.find(named: .all).value == [Leaf(4), Leaf(3), newer.value])
    _ = next.store(entities: [Leaf(3)], named: .all, modifiedAt: 9)
    #expect(next.find(named: .all).value?.count == 3, "The alias has its own stamp.")
  }

  @Test func `a restored entity is as stale as the invalidated entity in the archive`() throws {
    let held = store.store(entities: [Leaf(1), Leaf(2)], modifiedAt: 5)
    store.invalidate(Leaf.self, id: 2)
    var archive = EntityArchive()
    try archive.add(Leaf.self, as: "leaf", from: store)
    let data = try JSONEncoder().encode(archive)

    let next = makeStore()
    let kept = try JSONDecoder().decode(EntityArchive.self, from: data).restore(Leaf.self, as: "leaf", to: next)
    #expect(!next.isStale(Leaf.self, id: 1) && next.isStale(Leaf.self, id: 2))
    _ = next.store(entity: Leaf(2, "new"), modifiedAt: 6)
    #expect(!next.isStale(Leaf.self, id: 2))
    withExtendedLifetime((held, kept)) {}
  }
}

@Suite("Stamps in archives")
struct ArchivedStampTests {
  @Test(arguments: [.infinity, -.infinity, 0.1, -0.0] as [Stamp])
  func `an archive keeps every stamp`(stamp: Stamp) throws {
    let store = makeStore()
    let held = store.store(entity: Leaf(1), modifiedAt: stamp)
    var archive = EntityArchive()
    try archive.add(Leaf.self, as: "leaf", from: store)
    let data = try JSONEncoder().encode(archive)
    let next = makeStore()
    let kept = try JSONDecoder().decode(EntityArchive.self, from: data).restore(Leaf.self, as: "leaf", to: next)
    #expect(next.inspect().entities.map(\.stamp) == [stamp] && kept.value == [held.value])
  }

  @Test func `an archive with a damaged stamp is refused`() throws {
    let store = makeStore()
    let held = store.store(entity: Leaf(1), modifiedAt: .infinity)
    var archive = EntityArchive()
    try archive.add(Leaf.self, as: "leaf", from: store)
    let text = String(decoding: try JSONEncoder().encode(archive), as: UTF8.self)
    let damaged = Data(text.replacing("\"inf\"", with: "\"soon\"").utf8)
    #expect(damaged != Data(text.utf8))
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(EntityArchive.self, from: damaged) }
    withExtendedLifetime(held) {}
  }
}

/// A clock that moves only when a test advances it.
final class HandClock: Sendable {
  private let time = Mutex(Duration.zero)

  var now: Duration { time.withLock { $0 } }

  func advance(by duration: Duration) {
    time.withLock { $0 += duration }
  }
}
