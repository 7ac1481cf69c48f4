import CoherenceStrategies
import TestSupport
import Testing

@testable import CoherenceCore

/// Turns of the main queue with a cancelled task.
@MainActor
@Suite("Cancelled tasks in a turn", .timeLimit(.minutes(5)))
struct CancelledTurnTests {
  @Test(arguments: Backend.available)
  func `a fetch of a cancelled task ends no read of another task in the same turn`(backend: Backend) async throws {
    let library = try TurnLibrary(.mixed, on: backend)
    let view = library.view
    // Both tasks are queued before the first one begins a turn, and therefore before the end of this turn.
    let cancelled = Task { @MainActor in
      withUnsafeCurrentTask { $0?.cancel() }
      return try view.fetch(FetchRequest<TurnLibrary.Track>()).count
    }
    let other = Task { @MainActor in try view.count(for: FetchRequest<TurnLibrary.Track>()) }
    let result = await cancelled.result
    let error = #expect(throws: CoherenceError.self) { try result.get() }
    #expect(error?.code == .cancelled)
    #expect(try await other.value == TurnLibrary.size * TurnLibrary.size)
  }
}
