import CoherenceRefresh
import Testing

/// The body of a refresh that ignores its cancellation, and ends when the test opens the gate.
struct StubbornBody {
  let begun = AsyncStream.makeStream(of: Void.self)
  let canceled = AsyncStream.makeStream(of: Void.self)
  let gate = AsyncStream.makeStream(of: Void.self)

  /// Registers the body for the list of songs, starts the refresher, and waits until the body runs.
  func begin(in program: Program) async throws {
    try program.refresher.register(list: Song.self) { _ in await run() }
    await program.refresher.start()
    for await _ in begun.stream { break }
  }

  /// Ends the body during a stop. Expects that the attempt has its lease until the end of the body, and that the stop
  /// waits for this end.
  func end(during stopping: Task<Void, Never>, of program: Program) async throws {
    for _ in 0..<20 {
      #expect(try await program.refresher.status(of: Song.self)?.leaseEnd != nil)
    }
    gate.continuation.finish()
    await stopping.value
    #expect(try await program.refresher.status(of: Song.self)?.leaseEnd == nil)
  }

  func run() async {
    begun.continuation.yield()
    await withTaskCancellationHandler {
      // A cancellation does not reach a task of its own.
      await Task { [gate] in for await _ in gate.stream {} }.value
    } onCancel: {
      canceled.continuation.yield()
    }
  }
}
