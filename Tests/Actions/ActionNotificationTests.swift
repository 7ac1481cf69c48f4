import CoherenceActions
import CoherenceCore
import Foundation
import Synchronization
import Testing

@Suite("Notifications of actions")
struct ActionNotificationTests {
  @Test func `start notification, finish notification and completion block follow in this order`() async throws {
    let stack = try ConnectStack.started()
    let (stream, continuation) = AsyncStream<String>.makeStream()
    let observers = [
      observe(Notification.ActionDidStartExecuting, of: stack.connect) { _ in continuation.yield("start") },
      observe(Notification.ActionDidFinishExecuting, of: stack.connect) { proxy in
        continuation.yield("finish \(proxy.state) \(proxy.completionStatus)")
      },
    ]
    defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
    try stack.connect.execute(MockGenericAction()) { _ in
      continuation.yield("completion")
      continuation.finish()
    }
    var events: [String] = []
    for await event in stream { events.append(event) }
    #expect(events == ["start", "finish finished successful", "completion"])
  }

  @Test func `an action that never ran posts the same notifications`() async throws {
    let stack = try ConnectStack.started()
    stack.connect.suspended = true
    let (stream, continuation) = AsyncStream<String>.makeStream()
    let observers = [
      observe(Notification.ActionDidStartExecuting, of: stack.connect) { _ in continuation.yield("start") },
      observe(Notification.ActionDidFinishExecuting, of: stack.connect) { proxy in
        continuation.yield("finish \(proxy.completionStatus)")
      },
    ]
    defer { for observer in observers { NotificationCenter.default.removeObserver(observer) } }
    let proxy = try stack.connect.execute(MockGenericAction()) { _ in continuation.finish() }
    proxy.cancel()
    var events: [String] = []
    for await event in stream { events.append(event) }
    #expect(events == ["start", "finish canceled"])
  }

  private func observe(
    _ name: Notification.Name, of connect: TestConnect, _ body: @escaping @Sendable (any ActionProxy) -> Void
  ) -> any NSObjectProtocol {
    NotificationCenter.default.addObserver(forName: name, object: connect, queue: nil) { notification in
      if let proxy = notification.userInfo?[Notification.Key.ActionProxy] as? any ActionProxy { body(proxy) }
    }
  }
}
