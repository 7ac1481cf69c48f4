import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

@testable import CoherenceOutbox

/// The records that a search of a large save leaves to the next requests.
@Suite("Surplus of a search", .timeLimit(.minutes(15)))
struct SurplusTests {
  /// A stack after one save of 2,000 items, and the first ten requests.
  private static func searched(
    _ backend: Backend
  ) throws -> (stack: OutboxStack, titles: [String], surplus: OutboxSurplus) {
    let stack = try OutboxStack(on: backend)
    try stack.save { context in
      for number in 0..<2_000 { try TestItem(context: context).title = "\(number)" }
    }
    try stack.outbox.makeEntries()
    let context = stack.outbox.newContext()
    return try context.performAndWait {
      let selection = try stack.outbox.selection(in: context, at: stack.clock.now, limit: 10)
      return (stack, titles(selection), selection.surplus)
    }
  }

  private static func titles(_ selection: OutboxSelection) -> [String] {
    selection.steps.compactMap { step in
      guard case .value(.string(let title))? = step.changes.first(where: { $0.name == "title" })?.value else {
        return nil
      }
      return title
    }
  }

  /// The next requests of a surplus.
  private func next(_ surplus: OutboxSurplus, limit: Int = 10, in stack: OutboxStack) throws -> OutboxSelection {
    let context = stack.outbox.newContext()
    return try context.performAndWait {
      try stack.outbox.selection(from: surplus, in: context, at: stack.clock.now, limit: limit)
    }
  }

  @Test(arguments: Backend.available)
  func `the next requests after a search of a large save follow without a search, in the same order`(
    backend: Backend
  ) throws {
    var (stack, titles, surplus) = try Self.searched(backend)
    while !surplus.isEmpty {
      let selection = try next(surplus, in: stack)
      #expect(selection.nodes.isEmpty)
      titles += Self.titles(selection)
      surplus = selection.surplus
    }
    // A sixteenth of the save.
    #expect(titles == (0..<125).map(String.init))
    #expect(try next(surplus, in: stack).steps.isEmpty)
  }

  @Test(arguments: Backend.available)
  func `a record whose entries were dropped, claimed or postponed since the search gets no request`(
    backend: Backend
  ) async throws {
    let (stack, _, surplus) = try Self.searched(backend)
    let entries = try await stack.outbox.entries()
    #expect(try await stack.outbox.drop(entries[10].id) == 1)
    try await stack.outbox.park(entries[11].id)
    let context = stack.outbox.newContext()
    try context.performAndWait {
      let claimed = try stack.outbox.record(entries[12].id, in: context)
      (claimed.state, claimed.claimant) = (.sending, "another")
      claimed.lease = stack.clock.now.addingTimeInterval(60)
      try stack.outbox.record(entries[13].id, in: context).nextAttempt = stack.clock.now.addingTimeInterval(60)
      try context.save()
    }
    #expect(Self.titles(try next(surplus, in: stack)) == (14..<20).map(String.init))
  }

  @Test(arguments: Backend.available)
  func `an edit saved after the search waits for the next search`(backend: Backend) async throws {
    let (stack, _, surplus) = try Self.searched(backend)
    let ids = try await stack.outbox.entries().prefix(12).compactMap(\.recordID)
    try stack.change(ids[10]) { $0.title = "changed" }
    try stack.outbox.makeEntries()
    // This edit stays in the log, so that its record gets no request.
    try stack.change(ids[11]) { $0.title = "logged" }
    let selection = try next(surplus, in: stack)
    #expect(Self.titles(selection) == (10..<20).filter { $0 != 11 }.map(String.init))
    #expect(selection.steps.allSatisfy { $0.entries.count == 1 })
  }

  @Test(arguments: Backend.available, [1, -1])
  func `the reads of a search do not grow with the number of updates that wait for each other's keys`(
    backend: Backend, distance: Int
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let ids = try (0..<64).map { try stack.saveList("\($0)") }
    try stack.outbox.makeEntries()
    for entry in try await stack.outbox.entries() { _ = try await stack.outbox.drop(entry.id) }
    try stack.save { context in
      for (number, id) in ids.enumerated() {
        let list = try #require(try context.existingObject(with: id) as? TestList)
        list.name = "\(number + distance)"
      }
    }
    try stack.outbox.makeEntries()
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    let context = stack.outbox.newContext()
    let found = try context.performAndWait {
      try stack.outbox.selection(in: context, at: stack.clock.now, limit: 1).steps.map(\.head.recordID)
    }
    #expect(found == [distance > 0 ? ids[63] : ids[0]])
    #expect(operations.count(.fetch) < 32)
  }

  @Test(arguments: Backend.available)
  func `an update with a key that another record may still have waits for the next search`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let ids = try (0..<64).map { try stack.saveList("\($0)") }
    try stack.outbox.makeEntries()
    for entry in try await stack.outbox.entries() { _ = try await stack.outbox.drop(entry.id) }
    let names = ["free", "0", "other", "1"] + (4..<64).map { "new \($0)" }
    for (id, name) in zip(ids, names) {
      try stack.save { context in
        let list = try #require(try context.existingObject(with: id) as? TestList)
        list.name = name
      }
    }
    try stack.outbox.makeEntries()
    let context = stack.outbox.newContext()
    let (found, surplus) = try context.performAndWait {
      let selection = try stack.outbox.selection(in: context, at: stack.clock.now, limit: 1)
      return (selection.steps.map(\.head.recordID), selection.surplus)
    }
    #expect(found == [ids[0]])
    #expect(try next(surplus, in: stack).steps.map(\.head.recordID) == [ids[2]])
  }

  @Test(arguments: Backend.available)
  func `the next requests read no entries of the records that they name if these have no updates`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let list = try stack.saveList("list")
    try stack.outbox.makeEntries()
    for entry in try await stack.outbox.entries() { _ = try await stack.outbox.drop(entry.id) }
    try stack.save { context in
      for number in 0..<64 {
        let item = try TestItem(context: context)
        item.title = "\(number)"
        if number > 1 { item.list = try context.existingObject(with: list) as? TestList }
      }
    }
    try stack.outbox.makeEntries()
    let context = stack.outbox.newContext()
    var surplus = try context.performAndWait {
      try stack.outbox.selection(in: context, at: stack.clock.now, limit: 1).surplus
    }
    let operations = OperationLog()
    stack.outbox.coordinator.observer = operations
    var readings: [Int] = []
    for title in ["1", "2"] {
      let before = operations.count(.fetch)
      let selection = try next(surplus, limit: 1, in: stack)
      #expect(Self.titles(selection) == [title])
      readings.append(operations.count(.fetch) - before)
      surplus = selection.surplus
    }
    // The second request names the list, whose insert might wait behind the entries of the search.
    #expect(readings[1] == readings[0] + 1)
  }
}
