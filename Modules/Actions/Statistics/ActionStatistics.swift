public import Foundation

/// The times of an action, and the counts of the work in its contexts.
public struct ActionStatistics: Sendable, Hashable {
  /// The start of the first attempt; `nil` before. For an action that never ran, the time of its end.
  public internal(set) var startTime: Date?
  /// The end; `nil` before.
  public internal(set) var finishTime: Date?
  /// The number of started attempts; zero for an action that never ran.
  public internal(set) var attempts = 0
  /// The work in the contexts of all attempts; `nil` for a generic action, and before an entity action begins.
  public internal(set) var contextStatistics: ContextStatistics?

  /// Whether an entity action has succeeded with unsaved changes in its context. The changes are lost, and the log has a
  /// warning.
  public internal(set) var hasUnsavedChanges = false

  /// The number of later submissions joined to this action; see ``EqualActionPolicy``.
  public internal(set) var joins = 0

  /// Whether a later equal action has replaced this one, which counts as cancelled; see ``EqualActionPolicy/replace``.
  public internal(set) var isReplaced = false

  /// The seconds from start to finish, with the delays between attempts; zero before the end.
  public var executionTime: TimeInterval {
    guard let startTime, let finishTime else { return 0 }
    return finishTime.timeIntervalSince(startTime)
  }
}

extension ActionStatistics {
  /// The statistics on one line, for logs.
  var summary: String {
    var parts = ["\(seconds(executionTime)) s"]
    if attempts > 1 { parts.append("\(attempts) attempts") }
    if joins > 0 { parts.append("joined \(joins) times") }
    if isReplaced { parts.append("replaced by an equal action") }
    if let counts = contextStatistics {
      parts += [
        "\(counts.inserts) inserted", "\(counts.updates) updated", "\(counts.deletes) deleted",
        "\(counts.fetches) fetched", "\(seconds(counts.saveTime)) s saving", "\(seconds(counts.fetchTime)) s fetching",
      ]
    }
    return parts.joined(separator: ", ")
  }
}

extension ActionStatistics: CustomStringConvertible {
  public var description: String {
    var lines = [
      "executionTime: \(seconds(executionTime))",
      "startTime: \(startTime.map(\.description) ?? "(not started)")",
      "finishTime: \(finishTime.map(\.description) ?? (startTime == nil ? "(not started)" : "(not finished)"))",
    ]
    if joins > 0 { lines.append("joins: \(joins)") }
    if isReplaced { lines.append("replaced: true") }
    if hasUnsavedChanges { lines.append("unsavedChanges: true") }
    if let contextStatistics { lines.append("context: \(contextStatistics)") }
    let body = lines.joined(separator: "\n").split(separator: "\n", omittingEmptySubsequences: false)
    return "{\n" + body.map { "  \($0)\n" }.joined() + "}"
  }
}
