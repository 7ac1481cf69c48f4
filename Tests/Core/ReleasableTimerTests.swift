import Testing

@testable import CoherenceCore

/// The timers behind the limits of streams and of pinned snapshots.
@Suite struct ReleasableTimerTests {
  private final class Token: Sendable {}
  private struct WeakToken { weak var token: Token? }
  private struct WeakWatch { weak var watch: SnapshotWatch? }

  /// Starts a timer of an hour, whose block retains the returned object.
  private func start(_ timer: ReleasableTimer) -> WeakToken {
    let token = Token()
    timer.start(after: .seconds(3_600)) { withExtendedLifetime(token) {} }
    return WeakToken(token: token)
  }

  @Test func `a cancelled timer of an hour releases its block`() async {
    let timer = ReleasableTimer()
    let held = start(timer)
    let isHeld = held.token != nil
    #expect(isHeld)
    timer.cancel()
    while held.token != nil { await Task.yield() }
  }

  @Test func `a timer of an hour that is started again, or is released, releases its block`() async {
    let timer = ReleasableTimer()
    let (first, second) = (start(timer), start(timer))
    while first.token != nil { await Task.yield() }
    let isHeld = second.token != nil
    #expect(isHeld)
    withExtendedLifetime(timer) {}
    let released = start(ReleasableTimer())
    while released.token != nil { await Task.yield() }
  }

  @Test(arguments: [Duration.zero, .seconds(-1), .milliseconds(1)])
  func `a timer runs its block after its time`(time: Duration) async {
    let timer = ReleasableTimer()
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      timer.start(after: time) { continuation.resume() }
    }
    withExtendedLifetime(timer) {}
  }

  @Test func `the end of a pinned snapshot ends the wait for its limit of an hour`() throws {
    let model = try ManagedObjectModel { Entity("Item") { Attribute("name", .string, optional: true) } }
    let context = ManagedObjectContext(coordinator: try PersistentStoreCoordinator(inMemory: model))
    try context.performAndWait {
      for _ in 0..<3 {
        try context.pinSnapshot(unreadLimit: .seconds(3_600))
        let held = WeakWatch(watch: context.storage.pinning.watch)
        let isWatched = held.watch != nil
        context.unpinSnapshot()
        let isReleased = held.watch == nil
        #expect(isWatched && isReleased)
      }
    }
  }
}
