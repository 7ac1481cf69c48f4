import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Saves in the log, conflicts and entries whose stored bytes are damaged.
@Suite("Records that cannot be read", .timeLimit(.minutes(15)))
struct UnreadableRecordTests {
  /// Damages the stored bytes of a record of the log.
  ///
  /// - Parameters:
  ///   - index: The index of the record in the order of the saves.
  ///   - change: Returns the damaged bytes; cuts off the last three bytes unless given.
  /// - Returns: The identifier of the entry that stands for the save.
  @discardableResult
  private func damage(
    _ index: Int, in outbox: Outbox, _ change: (Data) -> Data = { Data($0.dropLast(3)) }
  ) throws -> OutboxEntry.ID {
    let context = outbox.newContext()
    return try context.performAndWait {
      let logs = try context.fetch(FetchRequest(OutboxLogRecord.self).sort(\.sequence))
      try logs[index].setAttributeValue(.data(change(logs[index].payload)), for: "payload")
      try context.save()
      return logs[index].objectID
    }
  }

  @Test(arguments: Backend.available)
  func `a damaged save is one parked entry in lists and counts, between the entries of the other saves`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    for title in ["Milk", "Bread", "Salt"] { try stack.saveItem(title) }
    let id = try damage(1, in: stack.outbox)
    #expect(try await stack.outbox.entries(state: .parked).map(\.id) == [id])
    let entries = try await stack.outbox.entries()
    #expect(entries.map(\.isReadable) == [true, false, true] && entries.map(\.state) == [.pending, .parked, .pending])
    let titles: [OutboxValue] = entries.compactMap { $0["title"]?.value }
    #expect(titles == [.value(.string("Milk")), .value(.string("Salt"))])
    let damaged = try await stack.outbox.entry(id)
    #expect(damaged.id == id && !damaged.isEntityKnown && damaged.recordID == nil)
    #expect(damaged.lastError?.contains("drop") == true)
    #expect(try await stack.outbox.counts() == OutboxCounts(pending: 2, parked: 1))
    #expect(try await stack.outbox.counts(in: "TestItem") == OutboxCounts(pending: 2))
    #expect(try await stack.outbox.entries(in: "TestItem").count == 2)
  }

  @Test(arguments: Backend.available)
  func `the pages of a list have each damaged save once`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    for number in 0..<12 { try stack.saveItem("\(number)") }
    for index in [0, 1, 5, 11] { try damage(index, in: stack.outbox) }
    var readable: [Bool] = []
    var page = try await stack.outbox.entries(limit: 2)
    while let last = page.last {
      readable += page.map(\.isReadable)
      page = try await stack.outbox.entries(limit: 2, after: last.cursor)
    }
    #expect(readable == (0..<12).map { ![0, 1, 5, 11].contains($0) })
    #expect(try await stack.outbox.entries(state: .parked).count == 4)
    #expect(try await stack.outbox.entries(state: .pending).count == 8)
  }

  @Test(arguments: Backend.available)
  func `a damaged save can be dropped once, and neither retried, parked nor edited`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    for title in ["Milk", "Bread"] { try stack.saveItem(title) }
    let id = try damage(0, in: stack.outbox) { _ in Data([EntryFormat.version + 1]) }
    await #expect { try await stack.outbox.retry(id) } throws: { ErrorCode.storeCorrupt ~= $0 }
    await #expect { try await stack.outbox.park(id) } throws: { ErrorCode.storeCorrupt ~= $0 }
    await #expect { try await stack.outbox.edit(id) { _ in } } throws: { ErrorCode.storeCorrupt ~= $0 }
    #expect(try await stack.outbox.retryAll() == 0)
    #expect(try await stack.outbox.drop(id) == 1)
    await #expect { try await stack.outbox.drop(id) } throws: { ErrorCode.objectNotFound ~= $0 }
    #expect(try await stack.outbox.counts() == OutboxCounts(pending: 1))
  }

  @Test(arguments: Backend.available)
  func `edits before a damaged save are sent, and later edits are sent after it is dropped`(
    backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    for title in ["A", "B", "C"] { try stack.insertNote(title) }
    let id = try damage(1, in: stack.outbox)
    let events = stack.outbox.events
    #expect(try await stack.forwardAll() == 2)
    let sent = await stack.server.applied.map { $0.values["title"] }
    #expect(sent == [.string("A")])
    var reports = 0
    for await event in events {
      if case .failed(let error) = event, ErrorCode.storeCorrupt ~= error { reports += 1 }
      if case .stopped = event { break }
    }
    #expect(reports == 1)
    try await stack.outbox.drop(id)
    #expect(try await stack.forwardAll() == 0)
    let sentAfterDrop = await stack.server.applied.map { $0.values["title"] }
    #expect(sentAfterDrop == [.string("A"), .string("C")])
  }

  @Test(arguments: Backend.available)
  func `a conflict that the server reports is kept beside a damaged save`(backend: Backend) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    #expect(try await stack.forwardAll() == 0)
    try stack.change("A") { $0.title = "mine" }
    try stack.insertNote("B")
    try damage(1, in: stack.outbox)
    await stack.server.script(.answer(.conflict(["title": "of the server"])))
    #expect(try await stack.forwardAll() == 2)
    let properties = try await stack.outbox.conflicts().flatMap(\.properties)
    #expect(properties.map(\.server) == [.string("of the server")])
  }

  @Test(arguments: Backend.available)
  func `a merge is refused while a damaged save may have edits of its records, and succeeds after the drop`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "one"])
    try stack.set("edited", of: 1)
    let id = try damage(0, in: stack.outbox)
    #expect { try stack.merge(AgreementStack.page([1: "new"])) } throws: { ErrorCode.storeCorrupt ~= $0 }
    #expect(try stack.titles() == [1: "edited"])
    try await stack.outbox.drop(id)
    try stack.merge(AgreementStack.page([1: "new"]))
    #expect(try stack.titles() == [1: "new"])
  }

  @Test(arguments: Backend.available)
  func `a damaged save keeps no merge of entities in other stores from succeeding`(backend: Backend) throws {
    let entities = ["Book", "Film"].map { name in
      Entity(name, userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64, default: Int64(0))
        Attribute("title", .string, default: "")
      }
    }
    let model = try ManagedObjectModel(entities: entities, configurations: ["Books": ["Book"], "Films": ["Film"]])
    let directory = TemporaryDirectory()
    let connect = GenericConnect<ContextStrategy.Mixed>(
      name: "Media", managedObjectModel: try model.addingOutbox(), storeLocation: directory.url)
    for name in ["Books", "Films"] {
      var configuration = backend.newConfiguration()
      configuration.name = name
      try connect.attachPersistentStore(for: configuration)
    }
    let outbox = try Outbox(connect, entities: ["Book", "Film"])
    try connect.start()
    func merge(_ title: String, into name: String) throws {
      try connect.newActionContext().merge(
        records: [MergeRecord(["id": 1, "title": title])], for: connect.managedObjectModel.entity(named: name))
    }
    func objects(_ name: String, in context: ManagedObjectContext) throws -> [ManagedObject] {
      try context.fetch(FetchRequest<ManagedObject>(entityName: name))
    }
    for name in ["Book", "Film"] { try merge("old", into: name) }
    let context = connect.newBackgroundContext()
    try context.performAndWait {
      for book in try objects("Book", in: context) { try book.setValue("edited", for: "title") }
      try context.save()
    }
    try damage(0, in: outbox)
    #expect { try merge("new", into: "Book") } throws: { ErrorCode.storeCorrupt ~= $0 }
    try merge("new", into: "Film")
    let reader = connect.newBackgroundContext()
    let titles = try reader.performAndWait {
      try ["Book", "Film"].flatMap { try objects($0, in: reader) }.map { try $0.value(for: "title", as: String.self) }
    }
    #expect(titles == ["edited", "new"])
    withExtendedLifetime(directory) {}
  }

  @Test(arguments: Backend.available)
  func `a damaged save in a read-only store keeps no merge from succeeding`(backend: Backend) throws {
    let archive = try AgreementStack(backend, titles: [1: "one"])
    try archive.set("edited", of: 1)
    try damage(0, in: archive.outbox)
    let stack = try AgreementStack(backend, titles: [2: "two"])
    try stack.connect.attachPersistentStore(for: archive.readOnlyConfiguration)
    try stack.merge(AgreementStack.page([2: "new"]))
    #expect(try stack.titles() == [1: "edited", 2: "new"])
    withExtendedLifetime(archive) {}
  }

  @Test(arguments: Backend.available)
  func `a list of the parked entries of one entity leaves the log as it is`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.saveItem("Milk")
    #expect(try await stack.outbox.entries(in: "TestItem", state: .parked).isEmpty)
    let context = stack.outbox.newContext()
    let count = try context.performAndWait { try context.count(for: FetchRequest(OutboxLogRecord.self)) }
    #expect(count == 1)
  }

  /// The titles of the items in the next two requests.
  private func titles(of stack: OutboxStack) throws -> [OutboxValue] {
    try stack.outbox.makeEntries()
    let context = stack.outbox.newContext()
    return try context.performAndWait {
      try stack.outbox.selection(in: context, at: stack.clock.now, limit: 2).steps.compactMap { step in
        step.changes.first { $0.name == "title" }?.value
      }
    }
  }

  @Test(arguments: Backend.available)
  func `an edit is sent beside a damaged save of another store that has records with the same keys`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let other = try stack.container.attachPersistentStore(for: backend.newConfiguration())
    let list = try stack.save { context in
      let list = try TestList(context: context)
      try context.assign(list, to: other)
      list.name = "Work"
      try context.obtainPermanentIDs(for: [list])
      return list.objectID
    }
    // The server has the list of the other store.
    try await stack.outbox.drop(try #require(try await stack.outbox.entries().first).id)
    try stack.saveItem("Milk")
    try damage(0, in: stack.outbox)
    #expect(try stack.saveList("Home").key == list.key)
    try stack.save { context in
      let item = try TestItem(context: context)
      try context.assign(item, to: other)
      item.title = "Bread"
      item.list = try context.existingObject(with: list) as? TestList
    }
    #expect(try titles(of: stack) == [.value(.string("Bread"))])
  }

  @Test(arguments: Backend.available)
  func `edits that need a record behind a damaged save do not keep another edit from being sent`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let list = try stack.saveList("Home")
    for title in ["Milk", "Bread", "Salt"] { try stack.saveItem(title, in: list) }
    try stack.saveItem("Tea")
    try stack.outbox.makeEntries()
    try stack.saveItem("Sugar")
    try damage(0, in: stack.outbox)
    // After a clock was set back, the insert of a record may follow the edits that refer to the record.
    let context = stack.outbox.newContext()
    try context.performAndWait {
      let log = try #require(try context.fetch(FetchRequest(OutboxLogRecord.self)).first)
      let entries = try context.fetch(FetchRequest(OutboxEntryRecord.self).sort(\.sequence))
      (entries[0].sequence, entries[0].transaction) = (log.sequence + 1, log.transaction + 1)
      try context.save()
    }
    #expect(try titles(of: stack) == [.value(.string("Tea"))])
  }

  @Test(arguments: Backend.available)
  func `a damaged conflict is listed without the server's values, and can be resolved for the edit`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    for id in [1, 2] as [Int64] { try stack.set("edited", of: id) }
    try stack.merge(AgreementStack.page([1: "new", 2: "new"]), .conflict)
    let damaged = try #require(try await stack.outbox.conflicts().first)
    try stack.edit { context in
      for conflict in try context.fetch(FetchRequest(OutboxConflictRecord.self)) where conflict.objectID == damaged.id {
        conflict.payload = Data([255])
      }
    }
    let conflicts = try await stack.outbox.conflicts()
    #expect(conflicts.map { $0.properties.map(\.name) } == [["title"], ["title"]])
    #expect(conflicts.flatMap(\.properties).map(\.local) == [.string("edited"), .string("edited")])
    #expect(conflicts.flatMap(\.properties).map(\.server) == [nil, .string("new")])
    await #expect { try await stack.outbox.resolve(damaged.id, keeping: .server) } throws: {
      ErrorCode.storeCorrupt ~= $0
    }
    try await stack.outbox.resolve(damaged.id, keeping: .local)
    #expect(try await stack.outbox.conflicts().map(\.id) == conflicts.dropFirst().map(\.id))
    let states = try await stack.entries().map(\.state)
    #expect(states.count == 2 && Set(states) == [.pending, .parked])
  }

  @Test(arguments: Backend.available)
  func `an edit whose large values are damaged is parked, and no handler gets the edit`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    try await stack.outbox.drop(try #require(try await stack.outbox.entries().first).id)
    try stack.change(item) { $0.photo = Data(count: 40_000) }
    let id = try #require(try await stack.outbox.entries().first).id
    let context = stack.outbox.newContext()
    try context.performAndWait {
      for content in try context.fetch(FetchRequest(OutboxContentRecord.self)) { content.payload = Data([255]) }
      try context.save()
    }
    try stack.outbox.forward("TestItem") { handlers in
      handlers.update { _ in
        Issue.record("The handler got an edit without values.")
        return .accepted
      }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 1)
    await stack.outbox.stop()
    let parked = try await stack.outbox.entry(id)
    #expect(parked.state == .parked && !parked.isReadable && !parked.isRejected && parked.lastError != nil)
  }

  @Test(arguments: Backend.available)
  func `a merge of a record with the key of a damaged insert keeps the entry of the insert`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend)
    try stack.insert(1, "mine")
    try stack.outbox.makeEntries()
    try stack.edit { context in
      for entry in try context.fetch(FetchRequest(OutboxEntryRecord.self)) { entry.payload = Data([255]) }
    }
    try stack.merge(AgreementStack.page([1: "theirs"]))
    #expect(try await stack.outbox.entries().map(\.isReadable) == [false])
  }
}
