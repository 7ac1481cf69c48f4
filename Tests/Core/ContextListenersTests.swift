import Dispatch
import Synchronization
import Testing

@testable import CoherenceCore

/// The lists of the children and followers of a context, which retain none of them.
@Suite struct ContextListenersTests {
  /// A context that uses its parent at its end, as the block of a `BackgroundContext` may do.
  private final class LeavingContext: ManagedObjectContext, @unchecked Sendable {
    // Sendable: as the base class is, to which this class adds no state.
    deinit { _ = parent?.name }
  }

  @Test func `a context that uses its parent in its deinitialisation can be released while the parent lists it`() {
    let parent = ManagedObjectContext()
    let isDone = Atomic<Bool>(false)
    DispatchQueue.concurrentPerform(iterations: 2) { index in
      if index == 0 {
        for _ in 0..<20_000 { _ = LeavingContext(parent: parent) }
        isDone.store(true, ordering: .releasing)
      } else {
        while !isDone.load(ordering: .acquiring) { _ = (parent.listeners, parent.isParent) }
      }
    }
    #expect(parent.listeners.isEmpty)
    #expect(!parent.isParent)
  }

  @Test func `a released context leaves the lists of its parent and of a context that it follows`() {
    let parent = ManagedObjectContext()
    do {
      let child = ManagedObjectContext(parent: parent)
      let follower = ManagedObjectContext()
      follower.follow(parent)
      withExtendedLifetime((child, follower)) {
        #expect(parent.listeners.map { ObjectIdentifier($0) } == [ObjectIdentifier(child), ObjectIdentifier(follower)])
        #expect(parent.isParent)
      }
    }
    #expect(parent.listeners.isEmpty)
    #expect(!parent.isParent)
  }

  @Test func `a context that never saves does not keep the handles of its released children and followers`() {
    let context = ManagedObjectContext()
    for _ in 0..<1_000 {
      _ = ManagedObjectContext(parent: context)
      ManagedObjectContext().follow(context)
    }
    let (children, followers) = context.settings.withLock { ($0.children.count, $0.followers.count) }
    #expect(children < 100)
    #expect(followers < 100)
  }

  @Test func `a context that follows another context twice receives each save once`() {
    let context = ManagedObjectContext()
    let follower = ManagedObjectContext()
    for _ in 0..<2 { follower.follow(context) }
    #expect(context.listeners.map { ObjectIdentifier($0) } == [ObjectIdentifier(follower)])
  }
}
