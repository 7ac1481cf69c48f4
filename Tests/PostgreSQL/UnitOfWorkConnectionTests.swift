import CoherenceCore
import CoherencePostgreSQL
import Dispatch
import Foundation
import Synchronization
import TestSupport
import Testing

/// Units of work with the smallest pool there can be: one connection to read, one to save.
@Suite(.needsServer) struct UnitOfWorkConnectionTests {
  private let schema: TemporarySchema
  private let coordinator: PersistentStoreCoordinator
  private let log = MessageLog()

  init() throws {
    schema = try TemporarySchema()
    coordinator = PersistentStoreCoordinator(managedObjectModel: try PeopleModel.make(), logger: log.logger)
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url,
      options: [
        PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2, PostgreSQLOption.poolTimeout: 5,
      ])
  }

  private func context() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// Saves people, each a friend of the one before.
  private func fill(_ count: Int) throws {
    let context = context()
    try context.performAndWait {
      var last: ManagedObject?
      for number in 0..<count {
        let person = try context.insertNewObject(forEntityName: "Person")
        try person.setValue("\(number)", for: "name")
        if let last { try person.setObjects([last], for: "friends") }
        last = person
      }
      try context.save()
    }
  }

  private func people(_ context: ManagedObjectContext, named name: String? = nil) throws -> [ManagedObject] {
    var request = FetchRequest<ManagedObject>(entityName: "Person")
    request.predicate = name.map { .comparison(.path(PropertyPath("name")), .equal, .value(.string($0))) }
    return try context.fetch(request)
  }

  @Test func `a fetch, a delete and a save find the connections of the smallest pool enough`() throws {
    try fill(3)
    let context = context()
    try context.performAndWait {
      for person in try people(context) { context.delete(person) }
      try context.save()
      #expect(try people(context).isEmpty)
    }
  }

  @Test func `thirty-two units of work that fetch, delete and save share the smallest pool`() async throws {
    try fill(64)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<32 {
        group.addTask {
          let context = self.context()
          try await context.perform {
            for person in try people(context, named: "\(number * 2)") { context.delete(person) }
            try context.save()
          }
        }
      }
      try await group.waitForAll()
    }
    let context = context()
    #expect(try context.performAndWait { try self.people(context).count } == 32)
  }

  @Test func `nested contexts read with the smallest pool`() throws {
    try fill(2)
    let contexts = (0..<4).map { _ in context() }
    func enter(_ index: Int) throws {
      guard index < contexts.count else { return }
      let context = contexts[index]
      try context.performAndWait {
        #expect(try people(context).count == 2)
        try enter(index + 1)
        #expect(try people(context, named: "1").count == 1)
      }
    }
    try enter(0)
  }

  @Test func `nested snapshots have a connection each, beyond the size of the pool`() throws {
    try fill(1)
    let contexts = (0..<4).map { _ in context() }
    func enter(_ index: Int) throws {
      guard index < contexts.count else { return }
      let context = contexts[index]
      try context.performAndWait {
        try context.withSnapshot {
          #expect(try people(context).count == index + 1)
          try fill(1)
          try enter(index + 1)
          #expect(try people(context).count == index + 1)
        }
      }
    }
    try enter(0)
  }

  @Test func `a unit of work that reads may ask for the store's metadata and for permanent identifiers`() throws {
    try fill(1)
    let context = context()
    try context.performAndWait {
      _ = try people(context)
      _ = try coordinator.metadata(for: coordinator.persistentStores[0])
      let fresh = try (0..<5000).map { _ in try context.insertNewObject(forEntityName: "Person") }
      try context.obtainPermanentIDs(for: fresh)
      #expect(fresh.allSatisfy { !$0.objectID.isTemporaryID })
    }
  }

  @Test func `a unit of work that waits for another thread gives its connection to that thread`() throws {
    try fill(1)
    let (outer, inner) = (context(), context())
    try outer.performAndWait {
      let before = try people(outer).count
      #expect(before == 1)
      let found = Found()
      let isDone = DispatchSemaphore(value: 0)
      DispatchQueue.global().async {
        let count = try? inner.performAndWait { try self.people(inner).count }
        found.count.withLock { $0 = count }
        isDone.signal()
      }
      isDone.wait()
      #expect(found.count.withLock { $0 } == 1)
      let after = try people(outer).count
      #expect(after == 1)
    }
  }

  @Test(arguments: [false, true])
  func `two units of work over two stores do not wait for each other's connections`(inSnapshots: Bool) async throws {
    let schemas = try [TemporarySchema(), TemporarySchema()]
    let model = try ManagedObjectModel(configurations: ["one": ["One"], "two": ["Two"]]) {
      Entity("One") { Attribute("name", .string, optional: true) }
      Entity("Two") { Attribute("name", .string, optional: true) }
    }
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    for (schema, name) in zip(schemas, ["one", "two"]) {
      try coordinator.addPersistentStore(
        type: .postgreSQL, configurationName: name, at: schema.url,
        options: [
          PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2, PostgreSQLOption.poolTimeout: 5,
        ])
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<16 {
        group.addTask {
          let context = ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
          @Sendable func read() throws {
            for entity in number.isMultiple(of: 2) ? ["One", "Two"] : ["Two", "One"] {
              let found = try context.fetch(FetchRequest<ManagedObject>(entityName: entity))
              #expect(found.isEmpty)
            }
          }
          try await context.perform { inSnapshots ? try context.withSnapshot { try read() } : try read() }
        }
      }
      try await group.waitForAll()
    }
    withExtendedLifetime(schemas) {}
  }

  @Test func `a walk over people and their friends sends few statements`() throws {
    try fill(300)
    let before = log.reads.count
    let context = context()
    try context.performAndWait {
      for person in try people(context) {
        for friend in try person.objects(for: "friends") { _ = try friend.value(for: "name") }
      }
    }
    #expect(log.reads.count - before <= 8)
  }
}

/// The result of a read on another thread.
private final class Found: Sendable {
  let count = Mutex<Int?>(nil)
}
