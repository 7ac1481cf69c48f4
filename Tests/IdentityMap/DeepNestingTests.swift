import CoherenceIdentityMap
import Foundation
import Testing

/// Entities in entities, as deep as plain values carry it on a thread of the concurrency pool.
@Suite("Deeply nested entities", .timeLimit(.minutes(15)))
struct DeepNestingTests {
  private static let levels = 20_000
  private struct Refusal: Error {}

  @Test func `an entity of 20,000 levels is stored, found and released`() async {
    let (stored, last, left) = await onPoolThread {
      let store = makeStore()
      let held = store.store(entity: Comment(levels: Self.levels, text: "last"))
      let stored = store.count(of: Comment.self)
      let last = store.find(Comment.self, id: Self.levels - 1)?.value.text
      withExtendedLifetime(held) {}
      return (stored, last, store)
    }
    #expect(stored == Self.levels && last == "last")
    #expect(left.count(of: Comment.self) == 0, "The observer that kept all of them is gone.")
  }

  @Test func `an entity of 20,000 levels in dictionaries is stored and follows its last level`() async {
    let text = await onPoolThread {
      let store = makeStore()
      let held = store.store(entity: Topic(levels: Self.levels))
      store.update(Topic.self, id: Self.levels - 1) { $0.text = "new" }
      return held.current.last.text
    }
    #expect(text == "new")
  }

  @Test func `a change of the last of 20,000 levels reaches the observer of the first`() async {
    let received = await onPoolThread {
      let (store, received) = (makeStore(), Received<String>())
      let held = store.store(entity: Comment(levels: Self.levels))
      let subscription = held.observe { received.append($0.last.text) }
      store.update(Comment.self, id: Self.levels - 1) { $0.text = "new" }
      withExtendedLifetime(subscription) {}
      return received.values
    }
    #expect(received == ["", "new"])
  }

  @Test func `a closure may change the last of 20,000 levels in the value of the first`() async {
    let (received, last) = await onPoolThread {
      let (store, received) = (makeStore(), Received<String>())
      let held = store.store(entity: Comment(levels: Self.levels))
      let subscription = held.observe { received.append($0.last.text) }
      store.update(Comment.self, id: 0) { $0 = Comment(levels: Self.levels, text: "new") }
      withExtendedLifetime(subscription) {}
      return (received.values, store.find(Comment.self, id: Self.levels - 1)?.value.text)
    }
    #expect(received == ["", "new"] && last == "new")
  }

  @Test func `a store of 20,000 levels notifies observers once if the value differs and never if it is equal`() async {
    let (received, last) = await onPoolThread {
      let (store, received) = (makeStore(), Received<String>())
      let held = store.store(entity: Comment(levels: Self.levels))
      let subscription = held.observe { received.append($0.last.text) }
      store.store(Comment(levels: Self.levels))
      store.store(Comment(levels: Self.levels, text: "new"))
      withExtendedLifetime(subscription) {}
      return (received.values, held.current.last)
    }
    #expect(received == ["", "new"])
    #expect(last == Comment(id: Self.levels - 1, text: "new"))
  }

  @Test func `a transaction that throws leaves no trace of 20,000 levels`() async {
    let (known, unknown) = await onPoolThread {
      let store = makeStore()
      let held = store.store(entity: Comment(levels: Self.levels))
      try? store.transaction { store in
        store.store(Comment(levels: Self.levels, text: "new"))
        throw Refusal()
      }
      let other = makeStore()
      try? other.transaction { store in
        store.store(Comment(levels: Self.levels))
        throw Refusal()
      }
      return (held.current.last.text, other.count(of: Comment.self))
    }
    #expect(known.isEmpty && unknown == 0)
  }

  @Test func `the last of 20,000 levels is removed, and then the first`() async {
    let (last, left) = await onPoolThread {
      let store = makeStore()
      let held = store.store(entity: Comment(levels: Self.levels))
      store.remove(Comment.self, id: Self.levels - 1)
      let last = held.current.last.id
      store.remove(Comment.self, id: 0)
      return (last, store.count(of: Comment.self))
    }
    #expect(last == Self.levels - 2 && left == 0)
  }

  @Test func `removing the last of 20,000 required levels removes all levels`() async {
    let left = await onPoolThread {
      let store = makeStore()
      let held = store.store(entity: Chain(levels: Self.levels))
      store.remove(Chain.self, id: Self.levels - 1)
      withExtendedLifetime(held) {}
      return store.count(of: Chain.self)
    }
    #expect(left == 0)
  }

  @Test func `an optimistic change of the last of 20,000 levels is visible in the first until its rollback`() async {
    let (shown, reverted) = await onPoolThread {
      let store = makeStore()
      let held = store.store(entity: Comment(levels: Self.levels))
      let change = store.optimistically { $0.update(Comment.self, id: Self.levels - 1) { $0.text = "new" } }
      let shown = held.current.last.text
      change.rollback()
      return (shown, held.current.last.text)
    }
    #expect(shown == "new" && reverted.isEmpty)
  }

  /// The time that a change takes grows with the square of the number of levels, so that fewer levels on a smaller stack
  /// stand for thousands.
  @Test func `an optimistic change may store and remove more levels than the stack of its thread carries`() async {
    let levels = 500
    let (stored, removed, back) = await onThread(stackSize: 512 << 10) {
      let store = makeStore()
      let addition = store.optimistically { $0.store(Comment(levels: levels)) }
      let stored = store.count(of: Comment.self)
      addition.rollback()
      let held = store.store(entity: Chain(levels: levels))
      let removal = store.optimistically { $0.remove(Chain.self, id: levels - 1) }
      let removed = store.count(of: Chain.self)
      removal.rollback()
      withExtendedLifetime(held) {}
      return ([stored, store.count(of: Comment.self)], removed, store.count(of: Chain.self))
    }
    #expect(stored == [levels, 0] && removed == 0 && back == levels)
  }

  @Test func `20,000 entities whose values hold each other's observers are released without recursion`() async {
    let left = await onPoolThread {
      let store = makeStore()
      var last = store.store(entity: Keeper(id: 0, next: nil))
      for id in 1..<Self.levels { last = store.store(entity: Keeper(id: id, next: last)) }
      return store
    }
    #expect(left.count(of: Keeper.self) == 0)
  }

  @Test func `an archive of 20,000 levels is refused, and an archive of a hundred is restored`() async throws {
    try await Task.detached {
      let store = makeStore()
      var archive = EntityArchive()
      let deep = store.store(entity: Comment(levels: Self.levels))
      #expect(throws: EncodingError.self) { try archive.add(Comment.self, as: "comments", from: store) }
      store.remove(Comment.self, id: 0)
      withExtendedLifetime(deep) {}
      let held = store.store(entity: Comment(levels: 100, text: "last"))
      try archive.add(Comment.self, as: "comments", from: store)
      let other = makeStore()
      let restored = try archive.restore(Comment.self, as: "comments", to: other)
      #expect(restored.value.first { $0.id == 0 }?.last.text == "last")
      withExtendedLifetime(held) {}
    }.value
  }

  private func onThread<R: Sendable>(stackSize: Int, _ body: @escaping @Sendable () -> R) async -> R {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: body()) }
      thread.stackSize = stackSize
      thread.start()
    }
  }

  /// A pool thread has the default stack of a thread, 8 MB on Linux.
  private func onPoolThread<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
    await Task.detached { body() }.value
  }
}

// MARK: - Entities

private struct Comment: Aggregate, Equatable, Codable {
  let id: Int
  var text = ""
  var replies: [Comment] = []

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.replies)] }

  var last: Comment {
    var last = self
    while let next = last.replies.first { last = next }
    return last
  }
}

extension Comment {
  /// A comment with a reply to each, numbered from 0.
  /// - Parameter text: That of the last.
  init(levels: Int, text: String = "") {
    self.init(id: levels - 1, text: text)
    for id in (0..<levels - 1).reversed() { self = Comment(id: id, replies: [self]) }
  }
}

private struct Topic: Aggregate, Equatable {
  let id: Int
  var text = ""
  var parts: [String: Topic] = [:]

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(\.parts)] }

  init(id: Int, parts: [String: Topic] = [:]) {
    self.id = id
    self.parts = parts
  }

  init(levels: Int) {
    self.init(id: levels - 1)
    for id in (0..<levels - 1).reversed() { self = Topic(id: id, parts: ["part": self]) }
  }

  var last: Topic {
    var last = self
    while let next = last.parts["part"] { last = next }
    return last
  }
}

/// A chain link. Removing the next link removes it.
private struct Chain: Aggregate, Equatable {
  let id: Int
  var next: Next = .end

  indirect enum Next: EntityWrapper, Equatable, Sendable {
    case chain(Chain)
    case end

    func wrappedEntitiesKeyPaths<Root>(
      relativeTo parent: WritableKeyPath<Root, Self>
    ) -> [PartialIdentifiableKeyPath<Root>] {
      [.init(parent.appending(\.chain))]
    }

    var chain: Chain? {
      get { if case .chain(let chain) = self { chain } else { nil } }
      set { if let newValue { self = .chain(newValue) } }
    }
  }

  var nestedEntitiesKeyPaths: [PartialIdentifiableKeyPath<Self>] { [.init(wrapper: \.next)] }
}

extension Chain {
  init(levels: Int) {
    self.init(id: levels - 1)
    for id in (0..<levels - 1).reversed() { self = Chain(id: id, next: .chain(self)) }
  }
}

/// An entity that keeps another one.
private struct Keeper: Identifiable, Sendable {
  let id: Int
  private let next: Kept?

  /// A class, so that the observer's value is no part of the entity's.
  private final class Kept: Sendable {
    let observer: EntityObserver<Keeper>

    init(_ observer: EntityObserver<Keeper>) { self.observer = observer }
  }

  init(id: Int, next: EntityObserver<Keeper>?) {
    self.id = id
    self.next = next.map(Kept.init)
  }
}
