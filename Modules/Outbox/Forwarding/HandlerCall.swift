import Synchronization

/// A running call of a handler, by which a call of the outbox finds out that a handler has made it: a forwarder waits
/// for the handler, so that the handler must not wait for the forwarder.
final class HandlerCall: Sendable {
  /// The call of which the present task is a part; `nil` outside of handlers. A task that a handler makes with
  /// `Task { }` is a part of its call.
  @TaskLocal private static var current: HandlerCall?

  private let messages: ForwardMessages
  private let hasEnded = Atomic<Bool>(false)

  /// - Parameter messages: The messages of the forwarder that makes the call.
  private init(_ messages: ForwardMessages) { self.messages = messages }

  /// Runs the call of a handler.
  ///
  /// - Parameter messages: The messages of the forwarder that makes the call.
  static func run<T>(by messages: ForwardMessages, _ body: () async -> T) async -> T {
    let call = HandlerCall(messages)
    defer { call.hasEnded.store(true, ordering: .releasing) }
    return await $current.withValue(call, operation: body)
  }

  /// Whether the caller is a part of a running call that a forwarder has made.
  static func isRunning(by messages: ForwardMessages) -> Bool {
    guard let current, current.messages === messages else { return false }
    return !current.hasEnded.load(ordering: .acquiring)
  }
}
