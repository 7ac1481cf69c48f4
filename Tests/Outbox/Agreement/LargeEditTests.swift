import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Pages of a server, and edits of values around 32 KB, whose former values an entry keeps apart.
@Suite("Merges and edits of large values", .timeLimit(.minutes(15)))
struct LargeEditTests {
  /// A stack whose task 1 has a title of the given size, and the title.
  private static func stack(_ backend: Backend, _ size: Int) throws -> (stack: AgreementStack, title: String) {
    let title = String(repeating: "a", count: size)
    return (try AgreementStack(backend, titles: [1: title, 2: "old"]), title)
  }

  /// Merges a page under the policies that could discard the edit of task 1, and makes the entries of the edit in
  /// between.
  private static func mergeUnchanged(_ title: String, into stack: AgreementStack) async throws {
    for policy in [MergeOptions.PendingEditsPolicy.server, .conflict] {
      let result = try stack.merge(AgreementStack.page([1: title]), policy)
      #expect(result.keptEdits == 1 && result.pendingConflicts == 0 && result.updated == 0, "\(policy)")
      #expect(try stack.titles() == [1: "edited", 2: "old"])
      _ = try await stack.outbox.counts()
    }
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available, [32_768, 32_769])
  func `a page with the value from before an edit keeps the edit, on both sides of 32 KB`(
    backend: Backend, size: Int
  ) async throws {
    let (stack, title) = try Self.stack(backend, size)
    try stack.set("edited", of: 1)
    try await Self.mergeUnchanged(title, into: stack)
    try await Self.mergeUnchanged(title, into: stack)
    let entry = try #require(try await stack.outbox.entries().first)
    #expect(entry.state == .pending && entry.hasOmittedValues == (size > 32_768))
    let whole = try await stack.outbox.entry(entry.id)
    #expect(whole["title"]?.base == .value(.string(title)) && whole["title"]?.value == .value(.string("edited")))
  }

  @Test(arguments: Backend.available, [32_768, 32_769])
  func `a page with a value that edits have passed through keeps the edits, on both sides of 32 KB`(
    backend: Backend, size: Int
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "first", 2: "old"])
    let title = String(repeating: "b", count: size)
    try stack.set(title, of: 1)
    try stack.set("edited", of: 1)
    try await Self.mergeUnchanged(title, into: stack)
    try await Self.mergeUnchanged(title, into: stack)
    #expect(try await stack.outbox.entries().map(\.state) == [.pending, .pending])
  }

  @Test(arguments: Backend.available, [32_768, 32_769])
  func `a page with another value is a conflict that has the former value, on both sides of 32 KB`(
    backend: Backend, size: Int
  ) async throws {
    let (stack, title) = try Self.stack(backend, size)
    try stack.set("edited", of: 1)
    #expect(try stack.merge(AgreementStack.page([1: "new"]), .conflict).pendingConflicts == 1)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.kind == .bothChanged && conflict.properties.map(\.name) == ["title"])
    #expect(conflict.properties.map(\.base) == [.string(title)])
    #expect(conflict.properties.map(\.local) == [.string("edited")])
    #expect(conflict.properties.map(\.server) == [.string("new")])
  }

  @Test(arguments: Backend.available, [32_768, 32_769])
  func `a page does not insert the record of an unanswered insert again, on both sides of 32 KB`(
    backend: Backend, size: Int
  ) async throws {
    let stack = try NoteStack(backend)
    try await stack.connect.start()
    let title = String(repeating: "c", count: size)
    try stack.insertNote("A", rank: 5)
    try stack.change("A") { $0.title = title }
    try await stack.sendWithoutAnswer()
    try stack.change(title) { $0.title = "edited" }
    let note = try stack.connect.managedObjectModel.entity(named: Note.entityName)
    let result = try stack.connect.newActionContext().merge(
      records: [MergeRecord(["id": "s1", "title": title, "rank": Int64(5)])], for: note,
      options: MergeOptions(mode: .replace, maximumDeletedShare: 1))
    #expect(result.inserted == 0 && result.deleted == 0)
    #expect(try stack.ids() == ["edited": "local-A"])
    stack.time.advance(by: .seconds(61))
    #expect(try await stack.forwardAll() == 0)
    #expect(try stack.ids() == ["edited": "s1"])
  }
}
