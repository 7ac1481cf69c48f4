import CoherenceCore
import CoherenceStrategies
import Testing
import TestSupport

/// Live results during saves on several threads.
@MainActor
@Suite("Live results beside concurrent saves", .timeLimit(.minutes(15)))
struct ConcurrentSavesTests {
  @Test(arguments: [LiveStrategy.direct, .mixed], Backend.available)
  func `saves that overlap in time leave the live results as a fetch finds them`(
    strategy: LiveStrategy, backend: Backend
  ) async throws {
    let stack = try LiveLibrary.Stack(strategy, on: backend)
    let ids = Array(try stack.add("a", "b", "c", "d", "e", genre: "x").values)
    let view = stack.view
    let watchers = [
      try LiveWatcher("by title", LiveLibrary.tracks.sort("title"), in: view),
      try LiveWatcher("filtered", LiveLibrary.tracks.filter(try FetchPredicate(format: "length < 3")), in: view),
      try LiveWatcher("sections", LiveLibrary.tracks.sort("genre"), in: view, sections: "genre"),
    ]
    let container = stack.container
    await withTaskGroup(of: Void.self) { group in
      for writer in 0..<4 {
        group.addTask {
          for round in 0..<12 {
            let context = container.newBackgroundContext()
            context.mergePolicy = .objectTrumps
            do {
              try await context.perform {
                for track in try context.objects(for: [ids[(writer + round) % 5], ids[round % 5]]) {
                  try track.setValue("\(writer) \(round)", for: "title")
                  try track.setValue((writer + round) % 5, for: "length")
                  try track.setValue(["x", "y", nil][round % 3] as String?, for: "genre")
                }
                try LiveLibrary.track("new \(writer) \(round)", length: round, in: context)
                try context.save()
              }
            } catch {
              Issue.record(error)
            }
          }
        }
      }
    }
    for watcher in watchers { #expect(try watcher.difference() == nil) }
    #expect(watchers[0].controller.fetchedObjects.count == 53)
  }
}
