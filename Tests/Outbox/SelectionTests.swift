import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

@testable import CoherenceOutbox

/// The requests that a forwarder finds in a store, and their acknowledgement.
@Suite("Selection of requests", .timeLimit(.minutes(15)))
struct SelectionTests {
  private func steps(_ stack: OutboxStack, limit: Int = 10) throws -> [OutboxStep] {
    let context = stack.outbox.newContext()
    try stack.outbox.makeEntries()
    return try context.performAndWait {
      try stack.outbox.selection(in: context, at: stack.clock.now, limit: limit).steps
    }
  }

  private func acknowledge(_ step: OutboxStep, in stack: OutboxStack) throws {
    let context = stack.outbox.newContext()
    try context.performAndWait {
      try stack.outbox.acknowledge(step, in: context)
      try context.save()
    }
  }

  @Test(arguments: Backend.available)
  func `a child is sent after its parent, with the edits of both`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let list = try stack.saveList("Home")
    let item = try stack.saveItem("Milk", in: list)
    try stack.change(item) { $0.title = "Bread" }
    let parent = try #require(try steps(stack).first)
    #expect(try steps(stack).map(\.head.recordID) == [list])
    try acknowledge(parent, in: stack)
    let child = try #require(try steps(stack).first)
    #expect(child.kind == .insert && child.entries.count == 2)
    #expect(child.changes.first { $0.name == "title" }?.value == .value(.string("Bread")))
    try acknowledge(child, in: stack)
    #expect(try await stack.outbox.counts().total == 0)
  }

  @Test(arguments: Backend.available)
  func `a parent is deleted after its members`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let list = try stack.saveList("Home")
    let item = try stack.saveItem("Milk", in: list)
    for step in try steps(stack) { try acknowledge(step, in: stack) }
    for step in try steps(stack) { try acknowledge(step, in: stack) }
    #expect(try await stack.outbox.counts().total == 0)
    // The delete rule of the list also deletes the item.
    try stack.delete(list)
    #expect(try steps(stack).map(\.head.recordID) == [item])
    for step in try steps(stack) { try acknowledge(step, in: stack) }
    #expect(try steps(stack).map(\.head.recordID) == [list])
  }

  @Test(arguments: Backend.available)
  func `a record inserted and deleted before its first request leaves no entry`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    try stack.change(item) { $0.photo = Data(repeating: 7, count: 100_000) }
    try stack.delete(item)
    #expect(try await stack.outbox.counts().total == 3)
    #expect(try steps(stack).isEmpty)
    #expect(try await stack.outbox.counts().total == 0)
    let contents = try stack.save {
      try $0.count(for: FetchRequest<ManagedObject>(entityName: "CoherenceOutboxContent"))
    }
    #expect(contents == 0)
  }

  @Test(arguments: Backend.available)
  func `entries without an effect do not count against the limit of requests`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    for number in 0..<3 { try stack.delete(try stack.saveItem("Item \(number)")) }
    let bread = try stack.saveItem("Bread")
    #expect(try steps(stack, limit: 1).map(\.head.recordID) == [bread])
    #expect(try await stack.outbox.counts().total == 1)
  }

  @Test(arguments: Backend.available)
  func `the pending insert of a record deleted by a merge is still found`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    // A merge of the server's data deletes the record without an entry.
    let context = stack.container.newBackgroundContext()
    context.recordsChanges = false
    try context.performAndWait {
      context.delete(try context.existingObject(with: item))
      try context.save()
    }
    let step = try #require(try steps(stack).first)
    #expect(step.kind == .insert && step.head.recordID == item)
    try acknowledge(step, in: stack)
    #expect(try await stack.outbox.counts().total == 0)
  }

  @Test(arguments: Backend.available)
  func `a search that loses a race over entries without an effect leaves no change in its context`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let other = try stack.another().outbox
    try stack.delete(try stack.saveItem("Milk"))
    try stack.outbox.makeEntries()
    let earlier = stack.clock.now.addingTimeInterval(-1)
    stack.outbox.coordinator.observer = SaveInterference(reportingTo: { Issue.record($0) }) {
      let context = other.newContext()
      try context.performAndWait {
        for entry in try context.fetch(FetchRequest(OutboxEntryRecord.self)) { entry.nextAttempt = earlier }
        try context.save()
      }
    }
    let context = stack.outbox.newContext()
    try context.performAndWait {
      let selection = try stack.outbox.selection(in: context, at: stack.clock.now, limit: 10)
      #expect(selection.steps.isEmpty && !context.hasChanges)
      // The next save of the context would meet the same conflict.
      try context.save()
    }
    #expect(try await stack.outbox.counts().total == 2)
    #expect(try steps(stack).isEmpty)
    #expect(try await stack.outbox.counts().total == 0)
  }

  // MARK: Saves during a search

  @Test(arguments: Backend.available)
  func `an edit saved after the log was read goes into one request with the older entry of its record`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let milk = try stack.saveItem("Milk")
    let bread = try stack.saveItem("Bread")
    try stack.outbox.makeEntries()
    try stack.change(milk) { $0.title = "Oat milk" }
    let early = try selectionWithoutLog(stack)
    #expect(early.steps.map(\.head.recordID) == [bread] && !early.isComplete)
    let found = try steps(stack)
    #expect(found.map(\.head.recordID) == [milk, bread] && found.first?.entries.count == 2)
  }

  @Test(arguments: Backend.available)
  func `an entry made by a merge waits for an earlier save in the log`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let bread = try stack.saveItem("Bread")
    try stack.outbox.makeEntries()
    let list = try stack.saveList("Home")
    let item = try stack.saveItem("Milk", in: list)
    // A merge makes the entries of its own records only.
    let merge = stack.outbox.newContext()
    try merge.performAndWait {
      try merge.makeLoggedEntries(of: [item])
      try merge.save()
    }
    let early = try selectionWithoutLog(stack)
    #expect(early.steps.map(\.head.recordID) == [bread] && !early.isComplete)
    #expect(Set(try steps(stack).map(\.head.recordID)) == [bread, list])
  }

  /// Selects as a search whose log was read before the last saves.
  private func selectionWithoutLog(_ stack: OutboxStack) throws -> OutboxSelection {
    let context = stack.outbox.newContext()
    return try context.performAndWait { try stack.outbox.selection(in: context, at: stack.clock.now, limit: 10) }
  }

  @Test(arguments: Backend.available)
  func `a loaded request has its large values`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let photo = Data(repeating: 7, count: 100_000)
    let item = try stack.saveItem("Milk")
    try stack.change(item) { $0.photo = photo }
    let step = try #require(try steps(stack).first)
    #expect(step.changes.first { $0.name == "photo" }?.value == .omitted(byteCount: 100_000))
    let context = stack.outbox.newContext()
    let loaded = try context.performAndWait { try stack.outbox.loaded(step, in: context) }
    #expect(loaded.changes.first { $0.name == "photo" }?.value == .value(.data(photo)))
    #expect(loaded.idempotencyKey == step.idempotencyKey && loaded.changes.count == step.changes.count)
  }

  @Test(arguments: Backend.available)
  func `a request behind thousands of waiting entries is found`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let list = try stack.saveList("Home")
    try await stack.outbox.park(try #require(try await stack.outbox.entries().first).id)
    try stack.save { context in
      let list = try context.existingObject(with: list) as? TestList
      for number in 0..<3000 {
        let item = try TestItem(context: context)
        item.title = "Item \(number)"
        item.list = list
      }
    }
    let free = try stack.saveItem("Free")
    #expect(try steps(stack).map(\.head.recordID) == [free])
  }

  @Test(arguments: Backend.available)
  func `the entries of two programs for the same record become one request`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let other = try stack.another()
    let item = try stack.saveItem("Milk")
    let same = try #require(other.container.persistentStoreCoordinator.objectID(forDescription: item.description))
    try other.change(same) { $0.title = "Bread" }
    let step = try #require(try steps(stack).first)
    #expect(step.kind == .insert && step.entries.count == 2)
    #expect(step.changes.first { $0.name == "title" }?.value == .value(.string("Bread")))
  }

  @Test(arguments: Backend.available)
  func `a reference that a request leaves out becomes an update that waits for its record`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let list = try stack.saveList("Home")
    let item = try stack.saveItem("Milk", in: list)
    let entries = try await stack.outbox.entries(of: item)
    var step = try #require(OutboxPlan(entries: entries).steps.first)
    step.deferredReferences = step.newReferences
    try acknowledge(step, in: stack)
    let followUp = try #require(try await stack.outbox.entries(of: item).first)
    #expect(followUp.kind == .update && followUp.id != entries.first?.id)
    #expect(
      followUp.changes == [
        OutboxChange("list", base: .value(.null), value: .record(OutboxRecord(rootName: "TestList", key: list.key)))
      ])
    #expect(try steps(stack).map(\.head.recordID) == [list])
  }

  @Test(arguments: Backend.available)
  func `the entries of a deleted record get the key of the server`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let list = try stack.saveList("Home")
    try stack.delete(list)
    let context = stack.outbox.newContext()
    try context.performAndWait {
      try stack.outbox.replaceIdentifyingValues(of: list, by: ["name": .string("list-7")], in: context)
      try context.save()
    }
    #expect(
      try await stack.outbox.entries(of: list).map(\.identity) == [
        ["name": .string("list-7")], ["name": .string("list-7")],
      ])
  }
}
