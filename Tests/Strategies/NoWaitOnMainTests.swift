import CoherenceCore
import CoherenceStrategies
import Dispatch
import Foundation
import Synchronization
import Testing
import TestSupport

/// No wait on main: a background save returns while the main actor is busy.
@MainActor
@Suite("No wait on main", .serialized)
struct NoWaitOnMainTests {
  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `a background context fetches and saves while the main thread is blocked`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try Stack(strategy, on: backend)
    let known = try stack.saveUser(named: "ada")
    let shown = try stack.view.user(known)
    #expect(shown.userName == "ada")

    let outcome = try Self.blockingMain { [container = stack.container] in
      let background = container.newBackgroundContext()
      try background.performAndWait {
        try background.user(known).userName = "grace"
        _ = try ContainerUser.insert(named: "hedy", into: background)
        try background.save()
        #expect(try background.count(for: FetchRequest(ContainerUser.self)) == 2)
      }
    }
    #expect(outcome == .success, "The save waited for the main thread.")
    // The yield ends the main actor's turn, with the state of the stores that the view has read.
    await Task.yield()
    // The view of independent contexts does not follow.
    #expect(try stack.view.user(known).userName == (strategy == .directIndependent ? "ada" : "grace"))
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 2)
  }

  @Test(arguments: StrategyKind.allCases)
  func `a background context of a view with edits saves while the main thread is blocked`(
    strategy: StrategyKind
  ) throws {
    let stack = try Stack(strategy, on: .sqlite)
    let known = try stack.saveUser(named: "ada")
    try stack.view.user(known).firstName = "edited"
    let outcome = try Self.blockingMain { [container = stack.container] in
      let background = container.newBackgroundContext()
      try background.performAndWait {
        try background.user(known).lastName = "changed"
        try background.save()
      }
    }
    #expect(outcome == .success, "The save waited for the main thread.")
    #expect(try stack.view.user(known).firstName == "edited")
  }

  @Test(arguments: [StrategyKind.indirectNested, .mixed])
  func `the cost of posting to the view does not grow with its unread changes`(strategy: StrategyKind) throws {
    let stack = try Stack(strategy, on: .inMemory)
    let outcome = try Self.blockingMain { [container = stack.container] in
      let background = container.newBackgroundContext()
      try background.performAndWait {
        for round in 0..<11 {
          for number in 0..<1_000 {
            _ = try ContainerUser.insert(named: "\(round)-\(number)", into: background)
          }
          try background.save()
        }
      }
    }
    #expect(outcome == .success)
    #expect(try stack.view.count(for: FetchRequest(ContainerUser.self)) == 11_000)
  }

  /// Blocks the main thread until work on another thread has ended.
  private static func blockingMain(_ work: @escaping @Sendable () throws -> Void) throws -> DispatchTimeoutResult {
    let done = DispatchSemaphore(value: 0)
    let failure = Mutex<(any Error)?>(nil)
    // Not on a queue: queues share threads with other tests.
    Thread.detachNewThread {
      do { try work() } catch { failure.withLock { $0 = error } }
      done.signal()
    }
    let outcome = done.wait(timeout: .now() + 30)
    if let error = failure.withLock({ $0 }) { throw error }
    return outcome
  }
}
