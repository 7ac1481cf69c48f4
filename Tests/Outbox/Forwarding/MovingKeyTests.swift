import CoherenceCore
@testable import CoherenceOutbox
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

/// Requests around the updates that change the keys of records.
@Suite("Requests and changed keys", .timeLimit(.minutes(15)))
struct MovingKeyTests {
  /// A stack with the note "A", which the server knows as "s1", and whose update of the key to "k1" has no answer.
  private func stackWithUnansweredKey(_ backend: Backend) async throws -> NoteStack {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.id = "k1" }
    try await stack.sendWithoutAnswer()
    return stack
  }

  private func insertNote(_ title: String, id: String, in stack: NoteStack) throws {
    try stack.edit { context in
      let note = try Note(context: context)
      (note.id, note.title) = (id, title)
    }
  }

  @Test(arguments: Backend.available)
  func `a new record waits for both updates between which an earlier record has its key`(
    _ backend: Backend
  ) async throws {
    let stack = try await stackWithUnansweredKey(backend)
    try stack.change("A") { $0.id = "k2" }
    try insertNote("B", id: "k1", in: stack)
    let first = try #require(try await stack.outbox.entries().first)
    try await stack.outbox.park(first.id)
    #expect(try await stack.forwardAll() == 3)
    #expect(await stack.server.calls.map(\.kind) == [.insert, .update])
    try await stack.outbox.retry(first.id)
    await stack.server.script(.answer(.accepted), .answer(.accepted))
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.dropFirst(2).map(\.kind) == [.update, .update, .insert])
    #expect(try stack.ids() == ["A": "k2", "B": "s2"])
  }

  @Test(arguments: Backend.available)
  func `a delete follows the repeated update of the key whose answer was lost, and has the new key`(
    _ backend: Backend
  ) async throws {
    let stack = try await stackWithUnansweredKey(backend)
    try stack.delete("A")
    stack.time.advance(by: .seconds(31))
    await stack.server.script(.answer(.accepted), .answer(.accepted))
    #expect(try await stack.forwardAll() == 0)
    let calls = await stack.server.calls
    #expect(calls.dropFirst().map(\.kind) == [.update, .update, .delete])
    #expect(calls.dropFirst().compactMap(\.id) == [.string("s1"), .string("s1"), .string("k1")])
    #expect(calls[1].key == calls[2].key)
  }

  @Test(arguments: Backend.available)
  func `a delete whose own answer was lost is repeated without the update of the key before it`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.id = "k1" }
    try stack.delete("A")
    try await stack.sendWithoutAnswer()
    stack.time.advance(by: .seconds(31))
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.map(\.kind) == [.insert, .delete, .delete])
  }

  @Test(arguments: Backend.available)
  func `an insert with the key of its later update waits for the update by which an earlier record gives the key up`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.insertNote("B")
    try stack.change("A") { $0.id = "moved" }
    try stack.change("B") { $0.id = "s1" }
    await stack.server.script(.answer(.rejected(ServerRefusal())))
    #expect(try await stack.forwardAll() == 3)
    #expect(await stack.server.calls.map(\.kind) == [.insert, .update])
    let parked = try #require(try await stack.outbox.entries(state: .parked).first)
    try await stack.outbox.retry(parked.id)
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.dropFirst(2).map(\.kind) == [.update, .insert])
    #expect(await stack.server.calls.last?.values["id"] == .string("s1"))
  }

  @Test(arguments: Backend.available)
  func `a request that names a record waits for the unanswered update of that record's key`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertFolders()
    try await stack.forwardAll()
    try changeFolderKey(in: stack)
    try await stack.sendWithoutAnswer()
    let update = try #require(try await stack.outbox.entries().first)
    try await stack.outbox.park(update.id)
    try insertMember("B", in: stack)
    #expect(try await stack.forwardAll() == 2)
    #expect(await stack.server.calls.count == 4)
    try await stack.outbox.retry(update.id)
    await stack.server.script(.answer(.accepted), .answer(.accepted(["id": "s4"])))
    #expect(try await stack.forwardAll() == 0)
    #expect(await stack.server.calls.dropFirst(4).map(\.kind) == [.update, .insert])
    #expect(await stack.server.calls.last?.folder == .string("f1"))
  }

  @Test(arguments: Backend.available)
  func `the update of a key waits for the request on its way that names the record`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.insertFolders()
    try await stack.forwardAll()
    let gate = ServerGate()
    await stack.server.hold(at: gate)
    try insertMember("B", in: stack)
    try stack.outbox.start(stack.options(concurrency: 4))
    await stack.server.untilCalled(4)
    try changeFolderKey(in: stack)
    try stack.insertNote("C")
    await stack.server.untilCalled(5)
    #expect(await stack.server.calls.dropFirst(3).map(\.kind) == [.insert, .insert])
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await stack.server.calls.dropFirst(5).map(\.kind) == [.update])
  }

  @Test(arguments: Backend.available)
  func `the update of a reference that a request left out has the key that the request has given its record`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertFolders()
    try await stack.forwardAll()
    let (noteID, folderID) = try stack.edit { context in
      let note = try NoteStack.note("A", in: context)
      let folder = try #require(note.folder)
      let ids = (note.id, folder.id)
      let other = try NoteFolder(context: context)
      (other.name, note.folder, note.id) = ("H", other, "k1")
      context.delete(folder)
      other.id = ids.1
      return ids
    }
    await stack.server.script(
      .answer(.accepted), .answer(.accepted), .answer(.accepted(["id": "s9"])), .answer(.accepted))
    #expect(try await stack.forwardAll() == 0)
    let calls = await stack.server.calls.dropFirst(3)
    #expect(calls.map(\.kind) == [.update, .delete, .insert, .update])
    #expect(calls.compactMap(\.id) == [noteID, folderID, folderID, "k1"].map { AttributeValue.string($0) })
    #expect(calls.last?.folder == .string("s9"))
  }

  @Test(arguments: Backend.available, [true, false])
  func `an edit after an update of the key that gives way names the record by the server's key`(
    _ backend: Backend, reportsKey: Bool
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.id = "k1" }
    let gate = ServerGate()
    await stack.server.hold(at: gate)
    await stack.server.script(.answer(reportsKey ? .conflict(["id": "s1"]) : .conflict(["revision": Int64(2)])))
    try stack.outbox.start(stack.options(conflictPolicy: .acceptServer))
    await stack.server.untilCalled(2)
    try stack.change("A") { $0.rank = 6 }
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await stack.server.calls.dropFirst().compactMap(\.id) == [.string("s1"), .string("s1")])
    #expect(await stack.server.records["s1"]?.values["rank"] == .int(6))
    #expect(try stack.ids() == ["A": "s1"])
  }

  @Test(arguments: Backend.available, ["s1", "s9", nil] as [String?])
  func `an edit behind a conflict over the key names the record by the server's key that the user keeps`(
    _ backend: Backend, reportedKey: String?
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.id = "k1" }
    let conflict: ForwardAnswer
    if let reportedKey {
      conflict = .conflict(["id": reportedKey])
    } else {
      conflict = .conflict(["revision": Int64(2)])
    }
    await stack.server.script(.answer(conflict), .answer(.accepted))
    #expect(try await stack.forwardAll() == 1)
    try stack.change("A") { $0.rank = 6 }
    let found = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(found.id, keeping: .server)
    #expect(try await stack.forwardAll() == 0)
    let key = reportedKey ?? "s1"
    let calls = await stack.server.calls
    #expect(calls.dropFirst().compactMap(\.id) == [.string("s1"), .string(key)])
    #expect(calls.last?.values["rank"] == .int(6))
    #expect(try stack.ids() == ["A": key])
  }

  @Test(arguments: Backend.available, [true, false])
  func `a new record with the key of an earlier update is no copy of the record that has given the key up again`(
    _ backend: Backend, deletes: Bool
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.id = "k1" }
    let gate = ServerGate()
    await stack.server.hold(at: gate)
    await stack.server.script(.answer(.accepted(["id": "k1"])), .answer(.accepted), .answer(.accepted))
    try stack.outbox.start(stack.options())
    await stack.server.untilCalled(2)
    if deletes { try stack.delete("A") } else { try stack.change("A") { $0.id = "k2" } }
    try insertNote("B", id: "k1", in: stack)
    gate.open()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    #expect(await stack.server.calls.dropFirst(2).map(\.kind) == [deletes ? .delete : .update, .insert])
    #expect(try stack.ids() == (deletes ? ["B": "k1"] : ["A": "k2", "B": "k1"]))
  }

  @Test(arguments: Backend.available)
  func `a new record that has given its first key up does not wait for the record that had the key before`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.id = "moved" }
    await stack.server.script(.answer(.rejected(ServerRefusal())))
    #expect(try await stack.forwardAll() == 1)
    try insertNote("B", id: "s1", in: stack)
    #expect(try await stack.forwardAll() == 2)
    try stack.change("B") { $0.id = "b1" }
    #expect(try await stack.forwardAll() == 1)
    let calls = await stack.server.calls
    #expect(calls.map(\.kind) == [.insert, .update, .insert])
    #expect(calls.last?.values["id"] == .string("b1"))
  }

  @Test(arguments: Backend.available, [false, true])
  func `records that seem to wait for each other by the first key of a new record are sent by its last key`(
    _ backend: Backend, isBesideDamagedSave: Bool
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertFolders()
    try insertMember("B", in: stack)
    try await stack.forwardAll()
    // The oldest edit of the circle, whose request takes the key of the other note.
    try stack.change("A") { $0.rank = 1 }
    try stack.edit { context in
      let notes = try ["A", "B"].map { try NoteStack.note($0, in: context) }
      let folder = try #require(notes[0].folder)
      let other = try NoteFolder(context: context)
      other.name = "H"
      for note in notes { note.folder = other }
      let id = folder.id
      context.delete(folder)
      other.id = id
    }
    try stack.edit { context in
      let notes = try ["A", "B"].map { try NoteStack.note($0, in: context) }
      notes[0].folder?.id = "h1"
      (notes[0].id, notes[1].id) = (notes[1].id, "b1")
    }
    if isBesideDamagedSave {
      try stack.outbox.makeEntries()
      try stack.insertNote("C")
      try damageLog(of: stack)
    }
    #expect(try await stack.forwardAll() == (isBesideDamagedSave ? 1 : 0))
    let calls = await stack.server.calls.dropFirst(4)
    #expect(calls.map(\.kind) == [.insert, .update, .update, .delete])
    let ids = calls.map { $0.values["id"] }
    #expect(ids[1] == .string("b1") && ids[2] == calls.dropFirst().first?.id)
  }

  /// Damages the stored bytes of the records of the log.
  private func damageLog(of stack: NoteStack) throws {
    let context = stack.outbox.newContext()
    try context.performAndWait {
      for log in try context.fetch(FetchRequest(OutboxLogRecord.self)) {
        try log.setAttributeValue(.data(Data(log.payload.dropLast(3))), for: "payload")
      }
      try context.save()
    }
  }

  /// Gives the folder "F" the key "f1".
  private func changeFolderKey(in stack: NoteStack) throws {
    try stack.edit { context in
      try context.fetch(FetchRequest(NoteFolder.self).filter { $0.name == "F" }).first?.id = "f1"
    }
  }

  /// Inserts a note in the folder "F".
  private func insertMember(_ title: String, in stack: NoteStack) throws {
    try stack.edit { context in
      let note = try Note(context: context)
      (note.id, note.title) = ("local-\(title)", title)
      note.folder = try context.fetch(FetchRequest(NoteFolder.self).filter { $0.name == "F" }).first
    }
  }
}
