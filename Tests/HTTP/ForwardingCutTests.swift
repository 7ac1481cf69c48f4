import CoherenceActions
import CoherenceCore
import CoherenceHTTP
import CoherenceInMemory
import CoherenceOutbox
import CoherenceStrategies
import Foundation
import HTTPTypes
import Synchronization
import Testing

/// A forwarder whose handler sends requests with an idempotency key, and a connection that ends at any byte.
@Suite("Forwarding over connections that end", .timeLimit(.minutes(15)))
struct ForwardingCutTests {
  @Test(arguments: ClientKind.allCases)
  func `every edit arrives once, whichever byte of a request is the last that the server receives`(
    kind: ClientKind
  ) async throws {
    let program = try CutProgram(kind)
    try await program.insert()
    let length = program.server.lastLength
    #expect(length > 100)
    for byte in 0..<length {
      program.server.cut(.request(byte))
      try await program.insert()
    }
    #expect(program.server.cuts == length)
    try await program.expectEachEditOnce(count: length + 1)
  }

  @Test(arguments: ClientKind.allCases)
  func `every edit arrives once, even if the connection ends at any byte of an answer`(
    kind: ClientKind
  ) async throws {
    let program = try CutProgram(kind)
    try await program.insert()
    let answer = CutServer.answer(id: 10_000)
    let head = try #require(answer.range(of: Data("\r\n\r\n".utf8))).upperBound
    // Foundation on Linux crashes if a connection ends inside the head of an answer; the test omits these bytes.
    let bytes = kind == .nio ? Array(0..<answer.count) : [0] + Array(head..<answer.count)
    for byte in bytes {
      program.server.cut(.answer(byte))
      try await program.insert()
    }
    #expect(program.server.cuts == bytes.count)
    // The server recognizes each repeated edit by its key.
    #expect(program.server.repetitions == bytes.count)
    try await program.expectEachEditOnce(count: bytes.count + 1)
  }
}

/// A server that creates records and honors idempotency keys, on connections that end at a given byte.
private final class CutServer: Sendable {
  enum Cut: Sendable { case request(Int), answer(Int) }

  /// The state, which the connections share.
  private final class Log: Sendable {
    let state = Mutex(State())

    func serve(_ connection: Connection) {
      let cut = state.withLock { state in
        defer { state.cut = nil }
        if state.cut != nil { state.cuts += 1 }
        return state.cut
      }
      if case .request(let count)? = cut { return connection.discard(count) }
      guard let request = connection.receive(), let key = request.headerFields["idempotency-key"] else { return }
      let id = state.withLock { state in
        state.lastLength = request.length
        if let known = state.ids[key] {
          state.repetitions += 1
          return known
        }
        state.ids[key] = 10_000 + state.ids.count
        state.bodies.append(String(decoding: request.body, as: UTF8.self))
        return 10_000 + state.ids.count - 1
      }
      let answer = CutServer.answer(id: id)
      if case .answer(let count)? = cut { connection.send(answer.prefix(count)) } else { connection.send(answer) }
    }
  }

  private struct State {
    var cut: Cut?
    var cuts = 0
    var repetitions = 0
    var lastLength = 0
    /// The created records by key.
    var ids: [String: Int] = [:]
    var bodies: [String] = []
  }

  private let log: Log
  private let server: LoopbackServer
  var url: URL { server.url }

  init() throws {
    let log = Log()
    self.log = log
    server = try LoopbackServer(raw: { log.serve($0) })
  }

  /// Ends the next connection at a byte.
  func cut(_ cut: Cut) { log.state.withLock { $0.cut = cut } }
  var cuts: Int { log.state.withLock { $0.cuts } }
  var repetitions: Int { log.state.withLock { $0.repetitions } }
  /// The number of bytes of the last complete request.
  var lastLength: Int { log.state.withLock { $0.lastLength } }
  /// The bodies of the created records.
  var bodies: [String] { log.state.withLock { $0.bodies } }

  static func answer(id: Int) -> Data { ScriptedReply(status: "201 Created", body: #"{"id":"\#(id)"}"#).bytes }
}

/// A program that forwards its edits over HTTP.
private final class CutProgram: Sendable {
  let server: CutServer
  private let container: GenericPersistentContainer<ContextStrategy.Mixed>
  private let outbox: Outbox
  private let count = Atomic<Int>(0)

  private struct Created: Decodable { let id: String }

  init(_ kind: ClientKind) throws {
    let server = try CutServer()
    self.server = server
    let model = try ManagedObjectModel {
      Entity("Errand", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .string)
        Attribute("title", .string)
      }
    }.addingOutbox()
    container = GenericPersistentContainer(name: "Errands", managedObjectModel: model)
    try container.attachPersistentStore(
      for: StoreConfiguration(type: .inMemory, options: [InMemoryOption.sharedName: .string(UUID().uuidString)]))
    outbox = try Outbox(container, entities: ["Errand"])
    let client = kind.makeClient(maximumBodySize: 1000)
    try outbox.forward("Errand") { handlers in
      handlers.insert { edit in
        var request = HTTPRequest(method: .post, url: server.url.appending(path: "errands"))
        guard let name = HTTPField.Name("Idempotency-Key"), case .string(let title)? = edit["title"] else {
          return .rejected(CoherenceError(.invalidValue, "The edit has no title."))
        }
        request.headerFields[name] = edit.idempotencyKey.uuidString
        let reply = try await client.send(request, body: Data(title.utf8)).successful()
        return .accepted(["id": try reply.decode(Created.self).id])
      }
    }
    try outbox.start(ForwardOptions(retry: RetryPolicy(attempts: 10, initialDelay: .zero, jitter: 0)))
  }

  /// Inserts a record, and waits until its edit is accepted.
  func insert() async throws {
    let number = count.add(1, ordering: .relaxed).newValue
    let context = container.newBackgroundContext()
    try context.performAndWait {
      let errand = try context.insertNewObject(forEntityName: "Errand")
      try errand.setValue("local \(number)", for: "id")
      try errand.setValue(Self.title(number), for: "title")
      try context.save()
    }
    #expect(try await outbox.flush() == 0)
  }

  private static func title(_ number: Int) -> String { "title \(10_000 + number)" }

  /// Compares the records here and at the server.
  func expectEachEditOnce(count: Int) async throws {
    await outbox.stop()
    #expect(server.bodies == (1...count).map(Self.title))
    let context = container.newBackgroundContext()
    let found = try context.performAndWait {
      try context.fetch(FetchRequest<ManagedObject>(entityName: "Errand")).map { errand in
        (try errand.value(for: "title", as: String.self), try errand.value(for: "id", as: String.self))
      }
    }
    #expect(found.map(\.0).sorted() == server.bodies)
    #expect(Set(found.map(\.1)) == Set((0..<count).map { "\(10_000 + $0)" }))
  }
}
