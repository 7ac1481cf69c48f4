import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

@Suite("Conflicts that a server reports")
struct ForwardingConflictTests {
  /// A stack with a note that the server has.
  private func forwarded(_ backend: Backend, rank: Int64 = 0) async throws -> NoteStack {
    let stack = try NoteStack(backend)
    try stack.insertNote("A", rank: rank)
    try await stack.forwardAll()
    return stack
  }

  /// A stack with an edit of a note's rank from 0 to 5. The server will report a conflict with its values.
  private func stack(_ backend: Backend, serverValues: [String: Int64] = ["rank": 9]) async throws -> NoteStack {
    let stack = try await forwarded(backend)
    try stack.change("A") { $0.rank = 5 }
    await stack.server.script(.answer(.conflict(serverValues)))
    return stack
  }

  private func rank(_ stack: NoteStack) throws -> Int64 {
    try stack.read { try NoteStack.note("A", in: $0).rank }
  }

  @Test(arguments: Backend.available)
  func `an edit with a conflict is parked`(_ backend: Backend) async throws {
    let stack = try await stack(backend)
    #expect(try await stack.forwardAll() == 1)
    let entry = try #require(try await stack.outbox.entries(state: .parked).first)
    #expect(entry.lastError?.hasPrefix("forwardConflict") == true && entry.isRejected)
    #expect(try rank(stack) == 5)
    #expect(stack.outbox.statistics.conflicts == 1)
  }

  @Test(arguments: Backend.available)
  func `the policy acceptServer replaces the edit by the server's values`(_ backend: Backend) async throws {
    let stack = try await stack(backend)
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: .acceptServer)) == 0)
    #expect(try rank(stack) == 9)
    #expect(await stack.server.calls.count == 2)
  }

  @Test(arguments: Backend.available)
  func `the policy acceptServer inserts a deleted record again with the server's values`(
    _ backend: Backend
  ) async throws {
    let stack = try await forwarded(backend, rank: 3)
    try stack.delete("A")
    await stack.server.script(.answer(.conflict(["rank": Int64(9)])))
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: .acceptServer)) == 0)
    #expect(try stack.ids() == ["A": "s1"])
    #expect(try rank(stack) == 9)
    // The restored record is the server's, and no edit.
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.map(\.kind) == [.insert, .delete])
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `the policy acceptServer leaves a deletion to the user when the store refuses the server's values`(
    _ backend: Backend
  ) async throws {
    let stack = try await forwarded(backend)
    try stack.delete("A")
    await stack.server.script(.answer(.conflict(["title": nil])))
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: .acceptServer)) == 1)
    #expect(try await stack.outbox.entries(state: .parked).map(\.kind) == [.delete])
    #expect(try await stack.outbox.conflicts().map(\.kind) == [.deletedLocally])
    #expect(try stack.ids().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a new record with the key of a deleted one waits for the deletion, and becomes an edit when this gives way`(
    _ backend: Backend
  ) async throws {
    let stack = try await forwarded(backend)
    try stack.delete("A")
    try stack.edit { context in
      let note = try Note(context: context)
      (note.id, note.title) = ("s1", "B")
    }
    // One call may have both edits.
    try stack.outbox.forward(Note.entityName) { [server = stack.server] handlers in
      handlers.batch { requests in await server.receive(requests) }
    }
    await stack.server.script(.answer(.conflict(["rank": Int64(9)])), .answer(.accepted))
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: .acceptServer)) == 0)
    #expect(await stack.server.calls.map(\.kind) == [.insert, .delete, .update])
    #expect(try stack.ids() == ["B": "s1"])
  }

  @Test(arguments: Backend.available)
  func `the policy sendAgain bases the edit on the server's values, and sends the edit under another key`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend)
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: .sendAgain)) == 0)
    let calls = await stack.server.calls
    #expect(calls.count == 3 && calls[1].key != calls[2].key)
    #expect(calls[1].base["rank"] == .int(0) && calls[2].base["rank"] == .int(9))
    #expect(await stack.server.records["s1"]?.values["rank"] == .int(5))
    #expect(try rank(stack) == 5)
  }

  @Test(arguments: Backend.available)
  func `an edit that is sent again in a later run has the server's values of the conflict as its base`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend, serverValues: ["rank": 9, "revision": 2])
    await stack.server.script(.fail(LostAnswer()))
    var events = stack.outbox.events.makeAsyncIterator()
    let retry = RetryPolicy(attempts: 100, initialDelay: .seconds(30), jitter: 0)
    try stack.outbox.start(stack.options(retry: retry, conflictPolicy: .sendAgain))
    while let event = await events.next() { if case .willRetry = event { break } }
    await stack.outbox.stop()
    let later = try stack.other()
    stack.time.advance(by: .seconds(60))
    #expect(try await later.forwardAll(later.options(conflictPolicy: .sendAgain)) == 0)
    let calls = await stack.server.calls
    #expect(calls.count == 4 && calls[2].key == calls[3].key)
    // Every attempt under a key has the same bases: those of the changed attributes.
    #expect(calls[2].base == ["rank": .int(9)] && calls[3].base == calls[2].base)
    #expect(try rank(later) == 5)
  }

  @Test(arguments: Backend.available)
  func `an update whose values the server's record has already is accepted, and in no conflict`(
    _ backend: Backend
  ) async throws {
    let stack = try await forwarded(backend)
    try stack.change("A") { $0.rank = 5 }
    // The reply is lost, and the server then refuses the update by its own new revision.
    await stack.server.script(.loseAnswer, .answer(.conflict(["rank": Int64(5), "revision": Int64(2)])))
    #expect(try await stack.forwardAll() == 0)
    #expect(try await stack.outbox.conflictCount() == 0)
    #expect(await stack.server.calls.map(\.kind) == [.insert, .update, .update])
    #expect(try rank(stack) == 5)
    #expect(try stack.read { try NoteStack.note("A", in: $0).revision } == 2)
  }

  @Test func `a custom policy decides about each conflict`() async throws {
    let stack = try await stack(.inMemory)
    let policy = ForwardConflictPolicy.custom { request, values in
      values["rank"] == .int(9) && request["rank"] == .int(5) ? .acceptServer : .park
    }
    #expect(try await stack.forwardAll(stack.options(conflictPolicy: policy)) == 0)
    #expect(try rank(stack) == 9)
  }

  // MARK: Decisions of the user

  /// A stack with a parked edit, and its conflict.
  private func parked(_ backend: Backend) async throws -> (NoteStack, OutboxConflict) {
    let stack = try await stack(backend)
    #expect(try await stack.forwardAll() == 1)
    return (stack, try #require(try await stack.outbox.conflicts().first))
  }

  @Test(arguments: Backend.available)
  func `the conflict of a parked edit is listed with the values of both sides`(_ backend: Backend) async throws {
    let (stack, conflict) = try await parked(backend)
    #expect(conflict.kind == .bothChanged && conflict.entityName == "Note")
    #expect(conflict.properties.map(\.name) == ["rank"])
    #expect(conflict.properties.map(\.base) == [.int(0)])
    #expect(conflict.properties.map(\.local) == [.int(5)])
    #expect(conflict.properties.map(\.server) == [.int(9)])
    #expect(try await stack.outbox.conflictCount() == 1)
  }

  @Test func `a number of a reply equals a recorded number of another type, and is in no conflict`() async throws {
    let model = try ManagedObjectModel {
      Entity("Jar", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .string)
        Attribute("weight", .double, default: 2.0)
        Attribute("height", .float, default: Float(0.1))
        Attribute("rank", .int64, default: Int64(0))
      }
    }.addingOutbox()
    let stack = try OutboxStack(on: .inMemory, model: model, entities: ["Jar"])
    try stack.outbox.forward("Jar") { handlers in
      handlers.insert { _ in .accepted }
      handlers.update { _ in .conflict(["weight": Int(2), "height": Double(0.1), "rank": Int64(9)]) }
    }
    try stack.save { try $0.insertNewObject(forEntityName: "Jar").setValue("a", for: "id") }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    try stack.save { context in
      let jar = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Jar")).first)
      try jar.setValue(3.0, for: "weight")
      try jar.setValue(Float(0.3), for: "height")
      try jar.setValue(Int64(5), for: "rank")
    }
    #expect(try await stack.outbox.flush() == 1)
    await stack.outbox.stop()
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.properties.map(\.name) == ["rank"])
  }

  @Test(arguments: Backend.available)
  func `keeping a parked edit sends the edit on top of the server's values, under another key`(
    _ backend: Backend
  ) async throws {
    let (stack, conflict) = try await parked(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    #expect(try await stack.forwardAll() == 0)
    let calls = await stack.server.calls
    #expect(calls.count == 3 && calls[1].key != calls[2].key && calls[2].base["rank"] == .int(9))
    #expect(await stack.server.records["s1"]?.values["rank"] == .int(5))
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `keeping a parked deletion that follows an edit sends the deletion under another key`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend)
    try stack.delete("A")
    #expect(try await stack.forwardAll() == 2)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.kind == .deletedLocally)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    #expect(try await stack.forwardAll() == 0)
    let calls = await stack.server.calls
    #expect(calls.map(\.kind) == [.insert, .delete, .delete] && calls[1].key != calls[2].key)
    #expect(await stack.server.records.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `keeping the server's values drops a parked edit`(_ backend: Backend) async throws {
    let (stack, conflict) = try await parked(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try rank(stack) == 9)
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.count == 2)
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `keeping the server's values drops an edit whose properties the server's reply does not name`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend, serverValues: ["revision": 2])
    #expect(try await stack.forwardAll() == 1)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.properties.map(\.name) == ["rank"] && conflict.properties.map(\.server) == [nil])
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try rank(stack) == 0)
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.count == 2)
  }

  @Test(arguments: Backend.available)
  func `an edit that gives way without the server's values restores its bases`(
    _ backend: Backend
  ) async throws {
    for resolves in [false, true] {
      let stack = try NoteStack(backend)
      try stack.insertFolders()
      try await stack.forwardAll()
      try stack.change("A") { $0.rank = 5 }
      try stack.move(to: "G")
      await stack.server.script(.answer(.conflict(["revision": Int64(2)])))
      let policy: ForwardConflictPolicy = resolves ? .park : .acceptServer
      #expect(try await stack.forwardAll(stack.options(conflictPolicy: policy)) == (resolves ? 2 : 0))
      if resolves {
        let conflict = try #require(try await stack.outbox.conflicts().first)
        try await stack.outbox.resolve(conflict.id, keeping: .server)
      }
      let note = try stack.read { context in
        let note = try NoteStack.note("A", in: context)
        return [note.folder?.name, String(note.rank)]
      }
      #expect(note == ["F", "0"])
      #expect(try await stack.outbox.counts().total == 0)
    }
  }

  @Test(arguments: Backend.available)
  func `an edit after one that gives way without the server's values is based on the restored value`(
    _ backend: Backend
  ) async throws {
    let stack = try await forwarded(backend)
    try stack.change("A") { $0.rank = 5 }
    let gate = ServerGate()
    await stack.server.hold(at: gate)
    await stack.server.script(.answer(.conflict(["revision": Int64(2)])))
    try stack.outbox.start(stack.options(conflictPolicy: .acceptServer))
    await stack.server.untilCalled(2)
    try stack.change("A") { $0.rank = 6 }
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let calls = await stack.server.calls
    #expect(calls.map { $0.base["rank"] } == [nil, .int(0), .int(0)])
    #expect(try rank(stack) == 6)
  }

  @Test(arguments: Backend.available)
  func `an insert of a record that the server has becomes an update of the server's record`(
    _ backend: Backend
  ) async throws {
    let first = try await forwarded(backend)
    let stack = try NoteStack(backend, server: first.server)
    await stack.server.script(.answer(.conflict(["id": "s1", "title": "A", "rank": Int64(0)])))
    try stack.insertNote("A", rank: 5)
    #expect(try await stack.forwardAll() == 1)
    let entry = try #require(try await stack.outbox.entries(state: .parked).first)
    #expect(entry.kind == .update && entry.identity == ["id": .string("s1")] && entry["title"] == nil)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.properties.map(\.name) == ["rank"] && conflict.properties.map(\.server) == [.int(0)])
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    #expect(try await stack.forwardAll() == 0)
    #expect(try stack.ids() == ["A": "s1"])
    #expect(await stack.server.records["s1"]?.values["rank"] == .int(5))
  }

  enum Decision: CaseIterable {
    case retry, retryAll, edit, drop
  }

  @Test(arguments: Backend.available, Decision.allCases)
  func `retrying, editing or dropping the parked entry deletes its conflict`(_ backend: Backend, _ decision: Decision)
    async throws
  {
    let (stack, _) = try await parked(backend)
    let entry = try #require(try await stack.outbox.entries(state: .parked).first)
    switch decision {
    case .retry: try await stack.outbox.retry(entry.id)
    case .retryAll: #expect(try await stack.outbox.retryAll() == 1)
    case .edit: try await stack.outbox.edit(entry.id) { try $0.set("rank", to: Int64(6)) }
    case .drop: #expect(try await stack.outbox.drop(entry.id) == 1)
    }
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `parking, retrying or dropping a later entry of the record keeps the conflict`(_ backend: Backend) async throws {
    let (stack, _) = try await parked(backend)
    try stack.change("A") { $0.rank = 6 }
    let later = try #require(try await stack.outbox.entries(state: .pending).first)
    try await stack.outbox.park(later.id)
    try await stack.outbox.retry(later.id)
    try await stack.outbox.drop(later.id)
    #expect(try await stack.outbox.conflictCount() == 1)
  }

  // MARK: Merges

  /// Merges a page with the note's rank on the server, requested after the last reply.
  private func mergeRank(_ rank: Int64, _ stack: NoteStack) throws {
    stack.time.advance(by: .seconds(1))
    try stack.connect.newActionContext().merge(
      records: [MergeRecord(["id": "s1", "rank": rank])],
      for: try stack.connect.managedObjectModel.entity(named: Note.entityName))
  }

  @Test(arguments: Backend.available)
  func `a refused edit is sent again under another key after a page has its base`(_ backend: Backend) async throws {
    let (stack, _) = try await parked(backend)
    try await stack.connect.start()
    try mergeRank(9, stack)
    #expect(try await stack.outbox.conflictCount() == 1)
    try mergeRank(0, stack)
    #expect(try await stack.outbox.conflictCount() == 0)
    #expect(try await stack.forwardAll() == 0)
    let calls = await stack.server.calls
    #expect(calls.count == 3 && calls[1].key != calls[2].key && calls[2].base["rank"] == .int(0))
    #expect(try rank(stack) == 5)
  }

  @Test(arguments: Backend.available)
  func `an edit that the server refused without its values waits for the user although a page has the base`(
    _ backend: Backend
  ) async throws {
    let stack = try await stack(backend, serverValues: ["revision": 2])
    #expect(try await stack.forwardAll() == 1)
    try await stack.connect.start()
    try mergeRank(0, stack)
    #expect(try await stack.outbox.conflictCount() == 1)
    #expect(try await stack.outbox.entries(state: .parked).count == 1)
  }
}
