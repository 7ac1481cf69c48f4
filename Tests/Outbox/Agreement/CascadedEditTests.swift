import CoherenceActions
import CoherenceCore
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Unsent edits of records whose owner a merge deletes.
@Suite("Edits of records that a cascade of a merge reaches")
struct CascadedEditTests {
  /// A stack with the folders "F" and "G" of the server, and an unsent edit of the note "A" in "F".
  private func edited(_ backend: Backend) async throws -> NoteStack {
    let stack = try NoteStack(backend)
    try stack.insertFolders()
    #expect(try await stack.forwardAll() == 0)
    try await stack.connect.start()
    stack.time.advance(by: .seconds(1))
    try stack.change("A") { $0.rank = 5 }
    return stack
  }

  /// Merges "G" as the only folder of the server.
  private func mergeWithoutF(
    into stack: NoteStack, _ policy: MergeOptions.PendingEditsPolicy
  ) throws -> MergeResult {
    let id = try stack.read { context in
      try context.fetch(FetchRequest(NoteFolder.self).filter { $0.name == "G" }).first?.id
    }
    let folderID = try #require(id)
    return try stack.connect.newActionContext().merge(
      records: [MergeRecord(["id": folderID])],
      for: try stack.connect.managedObjectModel.entity(named: NoteFolder.entityName),
      options: MergeOptions(mode: .replace, maximumDeletedShare: 1, pendingEdits: policy))
  }

  @Test(arguments: Backend.available)
  func `an edited record stays with its edit as a conflict, and leaves the deleted owner`(
    backend: Backend
  ) async throws {
    let stack = try await edited(backend)
    let result = try mergeWithoutF(into: stack, .keepLocal)
    #expect(result.deleted == 1 && result.keptEdits == 1 && result.pendingConflicts == 1)
    #expect(try stack.read { try NoteStack.note("A", in: $0).folder == nil })
    #expect(try await stack.outbox.entries(state: .parked).map(\.kind) == [.update])
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.kind == .deletedOnServer && conflict.entityName == "Note")
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try stack.ids().isEmpty)
    #expect(try await stack.outbox.counts().total == 0)
  }

  @Test(arguments: Backend.available)
  func `under the policy server, an edited record is deleted with its owner, and its edit is not sent`(
    backend: Backend
  ) async throws {
    let stack = try await edited(backend)
    let result = try mergeWithoutF(into: stack, .server)
    #expect(result.deleted == 1 && result.keptEdits == 0)
    #expect(try stack.ids().isEmpty)
    #expect(try await stack.outbox.counts().total == 0)
  }
}
