import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

/// The outbox of a tool, whose model has only the entities of the outbox, on the store of an application.
@Suite("An outbox without the application's model")
struct PartialModelTests {
  private typealias Container = GenericPersistentContainer<ContextStrategy.DirectIndependent>

  /// The outbox of a tool on the store of a stack.
  private func tool(_ stack: AgreementStack) throws -> Outbox {
    let model = try ManagedObjectModel(entities: []).addingOutbox()
    let container = Container(name: "Tool", managedObjectModel: model, storeLocation: stack.directory.url)
    try container.attachPersistentStore(for: stack.partialConfiguration)
    return try Outbox(container)
  }

  @Test(arguments: Backend.availableSQL)
  func `a tool lists entries with their values, and parks, retries and drops them`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    let before = try stack.metadata()
    try stack.set("one", of: 1)
    try stack.set("two", of: 2)
    let tool = try tool(stack)
    let entries = try await tool.entries()
    #expect(entries.map(\.entityName) == ["Task", "Task"] && entries.allSatisfy { !$0.isEntityKnown && $0.isReadable })
    #expect(entries.map { $0["title"]?.value } == [.value(.string("one")), .value(.string("two"))])
    try await tool.park(entries[0].id, error: "by hand")
    #expect(try await stack.outbox.entries(state: .parked).map(\.lastError) == ["by hand"])
    #expect(try await tool.drop(entries[1].id) == 1)
    #expect(try await tool.retryAll() == 1)
    #expect(try await stack.entries() == [.update("old", to: "one")])
    #expect(try stack.titles() == [1: "one", 2: "two"])
    #expect(try stack.metadata() == before)
  }

  @Test(arguments: Backend.availableSQL)
  func `a tool resolves a conflict in favor of the edit, and bases the edit on the server's values`(
    backend: Backend
  ) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old"])
    try stack.set("edited", of: 1)
    try stack.merge(AgreementStack.page([1: "new"]), .conflict)
    let tool = try tool(stack)
    let conflict = try #require(try await tool.conflicts().first)
    #expect(conflict.recordID == nil && conflict.entityName == "Task")
    #expect(conflict.properties.map(\.local) == [.string("edited")])
    #expect(conflict.properties.map(\.server) == [.string("new")])
    try await tool.resolve(conflict.id, keeping: .local)
    #expect(try await stack.outbox.conflictCount() == 0)
    #expect(try await stack.entries() == [.update("new", to: "edited")])
    #expect(try stack.titles() == [1: "edited"])
  }

  @Test(arguments: Backend.availableSQL)
  func `a tool refuses a decision that changes the record`(backend: Backend) async throws {
    let stack = try AgreementStack(backend, titles: [1: "old", 2: "old"])
    try stack.set("edited", of: 1)
    try stack.set("edited", of: 2)
    try stack.merge(AgreementStack.page([1: "new"]), .conflict, .replace)
    let tool = try tool(stack)
    let conflicts = try await tool.conflicts()
    let deleted = try #require(conflicts.first { $0.kind == .deletedOnServer })
    let changed = try #require(conflicts.first { $0.kind == .bothChanged })
    let decisions: [(OutboxConflict, OutboxResolution)] = [
      (changed, .server), (changed, .values(["title": "mine"])), (deleted, .local), (deleted, .server),
    ]
    for (conflict, resolution) in decisions {
      let error = await #expect(throws: CoherenceError.self) {
        try await tool.resolve(conflict.id, keeping: resolution)
      }
      #expect(error?.code == .unknownEntity)
    }
    #expect(try await stack.outbox.conflictCount() == 2)
    #expect(try await stack.entries().map(\.state) == [.parked, .parked])
  }
}
