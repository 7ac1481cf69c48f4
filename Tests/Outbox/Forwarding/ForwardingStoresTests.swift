import CoherenceActions
import CoherenceCore
import CoherenceInMemory
import CoherenceStrategies
import Foundation
import TestSupport
import Testing

@testable import CoherenceOutbox

/// Edits of records in two stores, which a forwarder claims and settles for each store by itself.
@Suite("Forwarding from several stores", .timeLimit(.minutes(15)))
struct ForwardingStoresTests {
  /// A stack with a second store in memory.
  private func stack(
    _ backend: Backend, model: ManagedObjectModel = OutboxModels.main, entities: [String]
  ) throws -> (stack: OutboxStack, stores: [any PersistentStore]) {
    let stack = try OutboxStack(on: backend, model: model, entities: entities)
    try stack.container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    return (stack, stack.container.persistentStoreCoordinator.persistentStores)
  }

  /// A stack whose stores hold jars, which have a key and another unique value.
  private func jarStack(_ backend: Backend) throws -> (stack: OutboxStack, stores: [any PersistentStore]) {
    let model = try ManagedObjectModel {
      Entity("Jar", uniqueness: [["serial"]], userInfo: ["uniquenessAttributes": "code"]) {
        Attribute("code", .string)
        Attribute("serial", .string, optional: true)
      }
    }.addingOutbox()
    return try stack(backend, model: model, entities: ["Jar"])
  }

  /// Saves a jar in a store.
  ///
  /// - Parameter isRecorded: Whether the outbox sends the insert.
  private func insert(
    _ code: String, serial: String? = nil, into store: any PersistentStore, of stack: OutboxStack,
    isRecorded: Bool = true
  ) throws {
    try stack.save { context in
      context.recordsChanges = isRecorded
      let jar = try context.insertNewObject(forEntityName: "Jar")
      try jar.setValue(code, for: "code")
      try jar.setValue(serial, for: "serial")
      try context.assign(jar, to: store)
    }
  }

  @Test(arguments: Backend.available)
  func `a record of another store with the key that the server assigns is no copy, and stays`(
    _ backend: Backend
  ) async throws {
    let (stack, stores) = try jarStack(backend)
    try insert("s1", serial: "kept", into: stores[1], of: stack, isRecorded: false)
    try insert("local", serial: "sent", into: stores[0], of: stack)
    try stack.outbox.forward("Jar") { handlers in handlers.insert { _ in .accepted(["code": "s1"]) } }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 0)
    await stack.outbox.stop()
    let jars = try stack.save { context -> [AttributeValue] in
      let found = try context.fetch(FetchRequest<ManagedObject>(entityName: "Jar").sort("serial"))
      return try found.flatMap { jar in try ["code", "serial"].map { try jar.value(for: $0) } }
    }
    #expect(jars == [.string("s1"), .string("kept"), .string("s1"), .string("sent")])
  }

  @Test(arguments: Backend.available)
  func `an edit of one store is accepted although the other store refuses the server's values of another edit`(
    _ backend: Backend
  ) async throws {
    let (stack, stores) = try jarStack(backend)
    try insert("other", serial: "taken", into: stores[1], of: stack, isRecorded: false)
    try insert("a", into: stores[0], of: stack)
    try insert("b", into: stores[1], of: stack)
    try stack.outbox.forward("Jar") { handlers in
      handlers.batch { requests in
        var answers: [UUID: ForwardAnswer] = [:]
        for request in requests {
          let serial = request.keys["code"] == .string("b") ? "taken" : "free"
          answers[request.idempotencyKey] = .accepted(["serial": serial])
        }
        return answers
      }
    }
    try stack.outbox.start()
    #expect(try await stack.outbox.flush() == 1)
    await stack.outbox.stop()
    let statistics = stack.outbox.statistics
    #expect(statistics.accepted == 1 && statistics.parked == 1 && statistics.lost == 0)
    let serials = try stack.save { context in
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Jar").sort("code")).map { try $0.value(for: "serial") }
    }
    #expect(serials == [.string("free"), .null, .string("taken")])
  }

  @Test(arguments: Backend.available)
  func `an edit of one store is claimed although another forwarder was faster in the other store`(
    _ backend: Backend
  ) throws {
    let (stack, stores) = try stack(backend, entities: ["TestList", "TestItem", "TestTag"])
    try stack.save { context in
      for store in stores {
        let item = try TestItem(context: context)
        item.title = "item"
        try context.assign(item, to: store)
      }
    }
    try stack.outbox.makeEntries()
    let context = stack.outbox.newContext()
    let claimed = try context.performAndWait {
      let found = try stack.outbox.selection(in: context, at: stack.clock.now, limit: 10)
      #expect(found.steps.count == 2)
      try stack.save { other in
        for entry in try other.fetch(FetchRequest(OutboxEntryRecord.self))
        where entry.objectID.storeIdentifier == stores[1].identifier {
          entry.attempts += 1
        }
      }
      let claim = ForwardClaim(outbox: stack.outbox, claimant: "mine")
      return try claim.take(found.steps, found.objects, until: stack.clock.now + 60, in: context)
    }
    #expect(claimed.map(\.head.id.storeIdentifier) == [stores[0].identifier])
    let states = try stack.save { context in
      let entries = try context.fetch(FetchRequest(OutboxEntryRecord.self))
      return stores.map { store in
        entries.filter { $0.objectID.storeIdentifier == store.identifier }.map(\.state)
      }
    }
    #expect(states == [[.sending], [.pending]])
  }

  /// Reads events until an edit is accepted. Ends each delay that begins after a failure of a store.
  ///
  /// - Returns: Whether a failure was reported before, and the edit was accepted before the failures ended the read.
  private func untilAccepted(
    _ events: AsyncStream<OutboxEvent>, _ clock: ManualClock, afterFailure: () -> Void = {}
  ) async -> (hasFailed: Bool, isAccepted: Bool) {
    var failures = 0
    for await event in events {
      switch event {
      case .accepted: return (failures > 0, true)
      case .failed:
        failures += 1
        guard failures < 100 else { return (true, false) }
        afterFailure()
        await clock.untilSleeping()
        clock.advance(by: .seconds(600))
      default: break
      }
    }
    return (failures > 0, false)
  }

  @Test(arguments: Backend.available)
  func `the edits of a store are sent although an earlier store cannot be read, whose error is an event`(
    _ backend: Backend
  ) async throws {
    let (stack, stores) = try jarStack(backend)
    try insert("unread", into: stores[0], of: stack)
    try insert("sent", into: stores[1], of: stack)
    stores[0].close()
    try stack.outbox.forward("Jar") { handlers in handlers.insert { _ in .accepted } }
    let (events, clock) = (stack.outbox.events, ManualClock())
    try stack.outbox.start(ForwardOptions(clock: clock))
    let result = await untilAccepted(events, clock)
    #expect(result.hasFailed && result.isAccepted)
    await stack.outbox.stop()
    #expect(stack.outbox.statistics.accepted == 1)
  }

  @Test(arguments: Backend.available)
  func `a result that its store refuses to save keeps no result and no edit of another store back`(
    _ backend: Backend
  ) async throws {
    let (stack, stores) = try jarStack(backend)
    try insert("a", into: stores[0], of: stack)
    try insert("b", into: stores[1], of: stack)
    let (gate, opening) = AsyncStream<Void>.makeStream()
    try stack.outbox.forward("Jar") { handlers in
      handlers.insert { request in
        if request.keys["code"] == .string("a") { stores[0].close() }
        if request.keys["code"] == .string("b") { for await _ in gate {} }
        return .accepted
      }
    }
    let (events, clock) = (stack.outbox.events, ManualClock())
    try stack.outbox.start(ForwardOptions(clock: clock))
    let result = await untilAccepted(events, clock) { opening.finish() }
    #expect(result.hasFailed && result.isAccepted)
    let others = stack.outbox.events
    try insert("c", into: stores[1], of: stack)
    let other = await untilAccepted(others, clock)
    #expect(other.isAccepted)
    await stack.outbox.stop(.cancel)
    #expect(stack.outbox.statistics.accepted == 2)
  }
}
