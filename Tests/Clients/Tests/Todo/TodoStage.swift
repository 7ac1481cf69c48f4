import Coherence
import CoherenceHTTP
import CoherenceOutbox
import CoherencePersistedActions
import CoherencePostgreSQL
import CoherenceRefresh
import Foundation
import HTTPTypes
import Listener
import Synchronization
import Testing

@testable import Todo

/// The kinds of stores on disk.
enum TodoStore: String, Sendable, CaseIterable, CustomTestStringConvertible {
  case sqlite = "SQLite"
  case postgreSQL = "PostgreSQL"

  static let database = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"].flatMap(URL.init(string:))
  static let available = allCases.filter { $0 == .sqlite || database != nil }

  var testDescription: String { rawValue }
}

/// A server and the stores of its clients. The release of the stage removes the stores.
final class TodoStage: Sendable {
  let server: TodoServer
  private let kind: TodoStore
  private let poolSize: Int
  private let directory = FileManager.default.temporaryDirectory.appendingPathComponent("todo-\(UUID().uuidString)")
  private let schemas = Mutex<[String: String]>([:])

  init(on kind: TodoStore, poolSize: Int = 2, pageSize: Int = 200) throws {
    self.kind = kind
    self.poolSize = poolSize
    server = TodoServer(pageSize: pageSize)
    try server.listen()
  }

  deinit {
    try? FileManager.default.removeItem(at: directory)
    for schema in schemas.withLock({ $0.values }) { try? Self.erase(schema) }
  }

  private static func erase(_ schema: String) throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try TodoModel.make())
    let environment = coordinator.environment(
      type: .postgreSQL, configurationName: nil, at: TodoStore.database,
      options: [PostgreSQLOption.schema: .string(schema)])
    try PostgreSQLStoreFactory().erase(environment)
  }

  /// The options of clients without a delay between attempts.
  static func options(attempts: Int = 8) -> TodoClient.Options {
    var options = TodoClient.Options()
    options.forwarding.retry = RetryPolicy(attempts: attempts, initialDelay: .milliseconds(2), factor: 1, jitter: 0)
    options.refreshing.backoff = RetryPolicy(initialDelay: .milliseconds(2), factor: 1, jitter: 0)
    return options
  }

  /// The directory and the store of a client.
  func store(_ name: String) throws -> (place: URL, configuration: StoreConfiguration) {
    let place = directory.appendingPathComponent(name)
    let configuration: StoreConfiguration
    switch kind {
    case .sqlite:
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      configuration = StoreConfiguration(type: .sqlite)
    case .postgreSQL:
      let schema = schemas.withLock { schemas in
        let schema = schemas[name] ?? "todo_" + UUID().uuidString.filter(\.isHexDigit).lowercased()
        schemas[name] = schema
        return schema
      }
      configuration = StoreConfiguration(
        type: .postgreSQL,
        options: [PostgreSQLOption.schema: .string(schema), PostgreSQLOption.poolSize: .int(poolSize)],
        location: TodoStore.database)
    }
    return (place, configuration)
  }

  /// Opens a client. Another client of the same name has the same store, as after a restart.
  func client(
    _ name: String = "first", limit: Duration = .seconds(10), by http: (any HTTPClient)? = nil,
    _ options: TodoClient.Options = options()
  ) async throws -> TodoClient {
    let (place, configuration) = try store(name)
    let service = http.map { TodoService(server.url, by: $0) } ?? TodoService(server.url, limit: limit)
    return try await TodoClient(in: place, configuration, service: service, options: options)
  }
}

/// Calls the server in the same process, for tests with thousands of requests.
struct DirectClient: HTTPClient {
  let server: TodoServer

  func send(_ request: HTTPRequest, body: Data?) async throws -> HTTPReply {
    let components = URLComponents(string: request.path ?? "")
    let items = (components?.queryItems ?? []).map { ($0.name, $0.value ?? "") }
    var fields: [String: String] = [:]
    for field in request.headerFields { fields[field.name.canonicalName] = field.value }
    let direct = HTTPListenerRequest(
      method: request.method.rawValue, path: components?.path ?? "", query: Dictionary(items) { $1 }, fields: fields,
      body: body ?? Data())
    guard let reply = server.reply(to: direct) else { throw HTTPFailure(to: request) }
    return HTTPReply(to: request, response: HTTPResponse(status: .init(code: reply.status)), body: reply.body)
  }
}

extension TodoClient {
  /// Sends all edits and merges all changes of the server.
  func synchronize() async throws {
    connectivity.isOnline = true
    if outbox.isStarted { try await outbox.flush() }
    try await pull()
  }

  /// Merges all changes of the server.
  func pull() async throws { try await refresher.refresh(TodoTask.self, after: clock) }

  func fetchNames() async throws -> [String] {
    try await connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(TodoList.self).sort(\.name)).map(\.name)
    }
  }
}

/// A manual date, which a test advances, and waits that end when the date is reached.
final class TodoTime: RefreshClock {
  private struct State {
    var now = Date(timeIntervalSince1970: 4_102_444_800)
    var next = 0
    var waits: [Int: (end: Date, continuation: CheckedContinuation<Void, any Error>)] = [:]
  }
  private let state = Mutex(State())

  var now: Date { state.withLock { $0.now } }

  func wait(for duration: Duration) async throws {
    let id = state.withLock { state in
      state.next += 1
      return state.next
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCanceled = state.withLock { state in
          if Task.isCancelled { return true }
          state.waits[id] = (state.now.addingTimeInterval(duration / .seconds(1)), continuation)
          return false
        }
        if isCanceled { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      state.withLock { $0.waits.removeValue(forKey: id) }?.continuation.resume(throwing: CancellationError())
    }
  }

  func advance(by seconds: TimeInterval) {
    let due = state.withLock { state in
      state.now += seconds
      let now = state.now
      let due = state.waits.filter { $0.value.end <= now }
      for id in due.keys { state.waits[id] = nil }
      return due.values.map(\.continuation)
    }
    for continuation in due { continuation.resume() }
  }
}
