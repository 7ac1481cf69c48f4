import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@testable import CoherenceOutbox

// The name is also one of the testing library.
private typealias Confirmation = CoherenceOutbox.Confirmation

/// The records by which a forwarder tells the merges of other processes what the server has confirmed.
@Suite("Confirmations shared by processes")
struct SharedConfirmationTests {
  private static let entityName = OutboxConfirmationRecord.entityName

  /// Calls a block in a context on the stores, and saves.
  private func edit<T>(_ stack: NoteStack, _ body: (ManagedObjectContext) throws -> T) throws -> T {
    let context = stack.outbox.newContext()
    return try context.performAndWait {
      let result = try body(context)
      if context.hasChanges { try context.save() }
      return result
    }
  }

  private func records(_ stack: NoteStack) throws -> Int {
    try edit(stack) { try $0.count(for: FetchRequest<ManagedObject>(entityName: Self.entityName)) }
  }

  private func confirmations(
    _ stack: NoteStack, since time: ContinuousClock.Instant = .now
  ) throws -> [Confirmation] {
    try edit(stack) { context in
      let names = RecordedNames(in: context, of: stack.outbox.coordinator)
      let options = stack.outbox.options
      return try SharedConfirmations(in: context, besides: options.confirmations, now: options.now)
        .since(time, names)
    }
  }

  /// Inserts a note and sends it.
  private func send(_ title: String, _ stack: NoteStack) async throws {
    try stack.insertNote(title)
    #expect(try await stack.forwardAll() == 0)
  }

  @Test(arguments: Backend.available)
  func `another process reads the confirmed edits of a transaction, and the own process does not`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try await send("A", stack)
    try stack.change("A") { $0.title = "B" }
    #expect(try await stack.forwardAll() == 0)
    try stack.delete("B")
    #expect(try await stack.forwardAll() == 0)
    #expect(try records(stack) == 3)
    #expect(try confirmations(stack).isEmpty)
    let found = try confirmations(stack.other()).sorted { $0.kind.rawValue < $1.kind.rawValue }
    try #require(found.map(\.kind) == [.insert, .update, .delete])
    #expect(Set(found.map(\.subject)).count == 1)
    #expect(found.map(\.entityName) == Array(repeating: "Note", count: 3))
    #expect(found[1].outdated["title"] == [.value(.string("A"))])
    #expect(found[2].identity == ["id": .string("s1")])
  }

  @Test(arguments: Backend.available)
  func `a confirmation expires after five minutes, and a later acknowledgement deletes it`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try await send("A", stack)
    let requestedAt = ContinuousClock.now
    #expect(try confirmations(other, since: requestedAt).count == 1)
    stack.time.advance(by: .seconds(299))
    #expect(try confirmations(other, since: requestedAt - .seconds(600)).count == 1)
    stack.time.advance(by: .seconds(2))
    try await send("B", stack)
    #expect(try records(stack) == 1)
    #expect(try confirmations(other, since: requestedAt - .seconds(600)).count == 1)
  }

  @Test(arguments: Backend.available)
  func `the expired confirmations of a read-only store stay, and those of other stores are deleted`(
    _ backend: Backend
  ) async throws {
    let (archive, stack) = (try NoteStack(backend), try NoteStack(backend))
    try await send("A", archive)
    try await send("A", stack)
    var configuration = backend.configuration(named: archive.name)
    configuration.location = archive.connect.persistentStoreCoordinator.persistentStores.first?.url
    configuration.options[StoreOption.readOnly] = true
    try stack.connect.attachPersistentStore(for: configuration)
    #expect(try records(stack) == 2)
    stack.time.advance(by: .seconds(301))
    try await send("B", stack)
    #expect(try records(stack) == 2)
    #expect(try records(archive) == 1)
  }

  @Test(arguments: Backend.available)
  func `a page counts as older than a confirmation by another machine for two seconds more`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try await send("A", stack)
    stack.time.advance(by: .seconds(1))
    #expect(try confirmations(other).isEmpty)
    try edit(stack) { context in
      for record in try context.fetch(FetchRequest(OutboxConfirmationRecord.self)) { record.machine = "another" }
    }
    #expect(try confirmations(other).count == 1)
    stack.time.advance(by: .seconds(2))
    #expect(try confirmations(other).isEmpty)
  }

  @Test(arguments: Backend.available)
  func `after the clock was set back, a confirmation of the future protects nothing and is deleted`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try await send("A", stack)
    stack.time.date = stack.time.date.addingTimeInterval(-3600)
    #expect(try confirmations(stack.other()).isEmpty)
    try await send("B", stack)
    #expect(try records(stack) == 1)
  }

  @Test func `the latest ten thousand confirmations are kept`() async throws {
    let stack = try NoteStack()
    try edit(stack) { context in
      for number in 0..<10_500 {
        let record = try OutboxConfirmationRecord(context: context)
        record.time = stack.time.date.addingTimeInterval(-Double(number) / 100)
        record.process = stack.outbox.options.confirmations.process
        record.machine = Confirmations.machine
        record.payload = Confirmation.data(of: [])
      }
    }
    try await send("A", stack)
    // The records were counted before the acknowledgement added one.
    #expect(try records(stack) == 10_001)
  }

  @Test(arguments: Backend.available)
  func `a merge refuses a confirmation that it cannot read, and the merge of a later page succeeds`(
    _ backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    let other = try stack.other()
    try await stack.connect.start()
    try await other.connect.start()
    try await send("A", stack)
    try edit(stack) { context in
      for record in try context.fetch(FetchRequest(OutboxConfirmationRecord.self)) {
        record.payload = Data([EntryFormat.version + 1])
      }
    }
    let note = try other.connect.managedObjectModel.entity(named: Note.entityName)
    let page = [MergeRecord(["id": "s1", "title": "of the server"])]
    #expect { try other.connect.newActionContext().merge(records: page, for: note) } throws: {
      ErrorCode.storeCorrupt ~= $0
    }
    #expect(try stack.ids() == ["A": "s1"])
    stack.time.advance(by: .seconds(3))
    try other.connect.newActionContext().merge(records: page, for: note)
    #expect(try stack.ids() == ["of the server": "s1"])
  }

  @Test func `the stored form preserves a confirmation, and only the sizes of large values are left out`() throws {
    let stack = try NoteStack()
    let store = try #require(stack.outbox.coordinator.persistentStores.first).identifier
    let (record, folder) = (OutboxRecord(rootName: "Note", key: 7), OutboxRecord(rootName: "NoteFolder", key: 8))
    var confirmation = Confirmation(
      of: Confirmation.Subject(store: store, record: record), entityName: "Note", .update,
      [OutboxMembers("folder", added: [folder], removed: [record], isReordered: true, isOwner: false)],
      ["id": .string("s1"), "revision": .int(3)])
    confirmation.add(.value(.string("one")), "title")
    confirmation.add(.value(.string("two")), "title")
    confirmation.add(.record(folder), "folder")
    confirmation.add(.omitted(byteCount: 100_000), "rank")
    var large = confirmation
    large.add(.value(.string(String(repeating: "x", count: 40_000))), "title")
    let data = Confirmation.data(of: [confirmation, large])
    #expect(data.count < 1000)
    let read = try stack.read { context in
      try Confirmation.decoded(data, of: store, RecordedNames(in: context, of: stack.outbox.coordinator))
    }
    #expect(read.count == 2)
    for read in read {
      #expect(read.subject == confirmation.subject && read.kind == .update && read.entityName == "Note")
      #expect(read.outdated == confirmation.outdated)
      #expect(read.members == confirmation.members && read.identity == confirmation.identity)
    }
    #expect(read[0].omittedNames == ["rank"] && read[1].omittedNames == ["rank", "title"])
    for count in 0..<data.count {
      #expect {
        try stack.read { context in
          _ = try Confirmation.decoded(
            data.prefix(count), of: store, RecordedNames(in: context, of: stack.outbox.coordinator))
        }
      } throws: { ErrorCode.storeCorrupt ~= $0 }
    }
  }
}
