import CoherenceActions
import CoherenceCore
import Dispatch
import Foundation
import Testing

/// Calls that block the main actor for actions that need the main actor.
///
/// Each test is a process of its own. In a deadlock the process ends with a failure after a minute.
@Suite("Stopping on the main actor")
struct StoppingOnMainTests {
  @Test func `a blocking stop on the main actor throws when an action awaits the view context, and continues`() async {
    await #expect(processExitsWith: .success) {
      Self.endWhenStuck()
      let stack = try ConnectStack.started()
      let connect = stack.connect
      let handle = try await MainActor.run {
        let handle = try connect.execute(TaskAction { try await connect.viewContext.perform { 3 } })
        #expect(Self.refusal(of: connect, .drain)?.code == .illegalState)
        return handle
      }
      let value = try await handle.value
      #expect(value == 3)
      try await connect.stop(.drain)
      #expect(connect.state == .stopped)
    }
  }

  @Test func `a blocking stop on the main actor throws when an action blocks on the view context`() async {
    await #expect(processExitsWith: .success) {
      Self.endWhenStuck()
      let stack = try ConnectStack.started()
      let connect = stack.connect
      let handle = try await MainActor.run {
        let handle = try connect.execute(
          ClosureAction(ConnectEntity1.self) { _ in connect.viewContext.performAndWait {} })
        #expect(Self.refusal(of: connect, .drain)?.code == .illegalState)
        return handle
      }
      try await handle.waitUntilFinished()
      try await connect.stop()
      #expect(connect.state == .stopped)
    }
  }

  @Test func `a blocking stop on the main actor waits for actions that do not need the main actor`() async {
    await #expect(processExitsWith: .success) {
      Self.endWhenStuck()
      let stack = try ConnectStack.started()
      let connect = stack.connect
      let handle = try await MainActor.run {
        let handle = try connect.execute(
          ClosureAction(ConnectEntity1.self) { context in
            try context.performAndWait {
              context.insert(ConnectEntity1.make(1, "one"))
              try context.save()
            }
          })
        #expect(Self.refusal(of: connect, .drain) == nil)
        return handle
      }
      #expect(handle.completionStatus == .successful && connect.state == .stopped)
    }
  }

  @Test func `a blocking stop off the main actor waits for actions that need the main actor`() async {
    await #expect(processExitsWith: .success) {
      Self.endWhenStuck()
      let stack = try ConnectStack.started()
      let connect = stack.connect
      let (begun, asked) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let handle = try connect.execute(
        ClosureAction(ConnectEntity1.self) { _ in
          begun.signal()
          asked.wait()
          // Many waits: some begin after the stop has begun to wait.
          for _ in 0..<1_000 { connect.viewContext.performAndWait {} }
        })
      let events = connect.events
      let refusals = AsyncStream<CoherenceError?>.makeStream()
      // A thread of its own: the stop blocks it, and the tasks may share one thread.
      Thread.detachNewThread {
        begun.wait()
        refusals.continuation.yield(Self.refusal(of: connect, .drain))
      }
      for await case .stateChanged(.stopping) in events { break }
      asked.signal()
      for await refusal in refusals.stream {
        #expect(refusal == nil)
        break
      }
      #expect(handle.completionStatus == .successful && connect.state == .stopped)
    }
  }

  /// The error of a blocking stop; `nil` on success.
  private static func refusal(of connect: TestConnect, _ mode: StopMode) -> CoherenceError? {
    do {
      try connect.stop(mode)
      return nil
    } catch {
      return error as? CoherenceError
    }
  }

  /// Ends the process with a failure after a minute.
  private static func endWhenStuck() {
    Thread.detachNewThread {
      _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .seconds(60))
      exit(3)
    }
  }
}
