import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CoherenceCore

/// The main actor that waits for a context whose own block waits for the main actor.
///
/// Each test is a process of its own: where the two wait for each other, it ends with another code after a minute.
@Suite struct MainWaitTests {
  @Test(arguments: [true, false])
  func `the main actor runs the block for main of the context that it waits for`(hopIsFirst: Bool) async {
    await #expect(processExitsWith: .success) { [hopIsFirst = hopIsFirst as Bool] in
      Self.endWhenStuck()
      try await MainActor.run {
        let (view, child, _) = try Self.contexts()
        let (hasBegun, order) = (DispatchSemaphore(value: 0), Order())
        child.perform(onError: { fatalError("\($0)") }) {
          hasBegun.signal()
          if !hopIsFirst { while !WorkerPool.shared.isMainWaiting { sched_yield() } }
          try view.performAndWait {
            MainActor.assertIsolated()
            order.note("hop")
            _ = try view.insertNewObject(forEntityName: "Thing")
          }
          order.note("block")
        }
        hasBegun.wait()
        if hopIsFirst { while WorkerPool.shared.hopCount == 0 { sched_yield() } }
        child.performAndWait { order.note("main") }
        #expect(order.notes == ["hop", "block", "main"])
        #expect(view.insertedObjects.count == 1)
      }
    }
  }

  @Test func `the main actor runs a block for main that a chain of waiting contexts leads to`() async {
    await #expect(processExitsWith: .success) {
      Self.endWhenStuck()
      try await MainActor.run {
        let (view, child, other) = try Self.contexts()
        let (hasBegun, order) = (DispatchSemaphore(value: 0), Order())
        let otherHasBegun = DispatchSemaphore(value: 0)
        other.perform(onError: { fatalError("\($0)") }) {
          otherHasBegun.signal()
          while !WorkerPool.shared.isMainWaiting { sched_yield() }
          view.performAndWait { order.note("hop") }
        }
        otherHasBegun.wait()
        child.perform(onError: { fatalError("\($0)") }) {
          hasBegun.signal()
          other.performAndWait { order.note("chain") }
        }
        hasBegun.wait()
        child.performAndWait { order.note("main") }
        #expect(order.notes == ["hop", "chain", "main"])
      }
    }
  }

  @Test func `a block for main that runs in a wait of the main actor may wait for another context`() async {
    await #expect(processExitsWith: .success) {
      Self.endWhenStuck()
      try await MainActor.run {
        let (view, child, other) = try Self.contexts()
        let (hasBegun, order) = (DispatchSemaphore(value: 0), Order())
        let otherHasBegun = DispatchSemaphore(value: 0)
        other.perform(onError: { fatalError("\($0)") }) {
          otherHasBegun.signal()
          while order.notes != ["outer"] { sched_yield() }
          view.performAndWait { order.note("inner") }
        }
        otherHasBegun.wait()
        child.perform(onError: { fatalError("\($0)") }) {
          hasBegun.signal()
          view.performAndWait {
            order.note("outer")
            other.performAndWait { order.note("other") }
          }
        }
        hasBegun.wait()
        child.performAndWait { order.note("main") }
        #expect(order.notes == ["outer", "inner", "other", "main"])
      }
    }
  }

  @Test func `the main actor that waits for a context runs no block for main of another thread`() async {
    await #expect(processExitsWith: .success) {
      Self.endWhenStuck()
      let order = Order()
      let isDone = DispatchSemaphore(value: 0)
      try await MainActor.run {
        let (view, child, _) = try Self.contexts()
        let hasBegun = DispatchSemaphore(value: 0)
        child.perform(onError: { fatalError("\($0)") }) {
          hasBegun.signal()
          while !WorkerPool.shared.isMainWaiting || WorkerPool.shared.hopCount == 0 { sched_yield() }
        }
        hasBegun.wait()
        Thread.detachNewThread {
          view.performAndWait { order.note("stranger") }
          isDone.signal()
        }
        child.performAndWait { order.note("main") }
        order.note("still main")
      }
      await Task.detached { isDone.wait() }.value
      #expect(order.notes == ["main", "still main", "stranger"])
    }
  }

  @Test func `a parent's block that waits for the main actor fails while main saves into the parent`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      Self.endWhenStuck()
      try await MainActor.run {
        let coordinator = try Self.coordinator()
        let root = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
        let view = ManagedObjectContext(concurrencyType: .mainQueue, parent: root)
        _ = try view.insertNewObject(forEntityName: "Thing")
        let hasBegun = DispatchSemaphore(value: 0)
        root.perform(onError: { fatalError("\($0)") }) {
          hasBegun.signal()
          while !WorkerPool.shared.isMainWaiting { sched_yield() }
          view.performAndWait {}
        }
        hasBegun.wait()
        try view.save()
      }
    }
    let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(said.contains("would wait forever") && said.contains("Use `perform`"))
  }

  // MARK: Stage

  /// Ends a stuck process after a minute.
  private static func endWhenStuck() {
    Thread.detachNewThread {
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .seconds(60))
      exit(3)
    }
  }

  /// The order in which blocks ran.
  private final class Order: Sendable {
    private let list = Mutex<[String]>([])
    var notes: [String] { list.withLock { $0 } }
    func note(_ text: String) { list.withLock { $0.append(text) } }
  }

  private static func coordinator() throws -> PersistentStoreCoordinator {
    try PersistentStoreCoordinator(inMemory: ManagedObjectModel { Entity("Thing") })
  }

  /// A main-queue context, a child of it, and another one.
  private static func contexts() throws -> (
    view: ManagedObjectContext, child: ManagedObjectContext, other: ManagedObjectContext
  ) {
    let coordinator = try Self.coordinator()
    let view = ManagedObjectContext(concurrencyType: .mainQueue, coordinator: coordinator)
    return (
      view, ManagedObjectContext(concurrencyType: .privateQueue, parent: view),
      ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
    )
  }
}
