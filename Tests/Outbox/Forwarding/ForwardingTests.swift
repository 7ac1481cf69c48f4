import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import TestSupport
import Testing

@Suite("Forwarding of edits")
struct ForwardingTests {
  @Test(arguments: Backend.available)
  func `an inserted record is sent with its values, and gets the key of the server`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A", rank: 3)
    #expect(try await stack.forwardAll() == 0)
    let record = try #require(await stack.server.records["s1"])
    #expect(record.values["title"] == .string("A") && record.values["rank"] == .int(3))
    #expect(try stack.ids() == ["A": "s1"])
    #expect(stack.outbox.statistics.accepted == 1 && stack.outbox.statistics.inFlight == 0)
  }

  @Test(arguments: Backend.available)
  func `edits of a record before the first request become one request`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try stack.change("A") { $0.title = "B" }
    try stack.change("B") { $0.rank = 7 }
    try await stack.forwardAll()
    let calls = await stack.server.calls
    #expect(calls.map(\.kind) == [.insert])
    #expect(calls[0].values["title"] == .string("B") && calls[0].values["rank"] == .int(7))
    #expect(stack.outbox.statistics.coalesced == 2)
  }

  @Test func `a record inserted and deleted before the first request is never sent`() async throws {
    let stack = try NoteStack()
    try stack.insertNote("A")
    try stack.delete("A")
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `edits during the request of a record wait, and are sent under the key of the server`(_ backend: Backend)
    async throws
  {
    let stack = try NoteStack(backend)
    let gate = try await stack.startHeld(sending: "A")
    try stack.change("A") { $0.title = "B" }
    try stack.change("B") { $0.rank = 7 }
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let calls = await stack.server.calls
    #expect(calls.map(\.kind) == [.insert, .update])
    #expect(calls[0].values["title"] == .string("A"))
    #expect(calls[1].values == ["title": .string("B"), "rank": .int(7)])
    #expect(calls[1].base == ["title": .string("A"), "rank": .int(0)])
    #expect(calls[1].id == .string("s1"))
    #expect(calls[0].key != calls[1].key)
  }

  @Test(arguments: Backend.available)
  func `a child is sent after its parent, with the key of the server for the parent`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.edit { context in
      let note = try Note(context: context)
      note.id = "local-note"
      let folder = try NoteFolder(context: context)
      folder.id = "local-folder"
      note.folder = folder
    }
    #expect(try await stack.forwardAll(stack.options(concurrency: 4, lookahead: 8)) == 0)
    let calls = await stack.server.calls
    #expect(calls.map(\.entityName) == ["NoteFolder", "Note"])
    #expect(calls[1].folder == .string("s1"))
  }

  @Test func `a parent is deleted after its children`() async throws {
    let stack = try NoteStack()
    try stack.edit { context in
      let folder = try NoteFolder(context: context)
      folder.id = "local-folder"
      for index in 0..<3 {
        let note = try Note(context: context)
        note.id = "local-\(index)"
        note.folder = folder
      }
    }
    try await stack.forwardAll()
    try stack.edit { context in
      for folder in try context.fetch(FetchRequest(NoteFolder.self)) { context.delete(folder) }
    }
    #expect(try await stack.forwardAll(stack.options(concurrency: 4)) == 0)
    #expect(await stack.server.records.isEmpty)
    #expect(await stack.server.calls.map(\.entityName).last == "NoteFolder")
  }

  @Test(arguments: Backend.available)
  func `a starting outbox sends the edits of an earlier process`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    let later = try stack.other()
    #expect(try await later.forwardAll() == 0)
    #expect(try stack.ids() == ["A": "s1"])
  }

  @Test(arguments: Backend.available)
  func `values of the server do not replace a later local edit`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let gate = ServerGate()
    await stack.server.hold(at: gate)
    await stack.server.script(
      .answer(.accepted(["id": "s9", "title": "Server", "revision": Int64(7)])), .answer(.accepted))
    try stack.insertNote("A")
    try stack.outbox.start(stack.options())
    await stack.server.untilCalled(1)
    try stack.change("A") { $0.title = "Mine" }
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(try stack.ids() == ["Mine": "s9"])
    let base = try #require(await stack.server.calls.last).base
    #expect(base["title"] == .string("Server"), "The server compares the edit with its own value.")
    #expect(try stack.read { try NoteStack.note("Mine", in: $0).revision } == 7)
  }

  @Test(arguments: Backend.available)
  func `a reply without the key of its record leaves the key as it is, and clears other values`(
    _ backend: Backend
  ) async throws {
    let model = try ManagedObjectModel {
      Entity("Jar", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .string, optional: true)
        Attribute("label", .string, optional: true)
      }
    }.addingOutbox()
    let stack = try OutboxStack(on: backend, model: model, entities: ["Jar"])
    try stack.outbox.forward("Jar") { handlers in
      handlers.insert { _ in .accepted(["id": "s1"]) }
      handlers.update { _ in .accepted(["id": nil, "label": nil]) }
    }
    try stack.save { try $0.insertNewObject(forEntityName: "Jar").setValue("jam", for: "label") }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    try stack.save { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Jar")).first?.setValue("honey", for: "label")
    }
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    try stack.save { context in
      let jar = try #require(try context.fetch(FetchRequest<ManagedObject>(entityName: "Jar")).first)
      let values = [try jar.value(for: "id"), try jar.value(for: "label")]
      #expect(values == [.string("s1"), .null])
    }
  }

  @Test func `an edit of a record that a merge has deleted is sent with its recorded values`() async throws {
    let stack = try NoteStack()
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.rank = 5 }
    let context = stack.connect.newActionContext()
    try context.performAndWait {
      context.delete(try NoteStack.note("A", in: context))
      try context.save()
    }
    await stack.server.script(.answer(.accepted(["rank": Int64(6)])))
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.last?.values == ["rank": .int(5)])
    #expect(await stack.server.calls.last?.id == .string("s1"))
  }

  @Test(arguments: Backend.available)
  func `a new record waits for the update by which an earlier record gives its key up`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.id = "moved" }
    try stack.edit { context in
      let note = try Note(context: context)
      (note.id, note.title) = ("s1", "B")
    }
    await stack.server.script(.answer(.rejected(ServerRefusal())))
    #expect(try await stack.forwardAll() == 2)
    #expect(await stack.server.calls.map(\.kind) == [.insert, .update])
    let parked = try #require(try await stack.outbox.entries(state: .parked).first)
    try await stack.outbox.retry(parked.id)
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.map(\.kind) == [.insert, .update, .update, .insert])
    #expect(try stack.ids() == ["A": "moved", "B": "s2"])
  }

  @Test(arguments: Backend.available, [OutboxEntry.Kind.update, .delete])
  func `an update waits for the parked update or deletion by which an earlier record gives the new key up`(
    _ backend: Backend, kind: OutboxEntry.Kind
  ) async throws {
    let stack = try NoteStack(backend)
    for title in ["A", "B", "C"] {
      try stack.insertNote(title)
      try await stack.forwardAll()
    }
    if kind == .delete { try stack.delete("A") } else { try stack.change("A") { $0.id = "moved" } }
    try stack.change("B") { $0.id = "s1" }
    try stack.change("C") { $0.rank = 5 }
    await stack.server.script(.answer(.rejected(ServerRefusal())))
    #expect(try await stack.forwardAll() == 2)
    #expect(await stack.server.calls.dropFirst(3).map(\.kind) == [kind, .update])
    #expect(await stack.server.calls.last?.values == ["rank": .int(5)])
    let parked = try #require(try await stack.outbox.entries(state: .parked).first)
    try await stack.outbox.retry(parked.id)
    #expect(try await stack.forwardAll(stack.options(concurrency: 2)) == 0)
    #expect(await stack.server.calls.dropFirst(5).map(\.kind) == [kind, .update])
    #expect(await stack.server.calls.last?.values == ["id": .string("s1")])
    #expect(try stack.ids()["B"] == "s1")
  }

  @Test(arguments: Backend.available)
  func `updates by which two records exchange their keys do not wait for each other`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    for title in ["A", "B"] {
      try stack.insertNote(title)
      try await stack.forwardAll()
    }
    for (title, id) in [("A", "moved"), ("B", "s1"), ("A", "s2")] { try stack.change(title) { $0.id = id } }
    await stack.server.script(.answer(.rejected(ServerRefusal())))
    #expect(try await stack.forwardAll() == 2)
    #expect(await stack.server.calls.dropFirst(2).map(\.values) == [["id": .string("s2")], ["id": .string("s1")]])
    let parked = try #require(try await stack.outbox.entries(state: .parked).first)
    try await stack.outbox.retry(parked.id)
    #expect(try await stack.forwardAll() == 0)
    #expect(try stack.ids() == ["A": "s2", "B": "s1"])
  }

  @Test func `typed requests have the values of their properties`() async throws {
    let stack = try NoteStack()
    let (stream, continuation) = AsyncStream<ForwardRequest<Note>>.makeStream()
    try stack.outbox.forward(Note.self) { handlers in
      handlers.insert { request in
        continuation.yield(request)
        return .accepted
      }
    }
    try stack.insertNote("A", rank: 4)
    try await stack.forwardAll()
    var requests = stream.makeAsyncIterator()
    let request = try #require(await requests.next())
    #expect(request[\.title] == "A" && request[\.rank] == 4 && request.key(\.id) == "local-A")
    #expect(request.reference(\.folder) == nil && request.attempt == 1 && request["title"] == .string("A"))
  }

  @Test func `an outbox without handlers does not start`() throws {
    let model = try ManagedObjectModel(NoteFolder.self, Note.self).addingOutbox()
    let connect = NoteConnect(name: "Notes", managedObjectModel: model)
    let outbox = try Outbox(connect, forwarding: Note.self)
    #expect { try outbox.start() } throws: { ErrorCode.illegalState ~= $0 }
    #expect { try outbox.forward(NoteFolder.self) { _ in } } throws: { ErrorCode.unmanagedEntity ~= $0 }
  }
}
