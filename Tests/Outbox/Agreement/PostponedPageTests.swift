import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Pages of changes that come again, because an edit of the outbox keeps a value of the server out.
@Suite("Pages of changes that wait for an edit")
struct PostponedPageTests {
  private func merge(
    _ page: DeltaPage, into stack: AgreementStack, _ policy: MergeOptions.PendingEditsPolicy = .keepLocal
  ) throws -> MergeResult {
    try stack.connect.newActionContext().merge(
      page, for: try stack.connect.managedObjectModel.entity(named: "Task"),
      options: MergeOptions(maximumDeletedShare: 1, pendingEdits: policy))
  }

  private func page(_ titles: [Int: String]) -> DeltaPage { DeltaPage(records: AgreementStack.page(titles)) }

  private func dropAll(of stack: AgreementStack) async throws {
    for entry in try await stack.outbox.entries() { try await stack.outbox.drop(entry.id) }
  }

  @Test(arguments: Backend.available)
  func `a page of changes is postponed until the answer to an edit, also after a lost answer`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "a"])
    try stack.set("b", of: 1)
    for state in [OutboxEntry.State.sending, .pending] {
      try stack.setState(state)
      for title in ["a", "b", "c"] { #expect(try merge(page([1: title]), into: stack).postponed == 1) }
      // A whole page that equals the record.
      #expect(try stack.merge(AgreementStack.page([1: "b"]), .keepLocal, .replace).postponed == 1)
      #expect(try stack.titles() == [1: "b"])
    }
    try await dropAll(of: stack)
    #expect(try merge(page([1: "c"]), into: stack).postponed == 0)
    #expect(try stack.titles() == [1: "c"])
  }

  @Test(arguments: Backend.available)
  func `a tombstone during the request of an edit deletes the record after the answer`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "a", 2: "a"])
    try stack.set("b", of: 1)
    try stack.setState(.sending)
    let during = try merge(DeltaPage(tombstones: [1, 2]), into: stack)
    #expect(during.deleted == 1 && during.postponed == 1)
    try stack.setState(.parked)
    try await dropAll(of: stack)
    let after = try merge(DeltaPage(tombstones: [1, 2]), into: stack)
    #expect(after.deleted == 1 && after.postponed == 0)
    #expect(try stack.titles() == [:])
  }

  @Test(arguments: Backend.available)
  func `an edit that the user takes back leaves the server's value to the repeated page`(backend: Backend) throws {
    // Another value of the server, and the value of the edit.
    for title in ["c", "b"] {
      let stack = try AgreementStack(backend, titles: [1: "a"])
      try stack.set("b", of: 1)
      #expect(try merge(page([1: title]), into: stack).postponed == 1)
      try stack.set("a", of: 1)
      #expect(try merge(page([1: title]), into: stack).postponed == 0)
      #expect(try stack.titles() == [1: title])
    }
  }

  @Test(arguments: Backend.available)
  func `a page with a member that an unsent edit has added too is postponed`(backend: Backend) throws {
    let stack = try AgreementStack(backend, titles: [1: "a"])
    try stack.merge([MergeRecord(["name": "home"])], into: "Label")
    try stack.edit { context in
      let labels = try context.fetch(FetchRequest<ManagedObject>(entityName: "Label"))
      try AgreementStack.task(1, context)?.setObjects(labels, for: "labels")
    }
    func postponed(_ names: MergeKey...) throws -> Int {
      let record = MergeRecord(["id": 1, "title": "a"], links: ["labels": .many(names)])
      return try merge(DeltaPage(records: [record]), into: stack).postponed
    }
    #expect(try postponed() == 0)
    #expect(try postponed("home") == 1)
  }

  @Test(arguments: Backend.available)
  func `a new record and an unknown tombstone are postponed until the answer to an insert`(backend: Backend) throws {
    let stack = try AgreementStack(backend)
    try stack.insert(1, "a")
    #expect(try merge(page([2: "b"]), into: stack).postponed == 0)
    try stack.setState(.sending)
    #expect(try merge(page([3: "c"]), into: stack).postponed == 1)
    #expect(try merge(DeltaPage(tombstones: [4]), into: stack).postponed == 1)
  }
}
