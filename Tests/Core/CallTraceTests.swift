import Foundation
import Testing

@testable import CoherenceCore

/// Traces of calls, for reports.
@Suite struct CallTraceTests {
  @Test func `a trace of calls is made on each kind of thread, and ends on the stack of the thread`() async throws {
    // The outer frames of these threads belong to libraries, whose frame pointers may have any value.
    DispatchQueue.concurrentPerform(iterations: 64) { _ in _ = CallTrace() }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<64 { group.addTask { _ = CallTrace() } }
    }
    await withCheckedContinuation { continuation in
      Thread.detachNewThread {
        for _ in 0..<64 { _ = CallTrace() }
        continuation.resume()
      }
    }
  }

  #if os(Linux)
    @Test func `the location of a trace is the innermost call outside of the framework`() throws {
      let location = try #require(CallTrace()?.location)
      #expect(location.contains("CallTrace"), "\(location)")
    }
  #endif
}
