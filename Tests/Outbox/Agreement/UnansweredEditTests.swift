import CoherenceActions
import CoherenceCore
import Foundation
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Merges beside edits that the server may have applied, because their answers have not arrived.
@Suite("Merges beside an unanswered edit")
struct UnansweredEditTests {
  /// A started stack with the note "A", whose edit the server has applied without an answer.
  private func stack(_ backend: Backend, _ edit: (NoteStack) throws -> Void) async throws -> NoteStack {
    let stack = try NoteStack(backend)
    try await stack.connect.start()
    try stack.insertFolders()
    #expect(try await stack.forwardAll() == 0)
    try edit(stack)
    try await stack.sendWithoutAnswer()
    return stack
  }

  /// Merges the present page of the server.
  private func merge(
    _ stack: NoteStack, _ policy: MergeOptions.PendingEditsPolicy = .keepLocal
  ) async throws -> MergeResult {
    let records = await stack.server.records.filter { $0.value.entityName == Note.entityName }
    let note = try stack.connect.managedObjectModel.entity(named: Note.entityName)
    let page = try records.map { id, record in
      let title = try #require(String(attributeValue: record.values["title"] ?? .null))
      guard case .string(let folder) = record.folder else { return MergeRecord(["id": id, "title": title]) }
      return MergeRecord(["id": id, "title": title], links: ["folder": .one(MergeKey(folder))])
    }
    return try stack.connect.newActionContext().merge(
      records: page, for: note, options: MergeOptions(mode: .replace, maximumDeletedShare: 1, pendingEdits: policy))
  }

  private func folder(_ stack: NoteStack) throws -> String? {
    try stack.read { try NoteStack.note("A", in: $0).folder?.name }
  }

  private func finish(_ stack: NoteStack) async throws {
    stack.time.advance(by: .seconds(61))
    #expect(try await stack.forwardAll() == 0)
  }

  @Test(arguments: Backend.available)
  func `a value that was edited back stays, though a page has the unanswered value`(_ backend: Backend) async throws {
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let stack = try await stack(backend) { try $0.change("A") { $0.title = "B" } }
      try stack.change("B") { $0.title = "A" }
      let result = try await merge(stack, policy)
      #expect(result.updated == 0 && result.keptEdits == 1 && result.pendingConflicts == 0)
      #expect(try stack.ids().keys.sorted() == ["A"])
      try await finish(stack)
      #expect(await stack.server.records.values.filter { $0.values["title"] == .string("A") }.count == 1)
      #expect(try await merge(stack).updated == 0)
    }
  }

  @Test(arguments: Backend.available)
  func `a target that was edited back stays, though a page has the unanswered target`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend) { try $0.move(to: "G") }
    try stack.move(to: "F")
    #expect(try await merge(stack).updated == 0)
    #expect(try folder(stack) == "F")
    try await finish(stack)
    #expect(try await merge(stack).updated == 0)
    #expect(try folder(stack) == "F")
  }

  @Test(arguments: Backend.available)
  func `a deletion after an unanswered edit is in no conflict with that edit`(_ backend: Backend) async throws {
    let stack = try await stack(backend) { try $0.change("A") { $0.title = "B" } }
    try stack.delete("B")
    let result = try await merge(stack, .conflict)
    #expect(result.inserted == 0 && result.pendingConflicts == 0)
    try await finish(stack)
    #expect(await stack.server.records.values.allSatisfy { $0.entityName != Note.entityName })
  }

  @Test(arguments: Backend.available)
  func `members that were edited back stay so, though a page has the unanswered members`(_ backend: Backend)
    async throws
  {
    for isAdded in [true, false] {
      let stack = try AgreementStack(backend, titles: [1: "A"])
      try stack.merge([MergeRecord(["name": "L"])], into: "Label")
      func set(_ hasLabel: Bool) throws {
        try stack.edit { context in
          let labels = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
          try #require(try AgreementStack.task(1, context)).setObjects(hasLabel ? labels : [], for: "labels")
        }
      }
      func labels() throws -> Int {
        try stack.edit { try #require(try AgreementStack.task(1, $0)).objects(for: "labels").count }
      }
      func page(_ hasLabel: Bool) -> [MergeRecord] {
        [MergeRecord(["id": 1, "title": "A"], links: ["labels": .many(hasLabel ? [MergeKey("L")] : [])])]
      }
      if !isAdded { try stack.merge(page(true)) }
      try set(isAdded)
      try stack.setState(.sending)
      try set(!isAdded)
      #expect(try stack.merge(page(isAdded)).updated == 0)
      #expect(try labels() == (isAdded ? 0 : 1))
    }
  }
}
