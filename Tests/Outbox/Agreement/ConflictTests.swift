import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

@Suite("Conflicts between pending edits and the server")
struct ConflictTests {
  /// A stack whose task 1 both sides have changed, and its conflict.
  private func bothChanged(_ backend: Backend) async throws -> (AgreementStack, OutboxConflict) {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    #expect(try stack.merge(AgreementStack.page([1: "new", 2: "new"]), .conflict).pendingConflicts == 1)
    return (stack, try #require(try await stack.outbox.conflicts().first))
  }

  // MARK: Listing

  @Test(arguments: Backend.available)
  func `a conflict has the values of both sides and their base, and its entry is parked`(backend: Backend) async throws
  {
    let (stack, conflict) = try await bothChanged(backend)
    #expect(conflict.kind == .bothChanged && conflict.entityName == "Task")
    #expect(conflict.properties.map(\.name) == ["title"])
    #expect(conflict.properties.map(\.base) == [.string("old")])
    #expect(conflict.properties.map(\.local) == [.string("edited")])
    #expect(conflict.properties.map(\.server) == [.string("new")])
    #expect(try await stack.entries() == [.update("old", to: "edited", .parked)])
    #expect(try stack.titles() == [1: "edited", 2: "new"])
  }

  @Test(arguments: Backend.available)
  func `a record has one conflict, which an equal page does not write and a newer page updates`(
    backend: Backend
  ) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    let context = stack.connect.newActionContext()
    let entity = try stack.connect.managedObjectModel.entity(named: "Task")
    try context.merge(
      records: AgreementStack.page([1: "new"]), for: entity, options: MergeOptions(pendingEdits: .conflict))
    #expect(context.statistics.updates == 0 && context.statistics.inserts == 0)
    try stack.merge(AgreementStack.page([1: "newer"]), .conflict)
    let conflicts = try await stack.outbox.conflicts()
    #expect(conflicts.map(\.id) == [conflict.id])
    #expect(conflicts.first?.properties.map(\.server) == [.string("newer")])
  }

  @Test(arguments: Backend.available)
  func `conflicts are listed in pages and counted, by entity`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old", 3: "old"])
    for id in 1...3 as ClosedRange<Int64> { try stack.set("edited", of: id) }
    try stack.merge(AgreementStack.page([1: "new", 2: "new", 3: "new"]), .conflict)
    let first = try await stack.outbox.conflicts(limit: 2)
    let rest = try await stack.outbox.conflicts(limit: 2, after: try #require(first.last).id)
    #expect(first.count == 2 && rest.count == 1 && Set((first + rest).map(\.recordID)).count == 3)
    await #expect(throws: CoherenceError.self) { try await stack.outbox.conflicts(limit: -1) }
    #expect(try await stack.outbox.conflictCount() == 3)
    #expect(try await stack.outbox.conflictCount(in: "Task") == 3)
    #expect(try await stack.outbox.conflictCount(in: "Label") == 0)
  }

  @Test(arguments: Backend.available)
  func `conflicts are listed in the order in which merges found them, and by entity`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old", 3: "old"])
    for id in 1...3 as ClosedRange<Int64> { try stack.set("edited", of: id) }
    for id in [2, 3, 1] { try stack.merge(AgreementStack.page([id: "new \(id)"]), .conflict) }
    let conflicts = try await stack.outbox.conflicts(in: "Task")
    #expect(
      conflicts.flatMap { $0.properties.map(\.server) } == [.string("new 2"), .string("new 3"), .string("new 1")])
    #expect(try await stack.outbox.conflicts(in: "Label").isEmpty)
  }

  @Test(arguments: Backend.available)
  func `the stream of conflict counts has each new count`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old"])
    var counts = stack.outbox.conflictCounts().makeAsyncIterator()
    #expect(try await counts.next() == 0)
    try stack.set("edited", of: 1)
    try stack.merge(AgreementStack.page([1: "new"]), .conflict)
    #expect(try await counts.next() == 1)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try await counts.next() == 0)
  }

  @Test(.timeLimit(.minutes(15))) func `the stream of conflict counts ends with the coordinator`() async throws {
    var stack: AgreementStack? = try AgreementStack(.inMemory)
    var counts = try #require(stack?.outbox.conflictCounts()).makeAsyncIterator()
    #expect(try await counts.next() == 0)
    stack = nil
    #expect(try await counts.next() == nil)
  }

  // MARK: Both sides changed the record

  @Test(arguments: Backend.available)
  func `keeping the edit replaces the base of its entry by the server's value`(backend: Backend) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    #expect(try stack.titles()[1] == "edited")
    #expect(try await stack.entries() == [.update("new", to: "edited")])
    let again = try stack.merge(AgreementStack.page([1: "new"]), .conflict)
    #expect(again.pendingConflicts == 0 && again.keptEdits == 1)
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `keeping an edit of several saves sends the edit under another key`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old"])
    try stack.set("note", for: "note", of: 1)
    try stack.set("edited", of: 1)
    try stack.merge(AgreementStack.page([1: "new"]), .conflict)
    let key = try #require(try await stack.outbox.entries().first).idempotencyKey
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    let entries = try await stack.outbox.entries()
    #expect(entries.map { $0.changes.map(\.name) } == [["note"], ["title"]])
    #expect(entries.first?.idempotencyKey != key, "A request without an answer may have had the former base.")
  }

  @Test(arguments: Backend.available)
  func `keeping the server's values drops the edit`(backend: Backend) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try stack.titles() == [1: "new", 2: "new"])
    #expect(try await stack.entries().isEmpty)
    #expect(try await stack.outbox.conflictCount() == 0)
    #expect(try stack.merge(AgreementStack.page([1: "new"]), .conflict).unchanged == 1)
  }

  @Test(arguments: Backend.availableSQL)
  func `a conflict over a renamed property has the new name, and keeping the server's values drops the edit`(
    backend: Backend
  ) async throws {
    let stack = try await bothChanged(backend).0.renamingTitles()
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.properties.map(\.name) == ["heading"])
    #expect(conflict.properties.map(\.base) == [.string("old")])
    #expect(conflict.properties.map(\.local) == [.string("edited")])
    #expect(conflict.properties.map(\.server) == [.string("new")])
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try stack.values("heading") == [1: "new", 2: "new"])
    #expect(try await stack.outbox.entries().isEmpty)
  }

  @Test(arguments: Backend.availableSQL)
  func `keeping the edit of a renamed property replaces the base of its entry by the server's value`(
    backend: Backend
  ) async throws {
    let stack = try await bothChanged(backend).0.renamingTitles()
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    let change = try #require(try await stack.outbox.entries().first?["heading"])
    #expect(change.base == .value(.string("new")) && change.value == .value(.string("edited")))
  }

  @Test(arguments: Backend.availableSQL)
  func `an edit of an attribute with another type since a migration is in no conflict with its own base`(
    backend: Backend
  ) async throws {
    let old = try AgreementStack(backend, titles: [1: "1"])
    try old.set("2", of: 1)
    let stack = try old.numberingTitles()
    let result = try stack.merge([MergeRecord(["id": 1, "title": 1])], .conflict)
    #expect(result.pendingConflicts == 0 && result.keptEdits == 1)
    #expect(try await stack.outbox.conflictCount() == 0)
    let change = try #require(try await stack.outbox.entries().first?["title"])
    #expect(change == OutboxChange("title", base: .value(.int(1)), value: .value(.int(2))))
  }

  @Test(arguments: Backend.available)
  func `chosen values are stored and sent`(backend: Backend) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .values(["title": "both"]))
    #expect(try stack.titles()[1] == "both")
    #expect(
      try await stack.entries() == [.update("new", to: "edited"), .update("edited", to: "both")])
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `keeping the edit of a record inserted on both sides sends an update`(backend: Backend) async throws {
    let stack = try AgreementStack(backend)
    try stack.insert(1, "mine")
    #expect(try stack.merge(AgreementStack.page([1: "theirs"]), .conflict).pendingConflicts == 1)
    #expect(try await stack.entries() == [.update("theirs", to: "mine", .parked)])
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    #expect(try await stack.entries() == [.update("theirs", to: "mine")])
    #expect(try stack.titles() == [1: "mine"])
  }

  // MARK: Deletions

  /// A stack whose task 1 the server has deleted and the user has changed, and its conflict.
  private func deletedOnServer(_ backend: Backend) async throws -> (AgreementStack, OutboxConflict) {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    try stack.merge(AgreementStack.page([2: "old"]), .keepLocal, .replace)
    return (stack, try #require(try await stack.outbox.conflicts().first))
  }

  @Test(arguments: Backend.available)
  func `keeping the edit of a record that the server has deleted sends the record as new`(
    backend: Backend
  ) async throws {
    let (stack, conflict) = try await deletedOnServer(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    let entry = try #require(try await stack.outbox.entries().first)
    #expect(entry.kind == .insert && entry.state == .pending && entry.identity == ["id": .int(1)])
    #expect(entry["title"]?.value == .value(.string("edited")) && entry["title"]?.base == nil)
    #expect(try stack.merge(AgreementStack.page([2: "old"]), .keepLocal, .replace).pendingConflicts == 0)
    #expect(try stack.titles() == [1: "edited", 2: "old"])
  }

  @Test(arguments: Backend.available)
  func `a record that is sent as new has its members whose entity is not forwarded`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.edit { context in
      let label = try context.insertNewObject(forEntityName: "Label")
      try label.setValue("red", for: "name")
      try AgreementStack.task(1, context)?.setObjects([label], for: "labels")
    }
    try stack.merge(AgreementStack.page([2: "old"]), .keepLocal, .replace)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    let entry = try #require(try await stack.outbox.entries().first)
    #expect(entry.kind == .insert)
    #expect(entry.members.map(\.name) == ["labels"])
    #expect(entry.members.map(\.added.count) == [1])
  }

  @Test(arguments: Backend.available)
  func `keeping the server's deletion deletes the record and its entries`(backend: Backend) async throws {
    let (stack, conflict) = try await deletedOnServer(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try stack.titles() == [2: "old"])
    #expect(try await stack.entries().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a conflict of two changes follows a deletion by the server, and keeping the server deletes the record`(
    backend: Backend
  ) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    try stack.merge(AgreementStack.page([2: "new"]), .conflict, .replace)
    let conflicts = try await stack.outbox.conflicts()
    #expect(conflicts.map(\.id) == [conflict.id] && conflicts.map(\.kind) == [.deletedOnServer])
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try stack.titles() == [2: "new"])
    #expect(try await stack.entries().isEmpty)
  }

  /// A stack whose task 1 the user has deleted and the server has changed, and its conflict.
  private func deletedLocally(_ backend: Backend) async throws -> (AgreementStack, OutboxConflict) {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.delete(1)
    try stack.merge(AgreementStack.page([1: "new", 2: "old"]), .conflict)
    return (stack, try #require(try await stack.outbox.conflicts().first))
  }

  @Test(arguments: Backend.available)
  func `keeping the deletion of a record that the server has changed sends the deletion`(
    backend: Backend
  ) async throws {
    let (stack, conflict) = try await deletedLocally(backend)
    #expect(conflict.kind == .deletedLocally && conflict.properties.map(\.local) == [nil])
    #expect(try await stack.entries().map(\.state) == [.parked])
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    #expect(try await stack.entries().map(\.kind) == [.delete])
    #expect(try await stack.entries().map(\.state) == [.pending])
    #expect(try stack.titles() == [2: "old"])
  }

  @Test(arguments: Backend.available)
  func `keeping the server's change of a deleted record restores the record`(backend: Backend) async throws {
    let (stack, conflict) = try await deletedLocally(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try stack.titles() == [1: "new", 2: "old"])
    #expect(try await stack.entries().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `chosen values restore a locally deleted record, and are sent`(backend: Backend) async throws {
    let (stack, conflict) = try await deletedLocally(backend)
    try await stack.outbox.resolve(conflict.id, keeping: .values(["title": "both"]))
    #expect(try stack.titles() == [1: "both", 2: "old"])
    #expect(try await stack.entries() == [.update("new", to: "both")])
    let entry = try #require(try await stack.outbox.entries().first)
    #expect(entry.recordID != conflict.recordID && entry.recordID != nil)
  }

  @Test(arguments: Backend.available)
  func `a new record with the key of a deleted one becomes an edit of the server's record`(
    backend: Backend
  ) async throws {
    for choice in [OutboxResolution.server, .values(["note": "chosen"])] {
      let stack = try AgreementStack(backend, titles: [1: "old"])
      try stack.delete(1)
      try stack.merge(AgreementStack.page([1: "theirs"]), .conflict)
      try stack.insert(1, "mine")
      let conflict = try #require(try await stack.outbox.conflicts().first)
      try await stack.outbox.resolve(conflict.id, keeping: choice)
      #expect(try stack.titles() == [1: "mine"])
      let entries = try await stack.entries()
      #expect(entries.first == .update("theirs", to: "mine"))
      if case .values = choice {
        #expect(try stack.values("note") == [1: "chosen"])
        #expect(try await stack.outbox.entries().last?.changes.map(\.name) == ["note"])
      } else {
        #expect(entries.count == 1)
      }
      #expect(try await stack.outbox.conflictCount() == 0)
    }
  }

  @Test(arguments: Backend.available, ["server", "values", "local"])
  func `a record that the user deletes after the conflict is restored, or stays deleted, as decided`(
    backend: Backend, decision: String
  ) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    try stack.delete(1)
    switch decision {
    case "server":
      try await stack.outbox.resolve(conflict.id, keeping: .server)
      #expect(try stack.titles() == [1: "new", 2: "new"])
      #expect(try await stack.entries().isEmpty)
    case "values":
      try await stack.outbox.resolve(conflict.id, keeping: .values(["title": "both"]))
      #expect(try stack.titles() == [1: "both", 2: "new"])
      #expect(try await stack.entries() == [.update("new", to: "both")])
    default:
      try await stack.outbox.resolve(conflict.id, keeping: .local)
      #expect(try stack.titles() == [2: "new"])
      #expect(try await stack.entries().last?.kind == .delete)
      #expect(try await stack.entries().allSatisfy { $0.state == .pending })
    }
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  // MARK: Restarts and errors

  @Test(arguments: Backend.available)
  func `a conflict is resolved after a restart`(backend: Backend) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    let restarted = try stack.another()
    try await stack.connect.stop()
    let known = try #require(try await restarted.outbox.conflicts().first)
    #expect(known.properties == conflict.properties)
    try await restarted.outbox.resolve(known.id, keeping: .server)
    #expect(try restarted.titles()[1] == "new")
    #expect(try await restarted.entries().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a conflict is resolved only once, and not while a process sends its entry`(backend: Backend) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    try stack.setState(.sending)
    await #expect { try await stack.outbox.resolve(conflict.id, keeping: .local) } throws: {
      ErrorCode.illegalState ~= $0
    }
    try stack.setState(.parked)
    try await stack.outbox.resolve(conflict.id, keeping: .local)
    await #expect { try await stack.outbox.resolve(conflict.id, keeping: .local) } throws: {
      ErrorCode.objectNotFound ~= $0
    }
  }

  @Test(arguments: Backend.available)
  func `a resolution with an unknown property changes nothing`(backend: Backend) async throws {
    let (stack, conflict) = try await bothChanged(backend)
    await #expect { try await stack.outbox.resolve(conflict.id, keeping: .values(["titel": "both"])) } throws: {
      ErrorCode.unknownProperty ~= $0
    }
    #expect(try await stack.outbox.conflictCount() == 1)
    #expect(try await stack.entries() == [.update("old", to: "edited", .parked)])
  }
}
