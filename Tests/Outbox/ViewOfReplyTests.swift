import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import TestSupport
import Testing

/// The objects of the view after a reply of the server, and after a decision of the user.
@MainActor
@Suite("The view after replies and decisions", .timeLimit(.minutes(15)))
struct ViewOfReplyTests {
  @Test(arguments: StrategyKind.allCases, Backend.available)
  func `an object of the view shows the values of a reply like the save of a background context`(
    strategy: StrategyKind, backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend, strategy: strategy)
    let id = try stack.saveItem("mine")
    let view = stack.container.viewContext
    let item = try #require(try view.existingObject(with: id) as? TestItem)
    #expect(item.title == "mine")
    try stack.outbox.forward("TestItem") { handlers in
      handlers.insert { _ in .accepted(["title": "theirs"]) }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    // A read of other records: the object is not fetched again.
    #expect(try view.count(for: FetchRequest<TestList>(entityName: "TestList")) == 0)
    #expect(item.title == (strategy == .directIndependent ? "mine" : "theirs"))
  }

  @Test(arguments: Backend.available)
  func `an object of the view is deleted when the user accepts the deletion of its record by the server`(
    backend: Backend
  ) async throws {
    let stack = try NoteStack(backend)
    try stack.insertNote("A")
    try await stack.forwardAll()
    let view = stack.connect.viewContext
    let note = try NoteStack.note("A", in: view)
    try stack.change("A") { $0.rank = 5 }
    try await stack.connect.start()
    stack.time.advance(by: .seconds(1))
    try stack.connect.newActionContext().merge(
      records: [MergeRecord](), for: stack.connect.managedObjectModel.entity(named: Note.entityName),
      options: .replaceAll)
    let conflict = try #require(try await stack.outbox.conflicts().first)
    #expect(conflict.kind == .deletedOnServer && !note.isDeleted)
    try await stack.outbox.resolve(conflict.id, keeping: .server)
    #expect(try view.count(for: FetchRequest(NoteFolder.self)) == 0)
    #expect(note.isDeleted)
  }
}
