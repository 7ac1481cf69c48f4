import CoherenceRefresh

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
