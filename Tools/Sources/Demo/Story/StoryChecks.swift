import DemoClient
import DemoService

/// The checks at the end of the offline story.
struct StoryChecks {
  private(set) var lines: [String] = []
  private(set) var failures = 0

  mutating func check(_ isTrue: Bool, _ sentence: String) {
    lines.append("  \(isTrue ? "✓" : "✗ FAILED:") \(sentence)")
    if !isTrue { failures += 1 }
  }

  /// Checks the service.
  mutating func check(_ statistics: NoteStatistics) {
    check(
      statistics.applied == StoryScript.applied && statistics.mostApplications == 1,
      "Every edit is at the service exactly once: \(statistics.applied) of \(StoryScript.applied) edits are applied, "
        + "none more than \(Self.times(statistics.mostApplications)).")
    check(
      statistics.refusedDuplicates == StoryScript.lostAnswers,
      "The service recognized \(statistics.refusedDuplicates) of \(StoryScript.lostAnswers) repeated edits by the keys."
    )
    check(
      statistics.conflicts == 1, "The service refused \(statistics.conflicts) edit over the change of another user.")
    check(
      statistics.lost == StoryScript.lostRequests,
      "\(statistics.lost) edits were lost on their way, and arrived later.")
  }

  /// Checks the client at its end.
  mutating func check(_ report: StoryReport, resolved: Int) {
    check(
      resolved == StoryScript.conflicts && report.conflicts == 0,
      "\(resolved) of \(StoryScript.conflicts) conflicts were shown and resolved; \(report.conflicts) are left.")
    check(report.entries == 0, "The outbox is empty: \(report.entries) entries are left.")
  }

  /// Checks the notes of both sides.
  mutating func check(service: [NoteRecord], client: [NoteRecord]) {
    let expected = StoryScript.end
    check(
      Set(service) == Set(client) && service.count == client.count,
      "Both sides have the same notes: \(service.count) at the service, \(client.count) at the client.")
    let wrong = expected.values.filter { !service.contains($0) }.count + max(0, service.count - expected.count)
    check(
      wrong == 0 && service.count == expected.count,
      "Each of the \(expected.count) notes has the text, the stars and the revision that the edits and the decisions "
        + "give: \(wrong) differ.")
  }

  private static func times(_ count: Int) -> String { count == 1 ? "once" : "\(count) times" }
}
