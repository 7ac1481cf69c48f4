import Testing

@testable import CoherenceOutbox

/// The division of a record's entries into requests.
@Suite("Requests for the entries of a record")
struct EntryGroupTests {
  /// The entries of a short form: a letter `i`, `u` or `d` is an insert, an update or a delete. A capital letter is an
  /// entry with a claim of its own. `*` before a letter parks the entry, and `!` parks it as refused.
  private static func entries(_ text: String) -> [EntryGroup.Facts] {
    var result: [EntryGroup.Facts] = []
    var state = OutboxEntryState.pending
    var isRejected = false
    for character in text {
      switch character {
      case "*": state = .parked
      case "!": (state, isRejected) = (.parked, true)
      default:
        let sequence = Int64(result.count + 1)
        let kind: OutboxEntryKind =
          switch character.lowercased() {
          case "i": .insert
          case "u": .update
          default: .delete
          }
        let isClaimed = character.isUppercase || isRejected
        result.append(
          EntryGroup.Facts(
            kind: kind, state: state, isRejected: isRejected, sequence: sequence, groupEnd: isClaimed ? sequence : nil))
        (state, isRejected) = (.pending, false)
      }
    }
    return result
  }

  /// The groups of a short form, each as the number of its entries and its outcome.
  private static func outcome(_ text: String) -> String {
    EntryGroup.groups(of: entries(text)).map { group in
      let name =
        switch group.outcome {
        case .insert: "insert"
        case .update: "update"
        case .delete: "delete"
        case .deleteOfUncertainInsert: "uncertain delete"
        case .nothing: "nothing"
        }
      return "\(group.range.count) \(name)"
    }.joined(separator: ", ")
  }

  @Test(
    arguments: [
      ("i", "1 insert"), ("u", "1 update"), ("d", "1 delete"),
      ("iu", "2 insert"), ("iuuu", "4 insert"), ("uu", "2 update"), ("uuu", "3 update"),
      ("ud", "2 delete"), ("uud", "3 delete"), ("id", "2 nothing"), ("iud", "3 nothing"), ("iuud", "4 nothing"),
    ])
  func `unattempted entries become as few requests as possible`(entries: String, expected: String) {
    #expect(Self.outcome(entries) == expected)
  }

  @Test(
    arguments: [
      ("I", "1 insert"), ("Iu", "1 insert, 1 update"), ("Iuu", "1 insert, 2 update"), ("Uu", "1 update, 1 update"),
      ("Uuu", "1 update, 2 update"),
    ])
  func `an attempted request is repeated with the same entries`(entries: String, expected: String) {
    #expect(Self.outcome(entries) == expected)
  }

  @Test(
    arguments: [
      ("Id", "2 uncertain delete"), ("Iud", "3 uncertain delete"), ("Ud", "2 delete"), ("Uud", "3 delete"),
      ("UD", "2 delete"),
    ])
  func `a delete absorbs attempted requests`(entries: String, expected: String) {
    #expect(Self.outcome(entries) == expected)
  }

  @Test(
    arguments: [
      ("*iu", "2 insert"), ("i*u", "1 insert, 1 update"), ("u*u", "1 update, 1 update"), ("u*d", "1 update, 1 delete"),
      ("U*d", "1 update, 1 delete"), ("*Ud", "1 update, 1 delete"), ("*Id", "1 insert, 1 delete"),
    ])
  func `a parked entry begins a request of its own`(entries: String, expected: String) {
    #expect(Self.outcome(entries) == expected)
  }

  @Test(arguments: [("!id", "2 nothing"), ("!iud", "3 nothing"), ("!iu", "2 insert"), ("!uu", "2 update")])
  func `a refused entry counts as never attempted`(entries: String, expected: String) {
    #expect(Self.outcome(entries) == expected)
  }

  @Test func `a restored record is inserted after its delete`() {
    #expect(Self.outcome("udiu") == "2 delete, 2 insert")
    #expect(Self.outcome("idiu") == "2 nothing, 2 insert")
  }

  @Test func `a claimed group of several entries keeps its entries`() {
    var entries = Self.entries("iuuu")
    entries[0].groupEnd = 3
    entries[0].isAttempted = true
    #expect(
      EntryGroup.groups(of: entries) == [
        EntryGroup(range: 0..<3, outcome: .insert), EntryGroup(range: 3..<4, outcome: .update),
      ])
    // The last entry of the claimed group is dropped.
    entries.remove(at: 2)
    #expect(
      EntryGroup.groups(of: entries) == [
        EntryGroup(range: 0..<2, outcome: .insert), EntryGroup(range: 2..<3, outcome: .update),
      ])
  }

  /// Checks every history of up to six entries that saves can record, with every prefix claimed as one request.
  @Test func `the groups of every history have all its entries in order`() {
    for history in Self.histories(length: 6) {
      for claimed in 0...history.count {
        var entries = Self.entries(history)
        if claimed > 0 {
          entries[0].groupEnd = Int64(claimed)
          entries[0].isAttempted = true
        }
        let groups = EntryGroup.groups(of: entries)
        #expect(groups.flatMap { Array($0.range) } == Array(entries.indices), "\(history) \(claimed)")
        #expect(groups.allSatisfy { !$0.range.isEmpty }, "\(history) \(claimed)")
        Self.check(groups, of: entries, claimed: claimed, history)
      }
    }
  }

  /// Checks that the requests of one history have the effect of its entries.
  private static func check(_ groups: [EntryGroup], of entries: [EntryGroup.Facts], claimed: Int, _ history: String) {
    let isDeleted = entries.last?.kind == .delete
    let isInserted = entries.first?.kind == .insert
    switch (isInserted, isDeleted) {
    case (true, true) where claimed == 0: #expect(groups.map(\.outcome) == [.nothing], "\(history)")
    case (true, true): #expect(groups.map(\.outcome) == [.deleteOfUncertainInsert], "\(history) \(claimed)")
    case (false, true): #expect(groups.map(\.outcome) == [.delete], "\(history) \(claimed)")
    default:
      #expect(groups.count == (claimed == 0 || claimed == entries.count ? 1 : 2), "\(history) \(claimed)")
      #expect(groups[0].outcome == (isInserted ? .insert : .update), "\(history) \(claimed)")
      #expect(groups.dropFirst().allSatisfy { $0.outcome == .update }, "\(history) \(claimed)")
    }
  }

  /// The histories of one record: an insert or not, updates, and a delete or not.
  private static func histories(length: Int) -> [String] {
    (1...length).flatMap { count in
      ["i", "u"].flatMap { first -> [String] in
        let updates = first + String(repeating: "u", count: count - 1)
        return count == 1 ? [updates, "d"] : [updates, String(updates.dropLast()) + "d"]
      }
    }
  }
}
