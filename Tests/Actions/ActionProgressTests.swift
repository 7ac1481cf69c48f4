import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Dispatch
import Foundation
import Testing

@Suite("Progress of actions")
struct ActionProgressTests {
  private let stack: ConnectStack
  private var connect: TestConnect { stack.connect }

  init() throws { stack = try ConnectStack.started() }

  @Test func `a progress stream delivers the latest progress and ends with the action`() async throws {
    let gates = [MockScript(waits: true), MockScript(waits: true)]
    let handle = try connect.execute(
      ClosureAction(ConnectEntity1.self) { context in
        context.progress?.totalUnitCount = 4
        context.progress?.completedUnitCount = 1
        for gate in gates {
          try gate.run()
          context.progress?.completedUnitCount += 1
        }
      })
    await gates[0].untilBegun()
    #expect(handle.progress.completedUnitCount == 1 && handle.progress.totalUnitCount == 4)
    let updates = handle.progressUpdates
    gates[0].release()
    await gates[1].untilBegun()
    var seen: [Double] = []
    for await progress in updates {
      seen.append(progress.fractionCompleted)
      if progress.completedUnitCount == 2 { gates[1].release() }
    }
    #expect(seen.first == 0.5)
    #expect(seen.last == 0.75)
    try await handle.value
    #expect(handle.progress.fractionCompleted == 0.75)
  }

  @Test func `the completed fraction of a progress without a total is zero`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    var fractions: [Double] = []
    for await progress in handle.progressUpdates {
      fractions.append(progress.fractionCompleted)
      script.release()
    }
    #expect(fractions.first == 0)
    try await handle.waitUntilFinished()
  }

  @Test
  func `cancelling the progress cancels the action, and cancelling the action cancels the progress`() async throws {
    let script = MockScript(waits: true)
    let handle = try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    handle.progress.cancel()
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .canceled && script.cancelCount == 1)
    let other = try connect.execute(MockGenericAction(script: MockScript(waits: true)))
    let progress = other.progress
    other.cancel()
    try await other.waitUntilFinished()
    #expect(progress.isCancelled)
  }

  @Test func `under concurrent updates a progress stream delivers the latest progress last`() async throws {
    for _ in 0..<50 {
      let script = MockScript(waits: true)
      let handle = try connect.execute(MockGenericAction(script: script))
      await script.untilBegun()
      let updates = handle.progressUpdates
      await withTaskGroup(of: Void.self) { group in
        for task in 0..<4 {
          group.addTask { for step in 0..<50 { handle.progress.completedUnitCount = Int64(task * 50 + step) } }
        }
      }
      script.release()
      var last: ActionProgress?
      for await progress in updates { last = progress }
      #expect(last?.completedUnitCount == handle.progress.completedUnitCount)
    }
  }

  @Test func `the progress of a finished action can be read`() async throws {
    let handle = try connect.execute(TaskAction { AnyActionHandle.current?.progress.totalUnitCount = 7 })
    try await handle.value
    var last: ActionProgress?
    for await progress in handle.progressUpdates { last = progress }
    #expect(last?.totalUnitCount == 7)
  }

  @Test(.timeLimit(.minutes(15)))
  func `a blocked cancellation handler does not block the action's updates of its progress`() async throws {
    let script = MockScript(waits: true, ignoresCancel: true)
    let handle = try connect.execute(MockGenericAction(script: script))
    await script.untilBegun()
    let handler = MockScript(waits: true)
    handle.progress.cancellationHandler = { try? handler.run() }
    // A serial queue of its own: the cancelling thread blocks in the handler.
    DispatchQueue(label: "test.cancel").async { handle.progress.cancel() }
    await handler.untilBegun()
    handle.progress.completedUnitCount = 7
    #expect(handle.progress.completedUnitCount == 7)
    handler.release()
    await script.untilCanceled()
    script.release()
    try await handle.waitUntilFinished()
    #expect(handle.completionStatus == .canceled)
    #expect(handler.runCount == 1)
  }

  @Test(.timeLimit(.minutes(15)))
  func `a cancellation handler that is set on a cancelled progress is called once`() async throws {
    let handle = try connect.execute(MockGenericAction(script: MockScript(waits: true)))
    handle.progress.cancel()
    try await handle.waitUntilFinished()
    let handler = MockScript()
    handle.progress.cancellationHandler = { try? handler.run() }
    await handler.untilBegun()
    handle.progress.cancel()
    #expect(handler.runCount == 1)
  }
}
