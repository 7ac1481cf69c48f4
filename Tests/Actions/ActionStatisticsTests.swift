import CoherenceActions
import CoherenceCore
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
    #expect(proxy.statistics.finishTime == nil)
    script.release()
    try await proxy.waitUntilFinished()
    #expect(proxy.statistics.finishTime != nil)
  }
}
