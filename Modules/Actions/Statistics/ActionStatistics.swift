public import Foundation

/// When an action ran, and what it did in its context.
public struct ActionStatistics: Sendable, Hashable {
  /// When the action began; `nil` before.
  public internal(set) var startTime: Date?
  /// When the action ended; `nil` before.
  public internal(set) var finishTime: Date?
  /// How often the action was begun; zero before, and for one that never ran.
  public internal(set) var attempts = 0
  /// `nil` for generic actions, and before an entity action begins.
  public internal(set) var contextStatistics: ContextStatistics?

  /// Whether an entity action has succeeded and left changes in its context that were never saved, and are lost. The log
  /// has a warning of it.
  public internal(set) var hasUnsavedChanges = false

  /// How many later submissions of equal actions have joined this one; see ``EqualActionPolicy``.
  public internal(set) var joins = 0

  /// Whether a later equal action has taken the place of this one, which then counts as canceled; see
  /// ``EqualActionPolicy/replace``.
  public internal(set) var isReplaced = false

  /// Seconds from start to finish; zero until both are known.
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
