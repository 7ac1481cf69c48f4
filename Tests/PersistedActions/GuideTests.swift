import CoherenceActions
import CoherenceCore
import CoherencePersistedActions
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

// The code of the landing page of CoherencePersistedActions stands here word for word.

struct SendGreeting: PersistedAction {
  let name: String

  func run(in context: PersistedActionContext) async throws {
    try await Post.shared.send("Welcome, \(name)!", idempotencyKey: context.handle.id)
  }
}

struct CountNotes: PersistedAction {
  func run(in context: PersistedActionContext) async throws {
    let count = try await context.commit { context in
      let count = try context.count(for: FetchRequest<NoteRecord>(entityName: "Note"))
      let note = try context.insertNewObject(forEntityName: "Note")
      try note.setValue("There were \(count) notes.", for: "text")
      return count
    }
    print("Counted \(count) notes.")
  }
}

struct ImportPages: PersistedAction {
  static let retry = PersistedRetry(attempts: 5, initialDelay: .seconds(30))
  let pages: Int

  func run(in context: PersistedActionContext) async throws {
    var next = try context.lastCheckpoint(as: Int.self) ?? 1
    while next <= pages {
      let text = try await Post.shared.page(next)
      next += 1
      try await context.checkpoint(next) { context in
        let note = try context.insertNewObject(forEntityName: "Note")
        try note.setValue(text, for: "text")
      }
      context.setProgress(Int64(next - 1), of: Int64(pages))
    }
  }
}

/// A service that the pages of the documentation use.
struct Post: Sendable {
  static let shared = Post()
  func send(_ text: String, idempotencyKey: UUID) async throws {}
  func page(_ number: Int) async throws -> String { "Page \(number)" }
}

@Suite struct GuideTests {
  @Test func `the first steps of the page enqueue, run and follow an action`() async throws {
    let stack = try ActionStack()
    let container = stack.container
    let handle = try await container.performBackgroundTask { context in
      let note = try context.insertNewObject(forEntityName: "Note")
      try note.setValue("Ada has joined.", for: "text")
      let handle = try context.enqueue(SendGreeting(name: "Ada"), uniqueKey: "greeting Ada")
      try context.save()
      return handle
    }

    let worker = try PersistedActionWorker(
      container, actions: [SendGreeting.self, CountNotes.self, ImportPages.self],
      schedules: [PersistedSchedule("count", try .cron("30 3 * * *"), CountNotes())])
    try await worker.start()

    let actions = try PersistedActions(container)
    let finished = try await actions.untilFinished(handle)
    print(finished.state, finished.failures)

    await worker.stop(.drain, within: .seconds(20))
    #expect(finished.state == .succeeded)
  }

  @Test func `the actions of the page save their work`() async throws {
    let stack = try ActionStack()
    try stack.enqueue(ImportPages(pages: 2))
    let worker = try PersistedActionWorker(
      stack.container, actions: [CountNotes.self, ImportPages.self], clock: ManualClock().workerClock)
    try await worker.runDueActions()
    try stack.enqueue(CountNotes())
    #expect(try await worker.runDueActions() == 1)
    #expect(try stack.notes() == ["Page 1", "Page 2", "There were 2 notes."])
  }
}
