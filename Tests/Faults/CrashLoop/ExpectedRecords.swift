/// The records that a store must contain after the known outcomes of one writer's saves.
struct ExpectedRecords: Sendable {
  /// The change of one record by a save.
  struct Change: Sendable {
    let name: String
    /// The record's number before the save; `nil` for an inserted record.
    let before: Int64?
    /// The record's number after the save; `nil` for a deleted record.
    let after: Int64?
  }

  /// The records of acknowledged saves: their numbers by their names.
  private(set) var numbers: [String: Int64] = [:]
  /// The saves of unknown outcome. Later saves leave their records unchanged, so that either outcome stays visible.
  private var doubts: [[Change]] = []

  mutating func acknowledge(_ save: [Change]) {
    for change in save { numbers[change.name] = change.after }
  }

  mutating func doubt(_ save: [Change]) {
    for change in save { numbers[change.name] = nil }
    doubts.append(save)
  }

  /// Lists the errors in the records of a store.
  ///
  /// - Parameter found: The numbers by the names. Expected records are removed from it.
  func complaints(removingFrom found: inout [String: Int64]) -> [String] {
    var complaints: [String] = []
    for (name, number) in numbers {
      let stored = found.removeValue(forKey: name)
      if stored != number {
        complaints.append("'\(name)' was acknowledged with \(number), and is \(Self.text(stored)).")
      }
    }
    for save in doubts {
      let isNotApplied = save.allSatisfy { found[$0.name] == $0.before }
      let isApplied = save.allSatisfy { found[$0.name] == $0.after }
      if !isNotApplied, !isApplied {
        let states = save.map { "'\($0.name)' \(Self.text(found[$0.name]))" }.joined(separator: ", ")
        complaints.append("A save of unknown outcome is applied in parts: \(states).")
      }
      for change in save { found[change.name] = nil }
    }
    return complaints
  }

  private static func text(_ number: Int64?) -> String { number.map { "\($0)" } ?? "missing" }
}
