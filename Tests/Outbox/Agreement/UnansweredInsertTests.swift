import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Merges of pages with the record of an insert whose answer, with the key of the server, has not arrived.
@Suite("Pages with the record of an unanswered insert")
struct UnansweredInsertTests {
  /// A started stack whose server has applied the insert of the note "A" under the key "s1", and has not answered.
  private func stack(_ backend: Backend) async throws -> NoteStack {
    let stack = try NoteStack(backend)
    try await stack.connect.start()
    try stack.insertNote("A", rank: 5)
    try await stack.sendWithoutAnswer()
    #expect(await Array(stack.server.records.keys) == ["s1"])
    return stack
  }

  @discardableResult
  private func merge(
    _ values: [String: any AttributeConvertible & Sendable]..., into stack: NoteStack
  ) throws -> MergeResult {
    let note = try stack.connect.managedObjectModel.entity(named: Note.entityName)
    return try stack.connect.newActionContext().merge(
      records: values.map { MergeRecord($0) }, for: note,
      options: MergeOptions(mode: .replace, maximumDeletedShare: 1))
  }

  private func answer(_ stack: NoteStack) async throws {
    stack.time.advance(by: .seconds(61))
    #expect(try await stack.forwardAll() == 0)
  }

  @Test(arguments: Backend.available)
  func `a page does not insert the record a second time`(_ backend: Backend) async throws {
    let stack = try await stack(backend)
    let result = try merge(["id": "s1", "title": "A", "rank": Int64(5), "revision": Int64(1)], into: stack)
    #expect(result.inserted == 0 && result.keptEdits == 2)
    let note = try stack.connect.managedObjectModel.entity(named: Note.entityName)
    let pages = AsyncStream { continuation in
      continuation.yield([MergeRecord(["id": "s1", "title": "A", "rank": Int64(5)])])
      continuation.finish()
    }
    let paged = try await stack.connect.newActionContext().mergePages(
      pages, for: note, options: MergeOptions(mode: .replace, maximumDeletedShare: 1))
    #expect(paged.inserted == 0 && paged.deleted == 0)
    #expect(try stack.ids() == ["A": "local-A"])
    try await answer(stack)
    #expect(try stack.ids() == ["A": "s1"])
  }

  @Test(arguments: Backend.available)
  func `a page does not insert a record that was changed or deleted here since its insert`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend)
    try stack.change("A") { $0.rank = 6 }
    #expect(try merge(["id": "s1", "title": "A", "rank": Int64(5)], into: stack).inserted == 0)
    try stack.delete("A")
    #expect(try merge(["id": "s1", "title": "A", "rank": Int64(5)], into: stack).inserted == 0)
    #expect(try stack.ids() == [:])
    try await answer(stack)
    #expect(await stack.server.records.isEmpty)
    #expect(try stack.ids() == [:])
  }

  @Test(arguments: Backend.available)
  func `a page does not insert a deleted record whose insert is answered, and whose deletion is not sent`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend)
    try stack.delete("A")
    stack.time.advance(by: .seconds(61))
    try await stack.sendWithoutAnswer(.answer(.accepted(["id": "s1"])), .fail(LostAnswer()))
    #expect(try await stack.outbox.entries().map(\.kind) == [.delete])
    #expect(try merge(["id": "s1", "title": "A", "rank": Int64(5)], into: stack).inserted == 0)
    try await answer(stack)
    #expect(try stack.ids() == [:])
  }

  @Test(arguments: Backend.available)
  func `a page inserts a record with other values, and the server's values of attributes that were not set here count`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend)
    // The user has not set the revision, so that the server may have.
    let result = try merge(
      ["id": "s2", "title": "B", "rank": Int64(5)], ["id": "s3", "title": "A", "rank": Int64(4)],
      ["id": "s1", "title": "A", "revision": Int64(8)], into: stack)
    #expect(result.inserted == 2)
    try await answer(stack)
    #expect(try numbers(stack) == ["s1", "s2", "s3"])
  }

  @Test(arguments: Backend.available)
  func `an insert keeps out one of two equal records, and the page after the answer inserts the missing one`(
    _ backend: Backend
  ) async throws {
    for page in [["s1", "s7"], ["s7", "s1"]] {
      let stack = try await stack(backend)
      func merge() throws -> Int {
        try self.merge(
          ["id": page[0], "title": "A", "rank": Int64(5)], ["id": page[1], "title": "A", "rank": Int64(5)], into: stack
        ).inserted
      }
      #expect(try merge() == 1)
      #expect(try numbers(stack) == ["local-A", page[1]])
      try await answer(stack)
      #expect(try merge() == (page[1] == "s1" ? 1 : 0))
      #expect(try numbers(stack) == ["s1", "s7"])
    }
  }

  @Test(arguments: Backend.available)
  func `a merge that does not replace inserts the record, and the answer deletes this copy`(
    _ backend: Backend
  ) async throws {
    for (isDeleted, tombstones) in [(false, []), (true, []), (false, [MergeKey("s9")])] {
      let stack = try await stack(backend)
      if isDeleted { try stack.delete("A") }
      let note = try stack.connect.managedObjectModel.entity(named: Note.entityName)
      let page = DeltaPage(
        records: [MergeRecord(["id": "s1", "title": "A", "rank": Int64(5)])], tombstones: tombstones)
      #expect(try stack.connect.newActionContext().merge(page, for: note).inserted == 1)
      #expect(try numbers(stack) == (isDeleted ? ["s1"] : ["local-A", "s1"]))
      try await answer(stack)
      #expect(try numbers(stack) == (isDeleted ? [] : ["s1"]))
      #expect(await stack.server.records.count == (isDeleted ? 0 : 1))
    }
  }

  @Test(arguments: Backend.available)
  func `a record that the user has added to the copy is sent as a member of the record`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try await stack.connect.start()
    try stack.edit { context in
      let folder = try NoteFolder(context: context)
      (folder.id, folder.name) = ("local-F", "F")
    }
    try await stack.sendWithoutAnswer()
    let folder = try stack.connect.managedObjectModel.entity(named: NoteFolder.entityName)
    let page = DeltaPage(records: [MergeRecord(["id": "s1", "name": "F"])])
    #expect(try stack.connect.newActionContext().merge(page, for: folder).inserted == 1)
    try stack.edit { context in
      let note = try Note(context: context)
      (note.id, note.title) = ("local-A", "A")
      note.folder = try context.fetch(FetchRequest(NoteFolder.self).filter { $0.id == "s1" }).first
    }
    stack.time.advance(by: .seconds(61))
    #expect(try await stack.forwardAll(stack.options(concurrency: 1, lookahead: 0)) == 0)
    let calls = await stack.server.calls
    #expect(calls.map(\.entityName) == ["NoteFolder", "NoteFolder", "Note"])
    #expect(calls.last?.folder == .string("s1"))
    let folders = try stack.read { try $0.fetch(FetchRequest(Note.self)).map { $0.folder?.id } }
    #expect(folders == ["s1"])
  }

  /// The identifiers of all notes, in their order.
  private func numbers(_ stack: NoteStack) throws -> [String] {
    try stack.read { try $0.fetch(FetchRequest(Note.self).sort(\.id)).map(\.id) }
  }
}
