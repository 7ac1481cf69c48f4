import ArgumentParser
import DemoClient
import DemoService
import Foundation

/// Runs the offline story: a client edits notes while its service is down and is killed while it sends the edits, and
/// another user changes the same notes.
///
/// The service runs in this process. Each step of the client runs in a new process, so that a kill leaves the service
/// running.
@MainActor
final class OfflineStory {
  private let terminal: Terminal
  private let store: StoryStore
  private let isVerbose: Bool
  private let longest: Duration
  private let book: NoteBook
  private var service: CatalogService?
  private var url = URL(fileURLWithPath: "/")
  private var client: ClientProcess?
  private var step = 0
  /// Whether the story has exceeded its time limit.
  private var isInterrupted = false
  private var checks = StoryChecks()

  init(store: StoryStore, terminal: Terminal, isForgetful: Bool, isVerbose: Bool, longest: Duration) {
    self.store = store
    self.terminal = terminal
    self.isVerbose = isVerbose
    self.longest = longest
    book = NoteBook(StoryScript.first.map { StoryScript.note($0) }, honorsKeys: !isForgetful)
  }

  /// Runs all steps, and prints them.
  ///
  /// - Throws: An exit code when a check fails; an error when a step fails or the story exceeds its time limit.
  func run() async throws {
    let start = ContinuousClock.now
    let watchdog = Task {
      try await Task.sleep(for: longest)
      await interrupt()
    }
    defer { watchdog.cancel() }
    terminal.write("Edits without a service, a kill and two users\n")
    terminal.write("Notes in \(store.description); each part of the client is a process of its own\n")
    do {
      try await runSteps()
    } catch {
      client?.kill()
      await stopService()
      guard !isInterrupted else {
        throw DemoError("The story has not ended after \(longest / .seconds(1)) s; run it again with --verbose.")
      }
      throw error
    }
    let time = String(format: "%.1f", (ContinuousClock.now - start) / .seconds(1))
    guard checks.failures == 0 else {
      terminal.write("\nThe story went wrong: \(checks.failures) checks failed (\(time) s).\n")
      throw ExitCode.failure
    }
    terminal.write("\nThe story went well (\(time) s).\n")
  }

  /// Ends all waits of the story after its time limit.
  private func interrupt() async {
    isInterrupted = true
    client?.kill()
    await book.endOutage()
  }

  private func runSteps() async throws {
    try await pull()
    try await editOffline()
    try await killWhileSending()
    try await editAfterRestart()
    await changeElsewhere()
    let (last, resolved) = try await finish()
    try await compare(last, resolved: resolved)
  }

  // MARK: Steps

  private func pull() async throws {
    begin("The service starts, and the client merges its notes.")
    try await startService()
    try run(.pull)
    let merge = try await nextMerge()
    let report = try await nextReport()
    try await endClient()
    tell("\(merge.inserted) notes came in. The outbox has \(report.entries) entries.")
    await stopService()
  }

  private func editOffline() async throws {
    begin("The service stops. The user goes on editing.")
    try run(.edit)
    guard await client?.message() == .failed else { throw Self.silence }
    let report = try await nextReport()
    try await endClient()
    tell(
      "\(report.saves) saves: \(StoryScript.inserted.count) notes inserted, "
        + "\(StoryScript.rewritten.count + StoryScript.starred.count) changed, "
        + "\(StoryScript.rewrittenTwice.count) changed again, \(StoryScript.deleted.count) deleted, "
        + "1 inserted and deleted.")
    tell("An attempt to send failed, and the edits stay: the service does not answer.")
    tell("The outbox has \(report.entries) entries, which stand for \(StoryScript.edits) edits.")
  }

  private func killWhileSending() async throws {
    begin("The service starts. The client sends its edits, and is killed in the middle.")
    await book.beginOutage(afterAnswers: StoryScript.acknowledged, lostAnswers: StoryScript.lostAnswers)
    try await startService()
    try run(.forward)
    for _ in 0..<StoryScript.acknowledged {
      guard await client?.message() == .accepted else { throw Self.silence }
    }
    await book.waitUntilHeld(StoryScript.concurrency)
    client?.kill()
    let isKilled = await client?.waitForKill() ?? false
    checks.check(isKilled, "The client was killed by SIGKILL while it sent \(StoryScript.concurrency) edits.")
    await book.endOutage()
    await stopService()
    tell("\(StoryScript.acknowledged) edits were acknowledged and have left the outbox.")
    tell(
      "\(StoryScript.concurrency) edits were under way at the kill: \(StoryScript.lostAnswers) are applied at the service "
        + "without an answer, \(StoryScript.lostRequests) never arrived. The client cannot know which.")
  }

  private func editAfterRestart() async throws {
    begin("The service is down. The client starts again, and the user edits on.")
    try run(.editAgain)
    let found = try await nextReport()
    let report = try await nextReport()
    try await endClient()
    tell(
      "The outbox still has \(found.pending) waiting entries, and \(found.sending) entries whose fate is not known.")
    tell("\(report.saves) more saves: \(report.entries) entries.")
    checks.check(
      found.sending == StoryScript.concurrency && report.entries == found.entries + report.saves,
      "No entry was lost by the kill: \(found.sending) under way, \(found.pending) waiting, \(report.saves) new.")
  }

  private func changeElsewhere() async {
    begin("Meanwhile another user changes notes at the service.")
    let rewritten = Array(StoryScript.bothRewritten) + [StoryScript.rewrittenThere, StoryScript.deletedHere]
    for number in rewritten + StoryScript.changedThere {
      await book.change(StoryScript.id(number)) { $0.text = StoryScript.textThere }
    }
    for number in [StoryScript.deletedThere, StoryScript.removedThere] { await book.remove(StoryScript.id(number)) }
    await book.insert(StoryScript.note(StoryScript.insertedThere, StoryScript.textThere))
    tell(
      "\(rewritten.count + StoryScript.changedThere.count) notes rewritten, 2 deleted, 1 inserted. "
        + "The user has edited \(rewritten.count + 1) of these notes too.")
  }

  /// - Returns: The last report of the client, and the number of resolved conflicts.
  private func finish() async throws -> (StoryReport, resolved: Int) {
    begin("The service comes back. The client starts again and merges its notes.")
    try await startService()
    try run(.finish)
    let merge = try await nextMerge()
    tell("\(merge.inserted) note came in, \(merge.updated) were updated, \(merge.deleted) was deleted.")
    tell("\(merge.conflicts) conflicts wait for the user. Of \(merge.keptEdits) notes the edits were kept.")
    begin("The client sends. Another user was faster with one note.")
    await book.change(StoryScript.id(StoryScript.starredThere)) { $0.stars = StoryScript.starsThere }
    try client?.proceed()
    let sent = try await nextReport()
    let statistics = await book.statistics
    tell(
      "\(statistics.refusedDuplicates) edits arrived for the second time: the service recognized their keys, and gave "
        + "its first answers.")
    tell("\(statistics.conflicts) edit was refused: \(sent.conflicts) conflicts wait, and \(sent.entries) entries.")
    begin("The user decides over the conflicts.")
    var resolved = 0
    while let message = await client?.message() {
      switch message {
      case .conflict(let conflict):
        resolved += 1
        tell(Self.line(conflict))
      case .merged:
        let last = try await nextReport()
        try await endClient()
        await stopService()
        return (last, resolved)
      default: break
      }
    }
    throw Self.silence
  }

  private func compare(_ report: StoryReport, resolved: Int) async throws {
    begin("The end, on both sides.")
    let service = await book.list.notes
    for line in Self.table(service: service, client: report.notes) { terminal.write("   \(line)\n") }
    terminal.write("\n")
    let statistics = await book.statistics
    checks.check(statistics)
    checks.check(report, resolved: resolved)
    checks.check(service: service, client: report.notes)
    for line in checks.lines { terminal.write("\(line)\n") }
  }
}

// MARK: - Processes

extension OfflineStory {
  private static let silence = DemoError("The client of the story ended early; run it again with --verbose.")

  private func run(_ task: StoryTask) throws {
    guard !isInterrupted else { throw Self.silence }
    client = try ClientProcess(task, service: url, store: store, isVerbose: isVerbose)
  }

  private func endClient() async throws {
    guard await client?.waitForSuccess() ?? false else { throw Self.silence }
  }

  private func nextReport() async throws -> StoryReport {
    guard case .report(let report)? = await client?.message() else { throw Self.silence }
    return report
  }

  private func nextMerge() async throws -> StoryMerge {
    guard case .merged(let merge)? = await client?.message() else { throw Self.silence }
    return merge
  }

  private func startService() async throws {
    let service = CatalogService(catalog: Catalog([]), notes: book)
    url = try await service.start()
    self.service = service
  }

  private func stopService() async {
    await service?.stop()
    service = nil
  }
}

// MARK: - Lines

extension OfflineStory {
  private func begin(_ title: String) {
    step += 1
    terminal.write("\n\(step). \(title)\n")
  }

  private func tell(_ line: String) { terminal.write("   \(line)\n") }

  private static func line(_ conflict: StoryConflict) -> String {
    let properties = conflict.properties.map { "\($0.name) was \($0.base), here \($0.local), there \($0.server)" }
    let values = properties.isEmpty ? "" : " (\(properties.joined(separator: "; ")))"
    return "note \(conflict.number), \(conflict.kind)\(values): \(conflict.decision)"
  }

  /// Returns the lines of a table of the notes with several changes.
  private static func table(service: [NoteRecord], client: [NoteRecord]) -> [String] {
    let numbers =
      [1, StoryScript.rewrittenAgain] + StoryScript.bothRewritten
      + [
        StoryScript.deletedThere, StoryScript.rewrittenThere, StoryScript.starredThere, StoryScript.removedThere,
        StoryScript.deletedHere, StoryScript.inserted.lowerBound, StoryScript.insertedAgain, StoryScript.insertedThere,
      ]
    func text(_ notes: [NoteRecord], _ number: Int) -> String {
      guard let note = notes.first(where: { $0.id == StoryScript.id(number) }) else { return "none" }
      return "\(note.text) \(note.stars)*, revision \(note.revision)"
    }
    var table = TextTable(header: ["note", "client", "service"])
    for number in numbers { table.add(["\(number)", text(client, number), text(service, number)]) }
    return table.lines
  }
}
