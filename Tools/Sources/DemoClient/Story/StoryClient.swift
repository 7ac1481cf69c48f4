import Coherence
import CoherenceOutbox
import DemoService
import Foundation

/// The client of the offline story. Each process of the client runs one task.
package struct StoryClient: Sendable {
  private let stack: NoteStack
  /// Sends a message to the process that runs the story.
  private let tell: @Sendable (StoryMessage) -> Void
  /// Waits for the process that runs the story.
  private let pause: @Sendable () -> Void

  package init(
    _ stack: NoteStack, tell: @escaping @Sendable (StoryMessage) -> Void, pause: @escaping @Sendable () -> Void
  ) {
    self.stack = stack
    self.tell = tell
    self.pause = pause
  }

  package func run(_ task: StoryTask) async throws {
    switch task {
    case .pull:
      try await stack.empty()
      tell(.merged(try await merge()))
      try await report()
    case .edit:
      let saves = try await edit()
      try await failToSend()
      try await report(saves: saves)
    case .forward:
      try await forward()
      try await report()
    case .editAgain:
      try await report()
      try await report(saves: try await editAgain())
    case .finish: try await finish()
    }
  }

  // MARK: The user's edits

  /// - Returns: The number of saves.
  private func edit() async throws -> Int {
    for number in StoryScript.inserted { try await insert(number, StoryScript.offlineText) }
    for number in StoryScript.rewritten { try await change(number) { $0.text = StoryScript.offlineText } }
    for number in StoryScript.starred { try await change(number) { $0.stars = StoryScript.newStars } }
    for number in StoryScript.deleted { try await delete(number) }
    for number in StoryScript.rewrittenTwice { try await change(number) { $0.text = StoryScript.twiceText } }
    try await insert(StoryScript.scratch, StoryScript.offlineText)
    try await delete(StoryScript.scratch)
    return StoryScript.entries
  }

  /// - Returns: The number of saves.
  private func editAgain() async throws -> Int {
    try await change(StoryScript.rewrittenAgain) { $0.text = StoryScript.againText }
    try await insert(StoryScript.insertedAgain, StoryScript.offlineText)
    return 2
  }

  private func insert(_ number: Int, _ text: String) async throws {
    try await stack.connect.performBackgroundTask { context in
      let note = try Note(context: context)
      note.id = StoryScript.id(number)
      note.packageName = "package-\(number)"
      note.text = text
      note.stars = StoryScript.oldStars
      try context.save()
    }
  }

  private func change(_ number: Int, _ change: @escaping @Sendable (Note) -> Void) async throws {
    try await stack.connect.performBackgroundTask { context in
      change(try Self.note(number, in: context))
      try context.save()
    }
  }

  private func delete(_ number: Int) async throws {
    try await stack.connect.performBackgroundTask { context in
      context.delete(try Self.note(number, in: context))
      try context.save()
    }
  }

  private static func note(_ number: Int, in context: ManagedObjectContext) throws -> Note {
    let id = StoryScript.id(number)
    guard let note = try context.fetch(FetchRequest(Note.self).filter { $0.id == id }).first else {
      throw DemoError("The store has no note \(number); let the story begin again with --reset.")
    }
    return note
  }

  // MARK: Sending

  /// The options of the forwarder. Without a lookahead, the forwarder claims an edit only when it sends the edit, so
  /// that a merge finds all other edits unclaimed.
  private var options: ForwardOptions {
    ForwardOptions(
      concurrency: StoryScript.concurrency,
      retry: RetryPolicy(attempts: 100, initialDelay: .milliseconds(100), maximumDelay: .seconds(1)),
      leaseDuration: .seconds(2), lookahead: 0)
  }

  /// Tries to send the edits while the service is down, until the first attempt has failed.
  private func failToSend() async throws {
    let events = stack.outbox.events
    try stack.outbox.start(options)
    for await event in events {
      guard case .willRetry = event else { continue }
      tell(.failed)
      break
    }
    await stack.outbox.stop(.cancel)
  }

  /// Sends the edits, and reports each edit that the service has accepted.
  private func forward() async throws {
    let events = stack.outbox.events
    let teller = Task {
      for await event in events {
        if case .accepted = event { tell(.accepted) }
      }
    }
    defer { teller.cancel() }
    try stack.outbox.start(options)
    try await stack.outbox.flush(waitsForOthers: true)
    await stack.outbox.stop()
  }

  // MARK: The end

  private func finish() async throws {
    tell(.merged(try await merge()))
    pause()
    try stack.outbox.start(options)
    try await stack.outbox.flush(waitsForOthers: true)
    try await report()
    try await resolve()
    try await stack.outbox.flush(waitsForOthers: true)
    await stack.outbox.stop()
    tell(.merged(try await merge()))
    try await report()
  }

  private func merge() async throws -> StoryMerge {
    let result = try await stack.merge()
    return StoryMerge(
      inserted: result.inserted, updated: result.updated, deleted: result.deleted, keptEdits: result.keptEdits,
      conflicts: result.pendingConflicts)
  }

  /// Resolves every conflict, as a user of a list of conflicts would.
  private func resolve() async throws {
    for conflict in try await stack.outbox.conflicts() {
      let number = try await number(of: conflict)
      let (resolution, name) = Self.decision(over: number)
      tell(.conflict(Self.message(conflict, number, decision: name)))
      try await stack.outbox.resolve(conflict.id, keeping: resolution)
    }
  }

  private static func decision(over number: Int) -> (OutboxResolution, name: String) {
    switch number {
    case StoryScript.bothRewritten.lowerBound + 1: (.server, "the service's text is kept")
    case StoryScript.bothRewritten.upperBound: (.values(["text": StoryScript.textOfBoth]), "a text of both is written")
    case StoryScript.deletedThere: (.local, "the note is sent as a new note")
    case StoryScript.deletedHere: (.local, "the note is deleted there too")
    default: (.local, "the edit is kept")
    }
  }

  /// Returns the number of a conflict's note, also for a note that the client has deleted.
  private func number(of conflict: OutboxConflict) async throws -> Int {
    guard let recordID = conflict.recordID else { return 0 }
    let entries = try await stack.outbox.entries(of: recordID)
    guard case .uuid(let id)? = entries.first?.identity["id"] else { return 0 }
    return StoryScript.number(id)
  }

  private static func message(_ conflict: OutboxConflict, _ number: Int, decision: String) -> StoryConflict {
    let properties = conflict.properties.map { property in
      StoryConflict.Property(
        name: property.name, base: text(property.base), local: text(property.local), server: text(property.server))
    }
    return StoryConflict(number: number, kind: "\(conflict.kind)", properties: properties, decision: decision)
  }

  private static func text(_ value: AttributeValue?) -> String {
    switch value {
    case .string(let text)?: "“\(text)”"
    case .int(let number)?: "\(number)"
    case nil: "–"
    default: "another value"
    }
  }

  // MARK: Reports

  private func report(saves: Int = 0) async throws {
    let counts = try await stack.outbox.counts()
    let conflicts = try await stack.outbox.conflictCount()
    let notes = try await stack.connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(Note.self)).map { note in
        NoteRecord(
          id: note.id, packageName: note.packageName, text: note.text, stars: note.stars, revision: note.revision)
      }
    }
    tell(
      .report(
        StoryReport(
          notes: notes, saves: saves, pending: counts.pending, sending: counts.sending, parked: counts.parked,
          conflicts: conflicts)))
  }
}
