import CoherenceCore
import CoherenceStrategies
import Foundation
import Testing
import TestSupport

@testable import CoherenceOutbox

/// Parked entries: retried, edited, dropped.
@Suite("Dead letters", .timeLimit(.minutes(15)))
struct DeadLetterTests {
  /// Changes a stored entry in the place of a forwarder.
  private func mark(
    _ id: OutboxEntry.ID, in stack: OutboxStack, _ change: (OutboxEntryRecord) -> Void
  ) throws {
    let context = stack.outbox.newContext()
    try context.performAndWait {
      change(try stack.outbox.record(id, in: context))
      try context.save()
    }
  }

  /// Saves three updates of one record, of which an attempted request includes the first two.
  private func attemptedUpdates(in stack: OutboxStack) async throws -> [OutboxEntry] {
    let item = try stack.saveItem("Milk")
    try await stack.outbox.drop(try #require(try await stack.outbox.entries().first).id)
    for count in Int64(1)...3 { try stack.change(item) { $0.count = count } }
    let entries = try await stack.outbox.entries(of: item)
    try mark(entries[0].id, in: stack) { $0.groupEnd = entries[1].sequence }
    return entries
  }

  @Test(arguments: Backend.available)
  func `a refused entry is retried with a new key, together with later edits`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    let head = try #require(try await stack.outbox.entries().first)
    try mark(head.id, in: stack) {
      $0.state = .parked
      $0.isRejected = true
      $0.groupEnd = head.sequence
      $0.attempts = 4
    }
    try stack.change(item) { $0.title = "Bread" }
    #expect(try steps(stack).isEmpty)
    try await stack.outbox.retry(head.id)
    let retried = try await stack.outbox.entry(head.id)
    #expect(retried.state == .pending && retried.attempts == 0 && !retried.isRejected && retried.groupEnd == nil)
    #expect(retried.idempotencyKey != head.idempotencyKey)
    let step = try #require(try steps(stack).first)
    #expect(step.kind == .insert && step.entries.count == 2 && step.idempotencyKey == retried.idempotencyKey)
    #expect(step.changes.first { $0.name == "title" }?.value == .value(.string("Bread")))
  }

  @Test(arguments: Backend.available)
  func `a refused deletion with earlier edits in its request is retried with a new key`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    let insert = try #require(try await stack.outbox.entries().first)
    try stack.save { context in
      for entry in try stack.outbox.records([insert.id], in: context) { context.delete(entry) }
    }
    try stack.change(item) { $0.title = "Bread" }
    try stack.delete(item)
    let refused = try #require(try steps(stack).first)
    #expect(refused.kind == .delete && refused.entries.count == 2)
    try mark(refused.head.id, in: stack) {
      $0.state = .parked
      $0.isRejected = true
      $0.groupEnd = refused.groupEnd
    }
    try await stack.outbox.retry(refused.head.id)
    let retried = try #require(try steps(stack).first)
    #expect(retried.kind == .delete && retried.idempotencyKey != refused.idempotencyKey)
  }

  @Test(arguments: Backend.available)
  func `an edit with unreadable values is parked, and no handler gets the edit`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.saveItem("Milk")
    let head = try #require(try await stack.outbox.entries().first)
    try mark(head.id, in: stack) { $0.payload = Data([255]) }
    try stack.outbox.forward("TestItem") { handlers in
      handlers.insert { _ in
        Issue.record("The handler got an edit without values.")
        return .accepted
      }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 1)
    await stack.outbox.stop()
    let parked = try await stack.outbox.entry(head.id)
    #expect(parked.state == .parked && !parked.isRejected && parked.lastError != nil)
  }

  @Test(arguments: Backend.available)
  func `a forwarder renews the claims of its edits, and no claim left by a failed save`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.saveItem("Milk")
    try stack.saveItem("Bread")
    let entries = try await stack.outbox.entries()
    let (sent, left) = (try #require(entries.first), try #require(entries.last))
    let now = stack.clock.now
    let (end, renewed) = (now.addingTimeInterval(60), now.addingTimeInterval(90))
    for entry in entries {
      try mark(entry.id, in: stack) {
        $0.state = .sending
        $0.claimant = "forwarder"
        $0.lease = end
      }
    }
    let claim = ForwardClaim(outbox: stack.outbox, claimant: "forwarder")
    let context = stack.outbox.newContext()
    try context.performAndWait {
      try claim.renew([sent.id], until: renewed, in: context)
      let selection = try stack.outbox.selection(in: context, at: now, limit: 10)
      let own = try stack.outbox.records([sent.id], in: context).map {
        OutboxStep([try EntryDecoder(coordinator: stack.outbox.coordinator).entry($0)], outcome: .insert)
      }
      let backlog = ForwardBacklog(of: selection.nodes, besides: own, at: now, ForwardOptions())
      #expect(backlog.nextDue == end && backlog.counts == OutboxCounts(sending: 2))
    }
    #expect(try await stack.outbox.entry(sent.id).leaseEnd == renewed)
    #expect(try await stack.outbox.entry(left.id).leaseEnd == end)
  }

  @Test(arguments: Backend.available)
  func `a forwarder claims an entry again at once when the save of the first claim failed after its commit`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.saveItem("Milk")
    let entry = try #require(try await stack.outbox.entries().first)
    let lease = stack.clock.now.addingTimeInterval(60)
    try mark(entry.id, in: stack) {
      $0.state = .sending
      $0.claimant = "forwarder"
      $0.lease = lease
    }
    for (claimant, count) in [("another", 0), ("forwarder", 1)] {
      let context = stack.outbox.newContext()
      try context.performAndWait {
        let found = try stack.outbox.selection(in: context, at: stack.clock.now, limit: 10) {
          $0.claimant == claimant ? .abandoned : .untilLeaseEnds
        }
        let claim = ForwardClaim(outbox: stack.outbox, claimant: claimant)
        #expect(try claim.take(found.steps, found.objects, until: lease, in: context).count == count)
      }
    }
    #expect(try await stack.outbox.entry(entry.id).attempts == 1)
  }

  @Test(arguments: Backend.available)
  func `an entry with an unknown result is retried with its old key, without later edits`(backend: Backend) async throws
  {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    let head = try #require(try await stack.outbox.entries().first)
    try mark(head.id, in: stack) {
      $0.state = .parked
      $0.groupEnd = head.sequence
      $0.attempts = 4
    }
    try stack.change(item) { $0.title = "Bread" }
    #expect(try await stack.outbox.retryAll() == 1)
    let step = try #require(try steps(stack).first)
    #expect(step.idempotencyKey == head.idempotencyKey && step.entries.map(\.id) == [head.id])
  }

  @Test(arguments: Backend.available)
  func `a parked entry blocks the later entries of its record, and no other record`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let milk = try stack.saveItem("Milk")
    let bread = try stack.saveItem("Bread")
    try await stack.outbox.park(try #require(try await stack.outbox.entries(of: milk).first).id)
    try stack.change(milk) { $0.count = 1 }
    #expect(try steps(stack).map(\.head.recordID) == [bread])
  }

  @Test(arguments: Backend.available)
  func `dropping an insert drops all entries of the record, and dropping an update drops only the update`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let milk = try stack.saveItem("Milk")
    let bread = try stack.saveItem("Bread")
    try stack.change(milk) { $0.count = 1 }
    try stack.change(milk) { $0.count = 2 }
    let entries = try await stack.outbox.entries(of: milk)
    #expect(try await stack.outbox.drop(entries[1].id) == 1)
    #expect(try await stack.outbox.entries(of: milk).map(\.id) == [entries[0].id, entries[2].id])
    #expect(try await stack.outbox.drop(entries[0].id) == 2)
    #expect(try await stack.outbox.entries().map(\.recordID) == [bread])
  }

  @Test func `dropping the first entry of an attempted request drops all entries of the request`() async throws {
    let stack = try OutboxStack(on: .inMemory)
    let entries = try await attemptedUpdates(in: stack)
    await #expect {
      try await stack.outbox.drop(entries[1].id)
    } throws: {
      ErrorCode.illegalState ~= $0
    }
    #expect(try await stack.outbox.drop(entries[0].id) == 2)
    #expect(try await stack.outbox.entries().map(\.id) == [entries[2].id])
  }

  @Test(arguments: Backend.available)
  func `a later entry of an attempted request cannot be parked alone`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let entries = try await attemptedUpdates(in: stack)
    await #expect {
      try await stack.outbox.park(entries[1].id)
    } throws: {
      ErrorCode.illegalState ~= $0
    }
    try await stack.outbox.park(entries[0].id)
    try await stack.outbox.retry(entries[0].id)
    let repeated = try #require(try steps(stack).first)
    #expect(repeated.entries.count == 2 && repeated.idempotencyKey == entries[0].idempotencyKey)
    // The server has not applied a refused request, so that its entries may be sent apart.
    try mark(entries[0].id, in: stack) { $0.isRejected = true }
    try await stack.outbox.park(entries[1].id)
    #expect(try await stack.outbox.entry(entries[1].id).state == .parked)
  }

  @Test(arguments: Backend.available)
  func `an edit of a later entry of an attempted request gives the request a new key`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let entries = try await attemptedUpdates(in: stack)
    try await stack.outbox.edit(entries[1].id) { try $0.set("count", to: Int64(7)) }
    let edited = try await stack.outbox.entries()
    #expect(edited.map(\.id) == entries.map(\.id))
    #expect(zip(edited, entries).map { $0.idempotencyKey == $1.idempotencyKey } == [false, false, true])
    #expect(edited.map { $0["count"]?.value } == [1, 7, 3].map { .value(.int($0)) })
  }

  @Test(arguments: Backend.available)
  func `an edited entry sends the new value under a new key`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    let head = try #require(try await stack.outbox.entries().first)
    try await stack.outbox.edit(head.id) { edit in
      #expect(edit["title"] == .string("Milk"))
      try edit.set("title", to: "Bread")
      try edit.set("photo", to: Data(repeating: 1, count: 100_000))
    }
    let edited = try await stack.outbox.entry(head.id)
    #expect(edited["title"]?.value == .value(.string("Bread")) && edited.idempotencyKey != head.idempotencyKey)
    #expect(edited["photo"]?.value == .value(.data(Data(repeating: 1, count: 100_000))))
    #expect(try await stack.outbox.entries(of: item).first?.hasOmittedValues == true)
    for (name, value) in [("title", 3 as any AttributeConvertible & Sendable), ("nothing", "x"), ("list", "x")] {
      await #expect(throws: CoherenceError.self) {
        try await stack.outbox.edit(head.id) { try $0.set(name, to: value) }
      }
    }
    #expect(try await stack.outbox.entry(head.id).changes == edited.changes)
  }

  @Test(arguments: Backend.available)
  func `an edited entry cannot lose the value of a required attribute`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.saveItem("Milk")
    let head = try #require(try await stack.outbox.entries().first)
    await #expect {
      try await stack.outbox.edit(head.id) { try $0.set("title", to: nil) }
    } throws: {
      ErrorCode.missingValue ~= $0 && "\($0)".contains("TestItem.title")
    }
    #expect(try await stack.outbox.entry(head.id).changes == head.changes)
    // An optional attribute can lose its value.
    try await stack.outbox.edit(head.id) { try $0.set("photo", to: nil) }
    #expect(try await stack.outbox.entry(head.id)["photo"]?.value == .value(.null))
  }

  @Test func `an entry that a process sends cannot be retried, parked or dropped before the end of its lease`()
    async throws
  {
    let stack = try OutboxStack(on: .inMemory)
    try stack.saveItem("Milk")
    let head = try #require(try await stack.outbox.entries().first)
    let lease = stack.clock.now.addingTimeInterval(30)
    try mark(head.id, in: stack) {
      $0.state = .sending
      $0.lease = lease
    }
    await #expect { try await stack.outbox.retry(head.id) } throws: { ErrorCode.illegalState ~= $0 }
    await #expect { try await stack.outbox.park(head.id) } throws: { ErrorCode.illegalState ~= $0 }
    await #expect { try await stack.outbox.drop(head.id) } throws: { ErrorCode.illegalState ~= $0 }
    #expect(try await stack.outbox.counts() == OutboxCounts(sending: 1))
    stack.clock.now = lease
    try await stack.outbox.retry(head.id)
    #expect(try await stack.outbox.counts() == OutboxCounts(pending: 1))
  }

  @Test(arguments: Backend.available)
  func `renewing the keys gives every entry a new idempotency key`(backend: Backend) async throws {
    let stack = try OutboxStack(on: backend)
    try stack.save { context in
      for number in 0..<1100 { try TestItem(context: context).title = "Item \(number)" }
    }
    let keys = Set(try await stack.outbox.entries(limit: 2000).map(\.idempotencyKey))
    #expect(try await stack.outbox.renewKeys() == 1100)
    let renewed = Set(try await stack.outbox.entries(limit: 2000).map(\.idempotencyKey))
    #expect(renewed.count == 1100 && renewed.isDisjoint(with: keys))
  }

  private func steps(_ stack: OutboxStack) throws -> [OutboxStep] {
    let context = stack.outbox.newContext()
    try stack.outbox.makeEntries()
    return try context.performAndWait { try stack.outbox.selection(in: context, at: stack.clock.now, limit: 10).steps }
  }

  @Test(arguments: Backend.available)
  func `an edit that changes nothing keeps the key of its entry, and a refused one names the properties with values`(
    backend: Backend
  ) async throws {
    let stack = try OutboxStack(on: backend)
    let item = try stack.saveItem("Milk")
    let head = try #require(try await stack.outbox.entries().first)
    try await stack.outbox.edit(head.id) { edit in
      try edit.set("title", to: "Bread")
      #expect(edit["title"] == .string("Bread") && edit["nothing"] == nil)
      try edit.set("title", to: "Milk")
    }
    #expect(try await stack.outbox.entry(head.id).idempotencyKey == head.idempotencyKey)
    try stack.change(item) { $0.count = 2 }
    let update = try #require(try await stack.outbox.entries(of: item).last)
    await #expect {
      try await stack.outbox.edit(update.id) { try $0.set("title", to: "Bread") }
    } throws: {
      ErrorCode.unknownProperty ~= $0 && "\($0)".contains("its new values are: count.")
    }
  }

  @Test(arguments: [(90_000.0, false), (90_001.0, true)])
  func `an entry whose lease is longer than any lease counts as not being sent`(seconds: Double, isFree: Bool)
    async throws
  {
    let stack = try OutboxStack(on: .inMemory)
    try stack.saveItem("Milk")
    let head = try #require(try await stack.outbox.entries().first)
    let lease = stack.clock.now.addingTimeInterval(seconds)
    try mark(head.id, in: stack) {
      $0.state = .sending
      $0.lease = lease
    }
    if isFree {
      try await stack.outbox.retry(head.id)
    } else {
      await #expect { try await stack.outbox.retry(head.id) } throws: { ErrorCode.illegalState ~= $0 }
    }
    #expect(try await stack.outbox.counts() == OutboxCounts(pending: isFree ? 1 : 0, sending: isFree ? 0 : 1))
  }
}
