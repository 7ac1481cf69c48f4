import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import TestSupport
import Testing

/// Pages of a server and the entries of an outbox.
@Suite("Merges and the outbox agree")
struct AgreementTests {
  // MARK: The behaviours of Coherence 4.2

  @Test(arguments: Backend.available)
  func `an update from the server is skipped for a record with a logged update`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    let result = try stack.merge(AgreementStack.page([1: "new", 2: "new"]))
    #expect(result.updated == 1 && result.skipped == 1 && result.keptEdits == 1)
    #expect(try stack.titles() == [1: "edited", 2: "new"])
    #expect(try await stack.entries() == [.update("old", to: "edited")])
  }

  @Test(arguments: Backend.available)
  func `an insert from the server is skipped for a record with a logged deletion`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.delete(1)
    let result = try stack.merge(AgreementStack.page([1: "new", 2: "old"]), .keepLocal, .replace)
    #expect(result.inserted == 0 && result.skipped == 1 && result.unchanged == 1)
    #expect(try stack.titles() == [2: "old"])
    #expect(try await stack.entries().map(\.kind) == [.delete])
  }

  @Test(arguments: Backend.available)
  func `a deletion by the server is skipped for a record with a logged update, and becomes a conflict`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    let result = try stack.merge(AgreementStack.page([2: "old"]), .keepLocal, .replace)
    #expect(result.deleted == 0 && result.skipped == 1 && result.pendingConflicts == 1)
    #expect(try stack.titles() == [1: "edited", 2: "old"])
    #expect(try await stack.entries() == [.update("old", to: "edited", .parked)])
    let conflicts = try await stack.outbox.conflicts()
    #expect(conflicts.map(\.kind) == [.deletedOnServer] && conflicts.map(\.entityName) == ["Task"])
  }

  @Test(arguments: Backend.available)
  func `a merge without an outbox replaces edited values by the server's`(backend: Backend) throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    stack.connect.pendingEdits = nil
    try stack.merge(AgreementStack.page([1: "new"]), .keepLocal, .replace)
    #expect(try stack.titles() == [1: "new"])
  }

  // MARK: Properties and entries

  @Test(arguments: Backend.available)
  func `a merge updates the properties that the user did not edit, and adds no entry`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old"])
    #expect(try await stack.entries().isEmpty)
    try stack.set("edited", of: 1)
    let page = [MergeRecord(["id": 1, "title": "new", "note": "a note"])]
    #expect(try stack.merge(page).updated == 1)
    #expect(try stack.titles() == [1: "edited"])
    #expect(try stack.values("note") == [1: "a note"])
    #expect(try await stack.entries() == [.update("old", to: "edited")])
  }

  @Test(arguments: Backend.available)
  func `the policy server removes a property with another value of the server from the entries`(backend: Backend)
    async throws
  {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    try stack.set("again", of: 1)
    try stack.set("edited", of: 2)
    try stack.set("mine", for: "note", of: 2)
    let result = try stack.merge(AgreementStack.page([1: "new", 2: "new"]), .server)
    #expect(result.updated == 2 && result.keptEdits == 0)
    #expect(try stack.titles() == [1: "new", 2: "new"])
    #expect(try stack.values("note")[2] == "mine")
    let entries = try await stack.outbox.entries()
    #expect(entries.map { $0.changes.map(\.name) } == [["note"]])
  }

  @Test(arguments: Backend.available)
  func `the policy server deletes the entries of a record that the server has deleted`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    #expect(try stack.merge(AgreementStack.page([2: "old"]), .server, .replace).deleted == 1)
    #expect(try stack.titles() == [2: "old"])
    #expect(try await stack.entries().isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a merge changes neither an entry that a forwarder sends, nor its record`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    try stack.set("edited", of: 2)
    try stack.setState(.sending)
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let result = try stack.merge(AgreementStack.page([1: "new"]), policy, .replace)
      #expect(result.keptEdits == 2 && result.pendingConflicts == 0, "\(policy)")
    }
    #expect(try stack.titles() == [1: "edited", 2: "edited"])
    #expect(try await stack.entries().map(\.state) == [.sending, .sending])
    #expect(try await stack.outbox.conflictCount() == 0)
  }

  @Test(arguments: Backend.available)
  func `a user who edits again during a merge keeps the last edit`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("one", of: 1)
    let user = try stack.another()
    stack.connect.persistentStoreCoordinator.observer = SaveInterference(reportingTo: { Issue.record($0) }) {
      try user.set("two", of: 1)
    }
    // The page has the server's values after the first edit: the edited title, and a new note.
    let page = [MergeRecord(["id": 1, "title": "one", "note": "a note"]), MergeRecord(["id": 2, "title": "new"])]
    #expect(try stack.merge(page, .server).updated == 2)
    #expect(try stack.titles() == [1: "two", 2: "new"])
    #expect(try await stack.entries().map(\.value) == [.string("one"), .string("two")])
  }

  // MARK: Inserts and deletions

  @Test(arguments: Backend.available)
  func `the insert of a key that the server has too becomes an update of the server's record`(backend: Backend)
    async throws
  {
    let stack = try AgreementStack(backend)
    try stack.insert(1, "mine")
    try stack.insert(2, "both")
    let page = AgreementStack.page([1: "theirs", 2: "both"])
    #expect(try stack.merge(page).keptEdits == 1)
    #expect(try stack.titles() == [1: "mine", 2: "both"])
    #expect(try await stack.entries() == [.update("theirs", to: "mine")])
    let again = try stack.merge(page, .conflict)
    #expect(again.pendingConflicts == 0 && again.skipped == 1)
    #expect(try await stack.entries() == [.update("theirs", to: "mine")])
  }

  @Test(arguments: Backend.available)
  func `a record deleted on both sides is no conflict, and its deletion is still sent`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.delete(1)
    let result = try stack.merge(AgreementStack.page([2: "old"]), .conflict, .replace)
    #expect(result.keptEdits == 0 && result.pendingConflicts == 0)
    #expect(try await stack.entries().map(\.kind) == [.delete])
  }

  @Test(arguments: Backend.available)
  func `a merge inserts the server's record after a local insert and delete of the same key`(backend: Backend)
    async throws
  {
    let stack = try AgreementStack(backend)
    try stack.insert(1, "mine")
    try stack.delete(1)
    #expect(try stack.merge(AgreementStack.page([1: "theirs"])).inserted == 1)
    #expect(try stack.titles() == [1: "theirs"])
  }

  @Test(arguments: Backend.available)
  func `a merge of several whole pages keeps pending edits, and deletes the other missing records`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old", 4: "old", 5: "old"])
    try stack.set("edited", of: 1)
    try stack.insert(3, "mine")
    try stack.delete(4)
    let pages = AsyncStream<[MergeRecord]> { continuation in
      continuation.yield(AgreementStack.page([2: "new"]))
      continuation.yield(AgreementStack.page([4: "new"]))
      continuation.finish()
    }
    let result = try await stack.connect.newActionContext().mergePages(
      pages, for: stack.connect.managedObjectModel.entity(named: "Task"), options: MergeOptions(mode: .replace))
    #expect(result.updated == 1 && result.deleted == 1 && result.skipped == 3 && result.inserted == 0)
    #expect(try stack.titles() == [1: "edited", 2: "new", 3: "mine"])
    #expect(try await stack.outbox.conflicts().map(\.kind) == [.deletedOnServer])
  }

  // MARK: Members

  @Test(arguments: Backend.available)
  func `members added by the user stay beside the members of the server`(backend: Backend) async throws {
    let stack = try AgreementStack(backend)
    try stack.merge(["home", "work", "later"].map { MergeRecord(["name": $0]) }, into: "Label")
    try stack.merge([MergeRecord(["id": 1], links: ["labels": .many(["home"])])])
    try stack.edit { context in
      let work = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label")).filter {
        try $0.value(for: "name", as: String.self) != "later"
      }
      try AgreementStack.task(1, context)?.setObjects(work, for: "labels")
    }
    try stack.merge([MergeRecord(["id": 1], links: ["labels": .many(["home", "later"])])])
    let names = try stack.edit { context in
      try AgreementStack.task(1, context)?.objects(for: "labels").map { try $0.value(for: "name", as: String.self) }
    }
    #expect(names?.sorted() == ["home", "later", "work"])
  }

  @Test(arguments: Backend.available)
  func `a record inserted on both sides has the members of both`(backend: Backend) throws {
    let stack = try AgreementStack(backend)
    try stack.merge(["home", "work"].map { MergeRecord(["name": $0]) }, into: "Label")
    try stack.insert(1, "mine")
    try stack.edit { context in
      let labels = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
      try AgreementStack.task(1, context)?.setObjects(
        labels.filter { try $0.value(for: "name", as: String.self) == "work" }, for: "labels")
    }
    try stack.merge([MergeRecord(["id": 1], links: ["labels": .many(["home"])])])
    let names = try stack.edit { context in
      try AgreementStack.task(1, context)?.objects(for: "labels").map { try $0.value(for: "name", as: String.self) }
    }
    #expect(names?.sorted() == ["home", "work"])
  }

  @Test(arguments: Backend.available)
  func `a record that is deleted and inserted again does not get the members of the former record`(
    backend: Backend
  ) throws {
    let stack = try AgreementStack(backend)
    try stack.merge([MergeRecord(["name": "home"])], into: "Label")
    let page = [MergeRecord(["id": 1, "title": "former"], links: ["labels": .many(["home"])])]
    try stack.merge(page)
    try stack.delete(1)
    try stack.insert(1, "again")
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      #expect(try stack.merge(page, policy).keptEdits == 1)
      let count = try stack.edit { try AgreementStack.task(1, $0)?.objects(for: "labels").count }
      #expect(count == 0)
      #expect(try stack.titles() == [1: "again"])
    }
  }
}
