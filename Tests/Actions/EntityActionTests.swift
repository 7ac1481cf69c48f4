import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Foundation
import Synchronization
import Testing
import TestSupport

@Suite("Entity actions")
struct EntityActionTests {
  @Test func `an action on a managed entity succeeds`() async throws {
    let stack = try ConnectStack.started()
    let proxy = try stack.connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try context.performAndWait {
          _ = try context.merge(objects: [ConnectEntity1](), for: ConnectModels.main.entity(for: ConnectEntity1.self))
        }
      })
    try await proxy.waitUntilFinished()
    #expect(proxy.error == nil)
    #expect(proxy.completionStatus == .successful)
  }

  @Test func `an action that throws fails with its error`() async throws {
    let stack = try ConnectStack.started()
    let proxy = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: MockScript(fails: true)))
    try await proxy.waitUntilFinished()
    #expect(proxy.error is MockError)
    #expect(proxy.completionStatus == .failed)
  }

  @Test func `an action on an unmanaged entity is refused`() throws {
    let stack = try ConnectStack.started()
    #expect { try stack.connect.execute(MockEntityAction<ConnectEntity3Unmanaged>()) } throws: { error in
      ErrorCode.unmanagedEntity ~= error
        && "\(error)".contains("Entity 'ConnectEntity3Unmanaged' not managed by Connect: no attribute identifies")
    }
  }

  @Test func `an action on an abstract, unstored, keyless or unknown entity is refused`() throws {
    let model = try ManagedObjectModel(
      entities: [
        Entity("Idea", isAbstract: true, userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) },
        Entity("Thing", parent: "Idea") {},
        Entity("Elsewhere", userInfo: ["uniquenessAttributes": "id"]) { Attribute("id", .int64) },
        Entity("Wrong", userInfo: ["uniquenessAttributes": "id,missing"]) { Attribute("id", .int64) },
      ], configurations: ["Here": ["Idea", "Thing", "Wrong"]])
    let stack = try ConnectStack(model)
    try stack.connect.attachPersistentStore(for: StoreConfiguration(name: "Here", type: .inMemory))
    try stack.connect.start()
    try stack.connect.execute(NamedAction(entityName: "Thing", script: MockScript()))
    for (name, reason) in [
      ("Idea", "abstract"), ("Elsewhere", "no attached store"), ("Wrong", "missing"), ("Nobody", "no such entity"),
    ] {
      #expect {
        try stack.connect.execute(NamedAction(entityName: name, script: MockScript()))
      } throws: { error in
        ErrorCode.unmanagedEntity ~= error && "\(error)".contains("Entity '\(name)' not managed by Connect")
          && "\(error)".contains(reason)
      }
    }
  }

  @Test func `before the start and after the stop no entity is managed`() throws {
    let stack = try ConnectStack()
    try stack.connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    #expect { try stack.connect.execute(MockEntityAction<ConnectEntity1>()) } throws: {
      ErrorCode.unmanagedEntity ~= $0 && "\($0)".contains("is not started")
    }
    try stack.connect.start()
    try stack.connect.execute(MockEntityAction<ConnectEntity1>())
    try stack.connect.stop()
    #expect { try stack.connect.execute(MockEntityAction<ConnectEntity1>()) } throws: {
      ErrorCode.unmanagedEntity ~= $0 && "\($0)".contains("is not started")
    }
  }

  @Test func `an entity action cancelled before or during its execution counts as cancelled`() async throws {
    let stack = try ConnectStack.started()
    let running = MockScript(waits: true, fails: true)
    let waiting = MockScript()
    let first = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: running))
    let second = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: waiting))
    await running.untilBegun()
    #expect(second.state == .pending)
    second.cancel()
    try await second.waitUntilFinished()
    #expect(second.completionStatus == .canceled)
    #expect(waiting.runCount == 0)
    #expect(first.state == .executing)
    first.cancel()
    try await first.waitUntilFinished()
    #expect(first.completionStatus == .canceled)
    #expect(first.error is MockError)
  }

  @Test func `actions on one entity run one after the other, in order`() async throws {
    let stack = try ConnectStack.started()
    let log = OrderLog()
    let proxies = try (0..<20).map { number in
      try stack.connect.execute(ClosureAction(ConnectEntity1.self) { _ in log.enter(number) })
    }
    for proxy in proxies { try await proxy.waitUntilFinished() }
    #expect(log.numbers == Array(0..<20))
  }

  @Test func `actions on one hierarchy run one after the other, beside actions on other hierarchies`() async throws {
    let stack = try ConnectStack.started(try HierarchyModel.make())
    let parent = MockScript(waits: true)
    let child = MockScript()
    let first = try stack.connect.execute(NamedAction(entityName: "Parent", script: parent))
    let second = try stack.connect.execute(NamedAction(entityName: "Child", script: child))
    let other = try stack.connect.execute(NamedAction(entityName: "Other", script: MockScript()))
    try await other.waitUntilFinished()
    #expect(second.state == .pending)
    parent.release()
    try await second.waitUntilFinished()
    #expect(first.state == .finished)
    #expect(child.runCount == 1)
  }

  @Test func `attaching a second store with the same entities keeps their queue`() async throws {
    let stack = try ConnectStack.started()
    let script = MockScript(waits: true)
    let running = try stack.connect.execute(MockEntityAction<ConnectEntity1>(script: script))
    await script.untilBegun()
    let store = try stack.connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    let next = try stack.connect.execute(MockEntityAction<ConnectEntity1>())
    #expect(next.state == .pending)
    try await stack.connect.detach(persistentStore: store)
    #expect(running.state == .executing)
    #expect(next.state == .pending)
    script.release()
    try await next.waitUntilFinished()
    #expect(running.completionStatus == .successful)
    #expect(next.completionStatus == .successful)
  }

  @Test func `an asynchronous entity action works in its context and returns a value`() async throws {
    struct Count: AsyncEntityAction {
      typealias ManagedObjectType = ConnectEntity1
      func execute(context: ActionContext) async throws -> Int {
        try await context.perform {
          context.insert(ConnectEntity1.make(1, "one"))
          try context.save()
          return try context.count(for: FetchRequest(ConnectEntity1.self))
        }
      }
    }
    let stack = try ConnectStack.started()
    let handle = try stack.connect.execute(Count())
    #expect(try await handle.value == 1)
    #expect(handle.statistics.contextStatistics?.inserts == 1)
  }
}

/// An action on an entity without a class of its own.
private struct NamedAction: EntityAction {
  typealias ManagedObjectType = ManagedObject
  let entityName: String?
  let script: MockScript
  func execute(context: ActionContext) throws { try script.run() }
}

final class OrderLog: Sendable {
  private let entries = Mutex<[Int]>([])
  var numbers: [Int] { entries.withLock { $0 } }
  func enter(_ number: Int) { entries.withLock { $0.append(number) } }
}

enum HierarchyModel {
  static func make() throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Child", parent: "Parent") { Attribute("age", .int64, optional: true) }
      Entity("Parent", userInfo: ["uniquenessAttributes": " id "]) { Attribute("id", .int64, optional: true) }
      Entity("Other", uniqueness: [["code", "id"], ["code"]]) {
        Attribute("id", .int64, optional: true)
        Attribute("code", .string, optional: true)
      }
    }
  }
}
