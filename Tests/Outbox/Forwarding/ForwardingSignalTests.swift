import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Synchronization
import TestSupport
import Testing

@Suite("Forwarders that other processes wake", .timeLimit(.minutes(15)))
struct ForwardingSignalTests {
  @Test(arguments: Backend.available)
  func `an idle forwarder sends the edit that another process saves`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try other.outbox.start(other.options())
    #expect(try await other.outbox.flush() == 0)
    try stack.insertNote("A")
    await stack.server.untilCalled(1)
    #expect(try await other.outbox.flush() == 0)
    await other.outbox.stop()
    #expect(await stack.server.applied.count == 1)
    #expect(try stack.ids() == ["A": "s1"])
  }

  @Test(arguments: Backend.available)
  func `an idle forwarder sends the entry that another process retries`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    await stack.server.script(.answer(.rejected(ServerRefusal())))
    try stack.insertNote("A")
    try other.outbox.start(other.options())
    #expect(try await other.outbox.flush() == 1)
    let entry = try #require(try await stack.outbox.entries(state: .parked).first)
    try await stack.outbox.retry(entry.id)
    await stack.server.untilCalled(2)
    #expect(try await other.outbox.flush() == 0)
    await other.outbox.stop()
  }

  @Test(arguments: Backend.available)
  func `an idle forwarder sends the edit whose conflict another process resolves`(_ backend: Backend) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try stack.insertNote("A")
    try await stack.forwardAll()
    try stack.change("A") { $0.rank = 5 }
    await stack.server.script(.answer(.conflict(["rank": Int64(9)])))
    try other.outbox.start(other.options())
    #expect(try await other.outbox.flush() == 1)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    await stack.server.untilCalled(3)
    #expect(try await other.outbox.flush() == 0)
    await other.outbox.stop()
    #expect(await stack.server.records["s1"]?.values["rank"] == .int(5))
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `another forwarder sends the edits released by a paused forwarder at once`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    let gate = try await stack.startHeld(sending: "A", "B", "C", options: stack.options(lookahead: 8))
    try other.outbox.start(other.options())
    // At this sleep the other forwarder has searched, and waits for the end of the leases.
    await stack.time.untilSleeping(for: .seconds(60))
    stack.outbox.pause()
    await stack.server.untilCalled(3)
    gate.open()
    try await stack.outbox.flush()
    #expect(try await other.outbox.flush() == 0)
    await stack.outbox.stop()
    await other.outbox.stop()
    #expect(await stack.server.applied.count == 3)
  }

  @Test(arguments: Backend.available)
  func `an idle forwarder sends a blocked edit after a merge of another process deletes the blocking entry`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try stack.edit { context in
      let folder = try NoteFolder(context: context)
      (folder.id, folder.name) = ("local-F", "F")
      let note = try Note(context: context)
      (note.id, note.title, note.folder) = ("local-A", "A", folder)
    }
    #expect(try await stack.forwardAll() == 0)
    await stack.server.script(.answer(.rejected(ServerRefusal())))
    try stack.change("A") { $0.folder = nil }
    #expect(try await stack.forwardAll() == 1)
    try stack.edit { context in
      for folder in try context.fetch(FetchRequest(NoteFolder.self)) { context.delete(folder) }
    }
    try other.outbox.start(other.options())
    // The delete of the folder waits for the parked edit, by which the note leaves the folder.
    #expect(try await other.outbox.flush() == 2)
    let calls = await stack.server.calls.count
    try mergeEmptyPage(in: stack)
    await stack.server.untilCalled(calls + 1)
    #expect(await stack.server.calls.last?.kind == .delete)
    #expect(try await other.outbox.flush() <= 1)
    await other.outbox.stop()
  }

  /// Merges a whole page without notes, which deletes the local notes and their entries.
  private func mergeEmptyPage(in stack: NoteStack) throws {
    try stack.connect.start()
    let entity = try stack.connect.managedObjectModel.entity(named: Note.entityName)
    let options = MergeOptions(mode: .replace, maximumDeletedShare: 1, pendingEdits: .server)
    try stack.connect.newActionContext().merge(records: [MergeRecord](), for: entity, options: options)
  }

  @Test func `a save sends a signal only if it adds an entry`() throws {
    let stack = try NoteStack()
    let store = try #require(stack.connect.persistentStoreCoordinator.persistentStores.first as? any StoreSignaling)
    let count = SignalCount()
    let listening = try store.listen(to: "coherence.outbox") { count.rise() }
    #expect(count.value == 1)
    try stack.insertNote("A")
    #expect(count.value == 2)
    let context = stack.connect.newActionContext()
    try context.performAndWait {
      try Note(context: context).id = "of the server"
      try context.save()
    }
    #expect(count.value == 2)
    withExtendedLifetime(listening) {}
  }

  /// A count of the calls of a listener.
  private final class SignalCount: Sendable {
    private let calls = Atomic<Int>(0)
    var value: Int { calls.load(ordering: .relaxed) }
    func rise() { calls.add(1, ordering: .relaxed) }
  }
}
