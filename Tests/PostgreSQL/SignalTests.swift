import CoherenceCore
import CoherenceSQL
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CoherencePostgreSQL

/// The connection that listens to notifications. The conformance suite has the signals of a sound connection.
@Suite(.needsServer, .timeLimit(.minutes(15))) struct SignalTests {
  private let schema: TemporarySchema
  private let model: ManagedObjectModel

  init() throws {
    schema = try TemporarySchema()
    model = try PeopleModel.make()
  }

  /// A coordinator with a store whose connections bear the schema's name.
  private func namedCoordinator() throws -> PersistentStoreCoordinator {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(
      type: .postgreSQL, at: schema.url(with: ["application_name": schema.name]),
      options: [PostgreSQLOption.schema: .string(schema.name)])
    return coordinator
  }

  /// The number of named connections that listen.
  private func listenerCount() throws -> Int {
    try schema.administration().run(
      """
      SELECT 1 FROM pg_catalog.pg_stat_activity \
      WHERE application_name = \(text: schema.name) AND query LIKE 'LISTEN%'
      """, isPrepared: false
    ).rowCount
  }

  @Test func `a stream has an element after its connection broke, and signals arrive again`() async throws {
    let coordinator = try namedCoordinator()
    let other = try schema.open(model)
    var signals = coordinator.signals("jobs").makeAsyncIterator()
    #expect(await signals.next() != nil)
    for _ in 1...3 {
      try schema.terminateConnections()
      #expect(await signals.next() != nil)
      try (other as? any StoreSignaling)?.signal("jobs")
      #expect(await signals.next() != nil)
    }
  }

  @Test func `a store has a connection that listens while a stream is in use, and one for all channels`() async throws {
    let coordinator = try namedCoordinator()
    try coordinator.signal("jobs")
    #expect(try listenerCount() == 0)
    var jobs = coordinator.signals("jobs").makeAsyncIterator()
    var mail = coordinator.signals("mail").makeAsyncIterator()
    _ = await (jobs.next(), mail.next())
    #expect(try listenerCount() == 1)
    withExtendedLifetime((jobs, mail)) {}
  }

  /// A listener of a channel. The beginning of the listening has called it once.
  private final class Listener: Sendable {
    private let calls = Atomic<Int>(0)
    private let elements: AsyncStream<Void>
    private let listening = Mutex<SignalListening?>(nil)

    init(to channel: String, of store: any StoreSignaling) async throws {
      let (elements, continuation) = AsyncStream.makeStream(of: Void.self)
      self.elements = elements
      let new = try store.listen(to: channel) { [weak self] in
        self?.calls.add(1, ordering: .relaxed)
        continuation.yield()
      }
      listening.withLock { $0 = new }
      await next()
    }

    var count: Int { calls.load(ordering: .relaxed) }

    /// Waits for the next call.
    func next() async {
      var iterator = elements.makeAsyncIterator()
      await iterator.next()
    }
  }

  @Test func `a refused save notifies no listener, and a save notifies once`() async throws {
    let listener = try #require(try schema.open(model) as? any StoreSignaling)
    let store = try schema.open(model)
    let (jobs, end) = (try await Listener(to: "jobs", of: listener), try await Listener(to: "end", of: listener))
    try store.insert("Person", ["email": .string("a")])
    let rows = try ["a", "b"].map { try store.row("Person", ["email": .string($0)]) }
    var refused = StoreSaveRequest(steps: [.insert(rows[0].entity, [rows[0]])])
    refused.signals = ["jobs"]
    #expect(throws: CoherenceError.self) { try store.save(refused) }
    var accepted = StoreSaveRequest(steps: [.insert(rows[1].entity, [rows[1]])])
    accepted.signals = ["jobs"]
    try store.save(accepted)
    try (store as? any StoreSignaling)?.signal("end")
    await end.next()
    #expect(jobs.count == 2)
    withExtendedLifetime(jobs) {}
  }

  @Test func `a signal of a store in another schema of the database does not arrive`() async throws {
    let neighbour = try TemporarySchema()
    let stranger = try #require(try neighbour.open(model) as? any StoreSignaling)
    let listener = try #require(try schema.open(model) as? any StoreSignaling)
    let (jobs, end) = (try await Listener(to: "jobs", of: listener), try await Listener(to: "end", of: listener))
    try stranger.signal("jobs")
    try listener.signal("end")
    await end.next()
    #expect(jobs.count == 1)
    withExtendedLifetime(jobs) {}
  }
}
