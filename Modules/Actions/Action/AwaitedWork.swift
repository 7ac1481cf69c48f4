import Synchronization

/// Work outside of actions whose parts may wait for actions, and for whose end actions may wait: the handlers of a
/// forwarder, or the attempts of a worker of persisted actions.
package final class AwaitedWork: Sendable {
  /// A part of the work.
  final class Part: Sendable {
    let work: AwaitedWork
    private let ended = Atomic<Bool>(false)

    init(_ work: AwaitedWork) { self.work = work }

    var hasEnded: Bool { ended.load(ordering: .acquiring) }
    func end() { ended.store(true, ordering: .releasing) }
  }

  @TaskLocal private static var executing: Part?

  /// The running part that the present task executes; `nil` outside of such parts. A task that a part makes with
  /// `Task { }` belongs to the part.
  static var currentPart: Part? { executing.flatMap { $0.hasEnded ? nil : $0 } }

  /// Whether the caller belongs to a running part of any work, so that its waits for actions are checked for deadlock.
  package static var hasCurrentPart: Bool { currentPart != nil }

  package init() {}

  /// Whether the caller belongs to a running part of the work, so that the caller must not wait for the work.
  package var isCurrent: Bool { Self.currentPart?.work === self }

  /// Runs a part of the work.
  package func run<T>(_ body: () async throws -> T) async rethrows -> T {
    let part = Part(self)
    defer { part.end() }
    return try await Self.$executing.withValue(part, operation: body)
  }

  /// Runs a block that waits for the end of the work. A wait inside of an action, or of a part of any work, is checked
  /// for deadlock.
  ///
  /// - Throws: ``ErrorCode/deadlock`` before the block runs, when the caller belongs to the work, and when a part of the
  ///   work waits for the caller, directly or through other waits; errors of the block.
  package func wait<T>(_ body: () async throws -> T) async throws -> T {
    let wait = try WaitGraph.Waiter.current?.beginWait(forEndOf: self)
    defer { wait?.end() }
    return try await body()
  }
}
