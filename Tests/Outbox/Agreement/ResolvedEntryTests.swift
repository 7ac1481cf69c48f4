import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import TestSupport
import Testing

/// The entries that a decision over a record with several entries leaves, and the entities of which merges ask.
@Suite("Entries after a decision", .timeLimit(.minutes(15)))
struct ResolvedEntryTests {
  /// A stack whose task 1 has two edits here, and is deleted on the server, with the conflict.
  private func deletedOnServer(_ backend: Backend) async throws -> (AgreementStack, OutboxConflict) {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    try stack.set("noted", for: "note", of: 1)
    try stack.merge(AgreementStack.page([2: "old"]), .keepLocal, .replace)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.kind == .deletedOnServer)
    return (stack, conflict)
  }

  @Test(arguments: Backend.available)
  func `a record sent as new has one entry with the values of all edits`(backend: Backend) async throws {
    let (stack, conflict) = try await deletedOnServer(backend)
    let keys = try await stack.outbox.entries().map(\.idempotencyKey)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    let entries = try await stack.outbox.entries()
    #expect(entries.map(\.kind) == [.insert] && entries.map(\.state) == [.pending])
    #expect(entries.first?["title"]?.value == .value(.string("edited")))
    #expect(entries.first?["note"]?.value == .value(.string("noted")))
    // The server assigns the version.
    #expect(entries.first?["version"] == nil)
    #expect(!keys.contains { $0 == entries.first?.idempotencyKey })
  }

  @Test(arguments: Backend.available)
  func `a decision makes the entries of the log`(backend: Backend) async throws {
    let (stack, conflict) = try await deletedOnServer(backend)
    try stack.set("edited", of: 2)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    let count = try stack.edit { try $0.count(for: FetchRequest<ManagedObject>(entityName: "CoherenceOutboxLog")) }
    #expect(count == 0)
  }

  @Test(arguments: Backend.available)
  func `chosen values of a record that the server has deleted are stored, and sent with the new record`(
    backend: Backend
  ) async throws {
    let (stack, conflict) = try await deletedOnServer(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .values(["title": "both"]))
    #expect(try stack.titles() == [1: "both", 2: "old"])
    let entries = try await stack.outbox.entries()
    #expect(entries.map(\.kind) == [.insert] && entries.map(\.state) == [.pending])
    #expect(entries.first?["title"]?.value == .value(.string("both")))
    #expect(entries.first?["note"]?.value == .value(.string("noted")))
  }

  @Test(arguments: Backend.available)
  func `a record deleted by the server and then by the user leaves no entry after any decision`(
    backend: Backend
  ) async throws {
    for decision in [OutboxResolution.local, .server, .values(["title": "both"])] {
      let (stack, conflict) = try await deletedOnServer(backend)
      try stack.delete(1)
      #expect(try await stack.outbox.entries().count == 3)
      try await stack.outbox.resolve(conflict.id, keeping: decision)
      #expect(try stack.titles() == [2: "old"])
      #expect(try await stack.outbox.entries().isEmpty)
      #expect(try await stack.outbox.conflictCount() == 0)
    }
  }

  @Test(arguments: Backend.available)
  func `the chosen values of a restored record are one entry, which later edits of the record follow`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old"])
    // The server has the first edits already, so that the record has a higher version than a restored one.
    for title in ["sent", "sent too"] { try stack.set(title, of: 1) }
    for entry in try await stack.outbox.entries() { try await stack.outbox.drop(entry.id) }
    for title in ["one", "two"] { try stack.set(title, of: 1) }
    try stack.delete(1)
    try stack.merge(AgreementStack.page([1: "theirs"]), .conflict)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.kind == .deletedLocally)
    try await stack.outbox.resolve(conflict.id, keeping: .values(["title": "chosen"]))
    #expect(try stack.titles() == [1: "chosen"])
    #expect(try await stack.entries() == [.update("theirs", to: "chosen")])
    try stack.set("later", of: 1)
    let restored = try #require(try await stack.outbox.entries().first?.recordID)
    let entries = try await stack.outbox.entries(of: restored)
    #expect(entries.map { $0["title"]?.value } == [.value(.string("chosen")), .value(.string("later"))])
  }

  @Test func `merges of an entity ask the outbox if one of its subentities is forwarded`() throws {
    let directory = TemporaryDirectory()
    let model = try ManagedObjectModel {
      Entity("Animal") { Attribute("name", .string) }
      Entity("Dog", parent: "Animal") { Attribute("age", .int64, default: Int64(0)) }
      Entity("Cat", parent: "Animal") { Attribute("lives", .int64, default: Int64(9)) }
      Entity("Stone") { Attribute("name", .string) }
    }.addingOutbox()
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Animals", managedObjectModel: model, storeLocation: directory.url)
    let isUncovered = connect.pendingEdits == nil
    #expect(isUncovered)
    let outbox = try Outbox(connect, entities: ["Dog"])
    let edits = try #require(connect.pendingEdits)
    let covered = model.entities.filter { edits.covers($0) }.map(\.name).sorted()
    #expect(covered == ["Animal", "Dog"])
    outbox.close()
  }
}
