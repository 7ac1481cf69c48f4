import CoherenceCore
@testable import CoherencePostgreSQL
import CoherenceSQL
import Foundation
import TestSupport
import Testing

/// Streams with the smallest pool there can be: one connection to read, one to save.
@Suite(.needsServer) struct StreamTests {
  private let schema: TemporarySchema
  private let coordinator: PersistentStoreCoordinator

  private final class Person: ManagedObject, SnapshotProviding {
    typealias Snapshot = Values
    static let nameKey = AttributeKey<String?>("name")
  }

  private struct Values: EntitySnapshot {
    typealias Object = Person
    var objectID: ManagedObjectID?
    var name: String?

    static var fields: [SnapshotField] { [SnapshotField(Person.nameKey)] }
    init(reading values: inout SnapshotReader) {
      objectID = values.objectID
      name = values.read()
    }
    func write(to values: inout SnapshotWriter) { values.write(name) }
  }

  private static let count = 50_000

  init() throws {
    schema = try TemporarySchema()
    let model = try ManagedObjectModel {
      Entity("Person", class: Person.self) { Attribute("name", .string, optional: true) }
    }
    coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url(with: ["application_name": schema.name]),
      options: [
        PostgreSQLOption.schema: .string(schema.name), PostgreSQLOption.poolSize: 2, PostgreSQLOption.poolTimeout: 20,
      ])
    let names = (0..<Self.count).map {
      "A person with the long name \($0), so that the server cannot send all rows at once"
    }
    try context().performAndWait { context in
      _ = try context.execute(
        BatchInsertRequest(entityName: "Person", rows: names.map { ["name": .string($0)] }))
    }
  }

  private func context() -> ManagedObjectContext {
    ManagedObjectContext(concurrencyType: .privateQueue, coordinator: coordinator)
  }

  /// A request whose rows arrive by a COPY, or a request whose rows arrive one by one.
  private static func request(_ isCopied: Bool) -> FetchRequest<Person> {
    var request = FetchRequest(Person.self)
    if !isCopied { request.predicate = .comparison(.path(PropertyPath("name")), .notEqual, .value(.string("x"))) }
    return request
  }

  private func countOfPeople() async throws -> Int {
    try await context().perform { try $0.count(for: FetchRequest(Person.self)) }
  }

  @Test(arguments: [true, false])
  func `a stream whose link breaks in the middle throws, and is not shortened`(isCopied: Bool) async throws {
    var iterator = context().stream(Self.request(isCopied), unreadLimit: .seconds(3600)).makeAsyncIterator()
    for _ in 0..<10 { #expect(try await iterator.next() != nil) }
    try schema.terminateConnections()
    let error = await #expect(throws: CoherenceError.self) { while try await iterator.next() != nil {} }
    #expect(error?.code == .connectionLost)
    #expect(try await countOfPeople() == Self.count)
  }

  @Test(arguments: [true, false])
  func `a stream that ends early returns its connection to the pool`(isCopied: Bool) async throws {
    for _ in 0..<3 {
      for try await _ in context().stream(Self.request(isCopied), unreadLimit: .seconds(3600)) { break }
      #expect(try await countOfPeople() == Self.count)
    }
  }

  @Test(arguments: [true, false])
  func `a stream that is given up with rows on their way ends its transaction`(isCopied: Bool) async throws {
    for try await _ in context().stream(Self.request(isCopied), unreadLimit: .seconds(3600)) { break }
    // The lock waits for the end of each transaction that has read the table.
    let connection = try schema.administration()
    _ = try connection.run(
      [
        "SET lock_timeout = '30s'", "BEGIN",
        "LOCK TABLE \(name: schema.name).\(name: "Person") IN ACCESS EXCLUSIVE MODE", "ROLLBACK",
      ], isPrepared: false)
  }

  @Test(arguments: [true, false])
  func `the detachment of a store ends the transactions of its unread streams`(isCopied: Bool) async throws {
    var iterator = context().stream(Self.request(isCopied), unreadLimit: .seconds(3600)).makeAsyncIterator()
    #expect(try await iterator.next() != nil)
    for store in coordinator.persistentStores { try coordinator.remove(store) }
    // The lock waits for the end of each transaction that has read the table.
    let connection = try schema.administration()
    _ = try connection.run(
      [
        "SET lock_timeout = '30s'", "BEGIN",
        "LOCK TABLE \(name: schema.name).\(name: "Person") IN ACCESS EXCLUSIVE MODE", "ROLLBACK",
      ], isPrepared: false)
    let error = await #expect(throws: CoherenceError.self) { while try await iterator.next() != nil {} }
    #expect(error?.code == .storeDetached)
  }

  @Test(arguments: [true, false])
  func `readers do not wait for streams, however many have the connections of the pool`(isCopied: Bool) async throws {
    let streams = (0..<3).map { _ in context().stream(Self.request(isCopied), unreadLimit: .seconds(3600)) }
    var iterators = streams.map { $0.makeAsyncIterator() }
    for index in iterators.indices { #expect(try await iterators[index].next() != nil) }
    #expect(try await countOfPeople() == Self.count)
    var count = 1
    while try await iterators[0].next() != nil { count += 1 }
    #expect(count == Self.count)
  }

  @Test(arguments: [true, false])
  func `saves do not wait for streams, however many are open`(isCopied: Bool) async throws {
    let streams = (0..<4).map { _ in context().stream(Self.request(isCopied), unreadLimit: .seconds(3600)) }
    var iterators = streams.map { $0.makeAsyncIterator() }
    for index in iterators.indices {
      #expect(try await iterators[index].next() != nil)
      try await context().perform { context in
        _ = try Person(context: context)
        try context.save()
      }
    }
    #expect(try await countOfPeople() == Self.count + streams.count)
  }

  @Test(arguments: [true, false])
  func `a save passes while a stream has the only connection to read`(isCopied: Bool) async throws {
    var iterator = context().stream(Self.request(isCopied), unreadLimit: .seconds(3600)).makeAsyncIterator()
    var count = 0
    while try await iterator.next() != nil {
      count += 1
      guard count == 100 else { continue }
      try await context().perform { context in
        _ = try Person(context: context)
        try context.save()
      }
    }
    #expect(count == Self.count)
    #expect(try await countOfPeople() == Self.count + 1)
  }
}
