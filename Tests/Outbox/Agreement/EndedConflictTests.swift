import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import TestSupport
import Testing

@Suite("Conflicts that end without the user")
struct EndedConflictTests {
  /// A stack whose task 1 both sides have changed, with the conflict of a merge.
  private func bothChanged(_ backend: Backend) throws -> AgreementStack {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    #expect(try stack.merge(AgreementStack.page([1: "new"]), .conflict).pendingConflicts == 1)
    return stack
  }

  /// A stack whose task 1 is deleted here and changed on the server, with the conflict of a merge.
  private func deletedLocally(_ backend: Backend) throws -> AgreementStack {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.delete(1)
    #expect(try stack.merge(AgreementStack.page([1: "new"]), .conflict).pendingConflicts == 1)
    return stack
  }

  private func expectEnd(
    _ stack: AgreementStack, _ entries: [EntryFacts], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    #expect(try await stack.outbox.conflictCount() == 0, sourceLocation: sourceLocation)
    #expect(try await stack.entries() == entries, sourceLocation: sourceLocation)
  }

  private func expectConflict(
    _ stack: AgreementStack, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    #expect(try await stack.outbox.conflictCount() == 1, sourceLocation: sourceLocation)
    #expect(try await stack.entries().first?.state == .parked, sourceLocation: sourceLocation)
  }

  // MARK: Updates

  @Test(arguments: Backend.available)
  func `a page with the base again ends the conflict, and its edit is sent`(backend: Backend) async throws {
    for policy in [MergeOptions.PendingEditsPolicy.keepLocal, .server, .conflict] {
      let stack = try bothChanged(backend)
      let result = try stack.merge(AgreementStack.page([1: "old"]), policy)
      #expect(result.pendingConflicts == 0 && result.keptEdits == 1)
      try await expectEnd(stack, [.update("old", to: "edited")])
      #expect(try stack.titles()[1] == "edited")
    }
  }

  @Test(arguments: Backend.available)
  func `a page with the edited value ends the conflict`(backend: Backend) async throws {
    let stack = try bothChanged(backend)
    try stack.merge(AgreementStack.page([1: "edited"]), .conflict)
    try await expectEnd(stack, [.update("old", to: "edited")])
  }

  @Test(arguments: Backend.available)
  func `a page with an earlier value of the edit ends the conflict`(backend: Backend) async throws {
    let stack = try bothChanged(backend)
    try stack.set("edited again", of: 1)
    try stack.merge(AgreementStack.page([1: "edited"]), .conflict)
    try await expectEnd(stack, [.update("old", to: "edited"), .update("edited", to: "edited again")])
  }

  @Test(arguments: Backend.available)
  func `the policy that lets the server win discards the edit and ends the conflict`(backend: Backend) async throws {
    let stack = try bothChanged(backend)
    try stack.set("note", for: "note", of: 1)
    try stack.merge(AgreementStack.page([1: "newer"]), .server)
    #expect(try await stack.outbox.conflictCount() == 0)
    let entries = try await stack.outbox.entries()
    #expect(entries.map(\.state) == [.pending] && entries.first?.changes.map(\.name) == ["note"])
    #expect(try stack.titles()[1] == "newer")
  }

  @Test(arguments: Backend.available)
  func `a page with the same or another value of the server keeps the conflict`(backend: Backend) async throws {
    let stack = try bothChanged(backend)
    try stack.merge(AgreementStack.page([1: "new"]), .keepLocal)
    try await expectConflict(stack)
    try stack.merge(AgreementStack.page([1: "newer"]), .keepLocal)
    try await expectConflict(stack)
  }

  @Test(arguments: Backend.available)
  func `a page without the property keeps the conflict`(backend: Backend) async throws {
    let stack = try bothChanged(backend)
    try stack.merge([MergeRecord(["id": 1, "note": "new"])], .conflict)
    try await expectConflict(stack)
  }

  @Test(arguments: Backend.available)
  func `a page that was requested before the conflict was found keeps the conflict`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old"])
    try stack.set("edited", of: 1)
    let slow = stack.connect.newActionContext()
    try stack.merge(AgreementStack.page([1: "new"]), .conflict)
    try slow.merge(
      records: AgreementStack.page([1: "old"]), for: try stack.connect.managedObjectModel.entity(named: "Task"),
      options: MergeOptions(pendingEdits: .conflict))
    try await expectConflict(stack)
  }

  @Test(arguments: Backend.available)
  func `after the clock was set back, a page ends a conflict that was found in the future`(backend: Backend)
    async throws
  {
    let stack = try bothChanged(backend)
    try stack.edit { context in
      for conflict in try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherenceOutboxConflict")) {
        try conflict.setValue(Date(timeIntervalSinceNow: 86_400), for: "detected")
      }
    }
    try stack.merge(AgreementStack.page([1: "old"]), .conflict)
    try await expectEnd(stack, [.update("old", to: "edited")])
  }

  @Test(arguments: Backend.available)
  func `an older page neither replaces the values of a conflict nor leaves a conflict without its edit`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old"])
    let entity = try stack.connect.managedObjectModel.entity(named: "Task")
    try stack.set("edited", of: 1)
    let (slow, slower) = (stack.connect.newActionContext(), stack.connect.newActionContext())
    try stack.merge(AgreementStack.page([1: "newest"]), .conflict)
    try slow.merge(
      records: AgreementStack.page([1: "new"]), for: entity, options: MergeOptions(pendingEdits: .conflict))
    try await expectConflict(stack)
    #expect(try await stack.outbox.conflicts().first?.properties.map(\.server) == [.string("newest")])
    try slower.merge(
      records: AgreementStack.page([1: "new"]), for: entity, options: MergeOptions(pendingEdits: .server))
    try await expectEnd(stack, [])
    #expect(try stack.titles() == [1: "new"])
  }

  @Test(arguments: Backend.available)
  func `a page that the condition keeps out keeps the conflict`(backend: Backend) async throws {
    let stack = try bothChanged(backend)
    try stack.connect.newActionContext().merge(
      records: AgreementStack.page([1: "old"]), for: try stack.connect.managedObjectModel.entity(named: "Task"),
      condition: try FetchPredicate(format: "existing.title != 'edited'"),
      options: MergeOptions(pendingEdits: .conflict))
    try await expectConflict(stack)
  }

  @Test(arguments: Backend.available)
  func `a conflict over two properties keeps the one that the server still changes`(backend: Backend) async throws {
    let stack = try AgreementStack(backend)
    try stack.merge([MergeRecord(["id": 1, "title": "old", "note": "old"])])
    try stack.edit { context in
      let task = try AgreementStack.task(1, context)
      try task?.setValue("edited", for: "title")
      try task?.setValue("edited", for: "note")
    }
    try stack.merge([MergeRecord(["id": 1, "title": "new", "note": "new"])], .conflict)
    #expect(try await stack.outbox.conflicts().first?.properties.map(\.name) == ["note", "title"])
    try stack.merge([MergeRecord(["id": 1, "title": "old"])], .conflict)
    try await expectConflict(stack)
    try stack.merge([MergeRecord(["id": 1, "title": "old", "note": "new"])], .conflict)
    #expect(try await stack.outbox.conflicts().first?.properties.map(\.name) == ["note"])
    try stack.merge([MergeRecord(["id": 1, "title": "old", "note": "old"])], .conflict)
    try await expectEnd(stack, [.update("old", to: "edited")])
  }

  @Test(arguments: Backend.available)
  func `a conflict over a record that both sides inserted ends with equal values`(backend: Backend) async throws {
    let stack = try AgreementStack(backend)
    try stack.insert(1, "mine")
    try stack.merge(AgreementStack.page([1: "theirs"]), .conflict)
    try stack.merge(AgreementStack.page([1: "theirs"]), .conflict)
    try await expectConflict(stack)
    try stack.merge(AgreementStack.page([1: "mine"]), .conflict)
    try await expectEnd(stack, [.update("theirs", to: "mine")])
  }

  @Test(arguments: Backend.available)
  func `the policy that lets the server win decides over a record that both sides inserted`(backend: Backend)
    async throws
  {
    let stack = try AgreementStack(backend)
    try stack.insert(1, "mine")
    try stack.merge(AgreementStack.page([1: "theirs"]), .conflict)
    try stack.merge(AgreementStack.page([1: "theirs"]), .server)
    try await expectEnd(stack, [])
    #expect(try stack.titles() == [1: "theirs"])
  }

  @Test(arguments: Backend.available)
  func `a conflict ends after a restart, and its end changes nothing a second time`(backend: Backend) async throws {
    let stack = try bothChanged(backend)
    let restarted = try stack.another()
    try await stack.connect.stop()
    try restarted.merge(AgreementStack.page([1: "old"]), .conflict)
    try await expectEnd(restarted, [.update("old", to: "edited")])
    let context = restarted.connect.newActionContext()
    try context.merge(
      records: AgreementStack.page([1: "old"]), for: try restarted.connect.managedObjectModel.entity(named: "Task"),
      options: MergeOptions(pendingEdits: .conflict))
    #expect(context.statistics.updates == 0 && context.statistics.deletes == 0)
  }

  @Test(arguments: Backend.available)
  func `an entry that the user parked stays parked`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old"])
    try stack.set("edited", of: 1)
    try stack.setState(.parked)
    try stack.merge(AgreementStack.page([1: "old"]), .conflict)
    #expect(try await stack.entries() == [.update("old", to: "edited", .parked)])
  }

  // MARK: Deletions

  @Test(arguments: Backend.available)
  func `a record that the server has again ends the conflict over its deletion`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    #expect(try stack.merge(AgreementStack.page([2: "old"]), .conflict, .replace).pendingConflicts == 1)
    try stack.merge(AgreementStack.page([1: "old", 2: "old"]), .conflict, .replace)
    try await expectEnd(stack, [.update("old", to: "edited")])
  }

  @Test(arguments: Backend.available)
  func `a record that comes back with another value becomes a conflict of two changes`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    try stack.merge(AgreementStack.page([2: "old"]), .conflict, .replace)
    try stack.merge(AgreementStack.page([1: "new", 2: "old"]), .conflict, .replace)
    try await expectConflict(stack)
    #expect(try await stack.outbox.conflicts().map(\.kind) == [.bothChanged])
  }

  @Test(arguments: Backend.available)
  func `a page with the former values of a deleted record ends the conflict`(backend: Backend) async throws {
    let stack = try deletedLocally(backend)
    try stack.merge(AgreementStack.page([1: "new"]), .keepLocal)
    try await expectConflict(stack)
    try stack.merge(AgreementStack.page([1: "old"]), .keepLocal)
    #expect(try await stack.outbox.conflictCount() == 0)
    #expect(try await stack.entries().map(\.state) == [.pending])
    #expect(try await stack.entries().map(\.kind) == [.delete])
    #expect(try stack.titles() == [2: "old"])
  }

  @Test(arguments: Backend.available)
  func `a record that both sides have deleted has no conflict, and the deletion is sent`(
    backend: Backend
  ) async throws {
    let whole = try deletedLocally(backend)
    try whole.merge(AgreementStack.page([2: "old"]), .conflict, .replace)
    #expect(try await whole.outbox.conflictCount() == 0)
    #expect(try await whole.entries().map(\.state) == [.pending])

    let paged = try deletedLocally(backend)
    let entity = try paged.connect.managedObjectModel.entity(named: "Task")
    let pages = AsyncStream { continuation in
      continuation.yield(AgreementStack.page([2: "old"]))
      continuation.finish()
    }
    _ = try await paged.connect.newActionContext().mergePages(
      pages, for: entity, options: MergeOptions(mode: .replace, maximumDeletedShare: 1, pendingEdits: .conflict))
    #expect(try await paged.outbox.conflictCount() == 0)
    #expect(try await paged.entries().map(\.state) == [.pending])

    let named = try deletedLocally(backend)
    let page = DeltaPage(records: [], tombstones: [1])
    try named.connect.newActionContext().merge(page, for: try named.connect.managedObjectModel.entity(named: "Task"))
    #expect(try await named.outbox.conflictCount() == 0)
    #expect(try await named.entries().map(\.state) == [.pending])
  }

  @Test(arguments: Backend.available)
  func `the policy that lets the server win ends a conflict over a record that the server then deletes`(
    backend: Backend
  ) async throws {
    let stack = try bothChanged(backend)
    try stack.merge(AgreementStack.page([2: "old"]), .server, .replace)
    try await expectEnd(stack, [])
    #expect(try stack.titles() == [2: "old"])
  }

  @Test(arguments: Backend.available)
  func `a record that both sides have deleted and the server has again is deleted there`(backend: Backend) async throws
  {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    try stack.merge(AgreementStack.page([2: "old"]), .conflict, .replace)
    try stack.delete(1)
    try await expectConflict(stack)
    try stack.merge(AgreementStack.page([1: "old", 2: "old"]), .conflict, .replace)
    #expect(try await stack.outbox.conflictCount() == 0)
    #expect(try await stack.outbox.entries().map(\.state).allSatisfy { $0 == .pending })
    #expect(try await stack.entries().last?.kind == .delete)
    #expect(try stack.titles() == [2: "old"])
  }

  @Test(arguments: Backend.available)
  func `input that is not whole says nothing about a deleted record`(backend: Backend) async throws {
    let stack = try deletedLocally(backend)
    let entity = try stack.connect.managedObjectModel.entity(named: "Task")
    try stack.merge(AgreementStack.page([2: "old"]), .conflict)
    try await expectConflict(stack)
    try stack.connect.newActionContext().merge(
      records: AgreementStack.page([2: "old"]), for: entity,
      subsetFilter: try FetchPredicate(format: "title == 'old'"),
      options: MergeOptions(mode: .replace, maximumDeletedShare: 1, pendingEdits: .conflict))
    try await expectConflict(stack)
    let page = DeltaPage(records: [], tombstones: [2])
    try stack.connect.newActionContext().merge(page, for: entity)
    try await expectConflict(stack)
  }
}
