import CBench
import Coherence
import Foundation
import Logging

extension Workbench {
  /// Measures no-op actions, which one thread submits and awaits. The started Connect posts notifications of each
  /// action.
  func actionMeasure() -> Measure {
    let count = 200_000
    let name = "Coherence, blocking generic actions"
    return Measure(
      name: "actions", title: "No-op actions, submitted and finished", items: count, item: "action",
      sides: [
        Side(name: name, role: .ours) { try Self.run(count) { try $0.execute(NoOpAction()) } },
        Side(name: "Coherence, asynchronous generic actions", role: .ours) {
          try Self.run(count) { try $0.execute(AsyncNoOpAction()) }
        },
        Side(name: "Coherence, until all notifications are posted", role: .ours) {
          try Self.run(count, untilPosted: true) { try $0.execute(NoOpAction()) }
        },
      ],
      // 500,000 in a second.
      goals: [.each(of: name, atMost: 2e-6)])
  }

  /// The memory of a proxy while its action waits in a suspended queue, with the action and its entry in the queue.
  func actionMemoryMeasure() -> Measure {
    let count = 100_000
    let name = "Coherence, queued proxies"
    return Measure(
      name: "actions-memory", title: "Memory of a queued action", unit: .bytes, items: count, item: "proxy",
      sides: [Side(name: name, role: .ours) { try Self.queuedMemory(count) }],
      goals: [.each(of: name, atMost: 1024)])
  }

  private typealias BenchConnect = GenericConnect<ContextStrategy.Mixed>

  private static func startedConnect() throws -> BenchConnect {
    let model = try ManagedObjectModel {
      Entity("Item", userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) }
    }
    let connect = BenchConnect(
      name: "Actions", managedObjectModel: model,
      logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try connect.start()
    return connect
  }

  private static func run(
    _ count: Int, untilPosted waitsForNotifications: Bool = false, _ submit: (BenchConnect) throws -> AnyActionHandle
  ) throws -> Sample {
    let connect = try startedConnect()
    let sample = try Stopwatch.sample {
      let done = DispatchSemaphore(value: 0)
      var handles: [AnyActionHandle] = []
      handles.reserveCapacity(count)
      for _ in 0..<count { handles.append(try submit(connect)) }
      Task { [handles] in
        // Waits in reverse order, because most actions have finished when the last action has.
        for handle in handles.reversed() { try await handle.waitUntilFinished() }
        done.signal()
      }
      done.wait()
      guard handles.allSatisfy({ $0.completionStatus == .successful }) else {
        throw BenchError("An action did not succeed.")
      }
      if waitsForNotifications { try untilPosted(connect) }
      return (UInt64(handles.count), handles)
    }
    try untilPosted(connect)
    try connect.stop()
    return sample
  }

  /// Waits until all notifications are posted, so that they do not disturb the next run.
  private static func untilPosted(_ connect: BenchConnect) throws {
    // Notifications are posted in batches. The completion of an action may run before the posting of its batch has
    // ended.
    for _ in 0..<2 {
      let done = DispatchSemaphore(value: 0)
      try connect.execute(NoOpAction()) { _ in done.signal() }
      done.wait()
    }
  }

  private static func queuedMemory(_ count: Int) throws -> Sample {
    let connect = try startedConnect()
    connect.suspended = true
    var proxies: [any ActionProxy] = []
    proxies.reserveCapacity(count)
    let before = benchAllocatedBytes()
    for _ in 0..<count { proxies.append(try connect.execute(AsyncNoOpAction())) }
    let after = benchAllocatedBytes()
    for proxy in proxies { proxy.cancel() }
    proxies = []
    connect.suspended = false
    try untilPosted(connect)
    try connect.stop()
    return Sample(amount: Double(after) - Double(before), checksum: UInt64(count))
  }
}

private struct NoOpAction: GenericAction {
  func execute() throws {}
}

private struct AsyncNoOpAction: AsyncGenericAction {
  func execute() async throws {}
}
