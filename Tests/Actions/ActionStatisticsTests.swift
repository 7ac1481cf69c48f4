import CoherenceActions
import CoherenceCore
import Synchronization
import Testing

@Suite("Statistics of actions")
struct ActionStatisticsTests {
  @Test func `a pending action has no start time and no finish time`() throws {
    let stack = try ConnectStack()
    stack.connect.suspended = true
    let proxy = try stack.connect.execute(MockGenericAction())
    #expect(proxy.statistics.startTime == nil)
    #expect(proxy.statistics.finishTime == nil)
    #expect(proxy.statistics.executionTime == 0)
    #expect(proxy.statistics.contextStatistics == nil)
    #expect(
      "\(proxy.statistics)" == """
        {
          executionTime: 0.0000
          startTime: (not started)
          finishTime: (not started)
        }
        """)
    proxy.cancel()
  }

  @Test func `statistics count the saved and fetched records`() async throws {
    let stack = try ConnectStack.started()
    let proxy = try stack.connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try context.performAndWait {
          for id in 1...5 { context.insert(ConnectEntity1.make(Int64(id), "Insert")) }
          try context.save()
          let objects = try context.fetch(FetchRequest(ConnectEntity1.self))
          for object in objects.prefix(3) { object.string = "Update" }
          context.delete(objects[4])
          try context.save()
        }
      })
    try await proxy.waitUntilFinished()
    let statistics = try #require(proxy.statistics.contextStatistics)
    #expect(statistics.inserts == 5)
    #expect(statistics.fetches == 5)
    #expect(statistics.updates == 3)
    #expect(statistics.deletes == 1)
    #expect(statistics.contextBlockTime > 0)
    #expect(statistics.fetchTime > 0 && statistics.saveTime > 0)
    #expect(statistics.otherTime >= 0)
    #expect(proxy.statistics.executionTime >= statistics.contextBlockTime)
    let text = "\(proxy.statistics)"
    #expect(text.contains("{ inserts: 5, updates: 3, deletes: 1 }") && text.contains("{ fetches: 5 }"), "\(text)")
    #expect(!text.contains("joins") && !text.contains("replaced") && !text.contains("unsavedChanges"))
    #expect(!text.contains("(not started)") && !text.contains("(not finished)"))
  }

  @Test func `a failed action has statistics, which do not count unsaved changes`() async throws {
    let stack = try ConnectStack.started()
    let proxy = try stack.connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try context.performAndWait {
          context.insert(ConnectEntity1.make(1, "Insert"))
          try context.save()
          try context.insertNewObject(forEntityName: "ConnectEntity1").setValue(nil, for: "stringAttribute")
          try context.save()
        }
      })
    try await proxy.waitUntilFinished()
    #expect(proxy.completionStatus == .failed)
    let statistics = try #require(proxy.statistics.contextStatistics)
    #expect(statistics.inserts == 1)
    #expect(statistics.saveTime > 0)
  }

  @Test func `statistics can be read during the execution`() async throws {
    let stack = try ConnectStack.started()
    let script = MockScript(waits: true)
    let proxy = try stack.connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        try context.performAndWait {
          context.insert(ConnectEntity1.make(1, "Insert"))
          try context.save()
        }
        try script.run()
      })
    await script.untilBegun()
    #expect(proxy.statistics.contextStatistics?.inserts == 1)
    #expect(proxy.statistics.finishTime == nil && proxy.statistics.executionTime == 0)
    let text = "\(proxy.statistics)"
    #expect(text.contains("finishTime: (not finished)") && !text.contains("(not started)"), "\(text)")
    script.release()
    try await proxy.waitUntilFinished()
    #expect(proxy.statistics.finishTime != nil)
  }

  @Test func `statistics add up the work of all attempts`() async throws {
    let stack = try ConnectStack.started()
    let attempts = Mutex(0)
    let proxy = try stack.connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        let attempt = attempts.withLock { count in
          count += 1
          return count
        }
        try context.performAndWait {
          context.insert(ConnectEntity1.make(Int64(attempt), "Insert"))
          try context.save()
          let objects = try context.fetch(FetchRequest(ConnectEntity1.self))
          for object in objects { object.string = "Update \(attempt)" }
          try context.save()
          if attempt > 1 { context.delete(objects[0]) }
          try context.save()
        }
        if attempt < 3 { throw MockError() }
      }, options: ActionOptions(retry: RetryPolicy(attempts: 3, initialDelay: .zero)))
    try await proxy.waitUntilFinished()
    #expect(proxy.completionStatus == .successful && proxy.statistics.attempts == 3)
    let statistics = try #require(proxy.statistics.contextStatistics)
    // The second attempt finds two records and deletes one of them, and so does the third.
    #expect(statistics.inserts == 3 && statistics.fetches == 5)
    #expect(statistics.updates == 5 && statistics.deletes == 2)
  }

  @Test func `an action that never ran has a start and an end, and no attempt`() async throws {
    let stack = try ConnectStack.started()
    stack.connect.suspended = true
    let proxy = try stack.connect.execute(MockEntityAction<ConnectEntity1>())
    proxy.cancel()
    try await proxy.waitUntilFinished()
    let statistics = proxy.statistics
    #expect(statistics.startTime != nil && statistics.finishTime != nil && statistics.executionTime >= 0)
    #expect(statistics.attempts == 0 && statistics.contextStatistics == nil)
  }
}
