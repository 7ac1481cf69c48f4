import CoherenceCore
import TestSupport
import Testing

/// The number of rows that one run of an INSERT adds to a SQLite store.
@Suite struct SaveRunTests {
  private let stack: LoggedStore

  init() throws { stack = try LoggedStore(.sqlite, PeopleModel.make()) }

  /// Inserts rows, and returns the numbers of runs of each statement, as they are logged.
  private func runs(inserting count: Int) throws -> [String] {
    let store = stack.store
    let before = try store.fetch("Person").count
    let rows = try (0..<count).map { number in try store.row("Person", ["name": .string("\(number)")]) }
    stack.log.removeAll()
    try store.save(.insert(store.entity("Person"), rows))
    let messages = stack.log.messages.filter { $0.hasPrefix(#"INSERT INTO "Person""#) }
    #expect(try store.fetch("Person").count == before + count)
    return messages.map { message in
      let words = message.split(separator: " ")
      guard let end = words.firstIndex(of: "times"), end > 0 else { return message }
      return String(words[end - 1])
    }
  }

  @Test func `a run inserts thirty-two rows, and the remaining rows are inserted one by one`() throws {
    #expect(try runs(inserting: 31) == ["31"])
    #expect(try runs(inserting: 32) == ["1"])
    #expect(try runs(inserting: 33) == ["1", "1"])
    #expect(try runs(inserting: 70) == ["2", "6"])
    #expect(try runs(inserting: 96) == ["3"])
    #expect(try runs(inserting: 0) == [])
  }
}
