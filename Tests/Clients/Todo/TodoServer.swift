import Dispatch
import Foundation
import Listener
import Synchronization

/// A server of lists, tags and tasks, which keeps its documents and the replies to applied edits in memory.
///
/// An edit has an idempotency key. A repeated key gets the reply of the first request, and changes nothing.
final class TodoServer: Sendable {
  /// A planned misbehaviour.
  enum Fault: Sendable {
    /// A reply without an effect.
    case reply(TodoReply)
    /// The request is applied, and the connection ends without a reply.
    case lostReply
    /// The connection ends, and nothing is applied.
    case broken
    /// The request is applied after the gate was opened.
    case stalled(TodoGate)
    /// The request is applied, and the reply follows after the gate was opened.
    case late(TodoGate)
  }

  private let state: Mutex<TodoState>
  private let fault = Mutex<@Sendable (HTTPListenerRequest) -> Fault?>({ _ in nil })
  private let listener = Mutex<HTTPListener?>(nil)
  private let isDown = Mutex(false)

  init(pageSize: Int = 200) { state = Mutex(TodoState(pageSize: pageSize)) }

  // MARK: On the network

  /// Begins to listen, or replies again after ``hangUp()``.
  func listen() throws {
    isDown.withLock { $0 = false }
    let isListening = listener.withLock { $0 != nil }
    if isListening { return }
    let listener = try HTTPListener { [weak self] in self?.reply(to: $0)?.bytes }
    self.listener.withLock { $0 = listener }
  }

  /// Ends each connection without a reply until the next call of ``listen()``. The server keeps its port, which another
  /// server could get otherwise.
  func hangUp() { isDown.withLock { $0 = true } }

  var url: URL { listener.withLock { $0?.url } ?? URL(fileURLWithPath: "/") }

  /// Decides about the misbehaviour of each further request; `nil` for none.
  func setFault(_ fault: @escaping @Sendable (HTTPListenerRequest) -> Fault?) { self.fault.withLock { $0 = fault } }

  /// Handles a request, with its misbehaviour; `nil` for a connection that ends without a reply.
  func reply(to request: HTTPListenerRequest) -> TodoReply? {
    if isDown.withLock({ $0 }) { return nil }
    switch fault.withLock({ $0 })(request) {
    case .reply(let reply): return reply
    case .broken: return nil
    case .lostReply:
      _ = handle(request)
      return nil
    case .stalled(let gate):
      gate.pass()
      return handle(request)
    case .late(let gate):
      let reply = handle(request)
      gate.pass()
      return reply
    case nil: return handle(request)
    }
  }

  // MARK: Documents

  func handle(_ request: HTTPListenerRequest) -> TodoReply {
    state.withLock { state in
      state.requests.append("\(request.method) \(request.path)")
      guard let key = request.fields["idempotency-key"] else { return state.reply(to: request) }
      if let reply = state.replies[key] { return reply }
      let reply = state.reply(to: request)
      state.replies[key] = reply
      return reply
    }
  }

  func documents(_ kind: TodoKind) -> [TodoDocument] {
    state.withLock { $0.documents(kind).values.sorted { $0.id < $1.id } }
  }

  /// The methods and paths of the handled requests, in their order.
  var requests: [String] { state.withLock { $0.requests } }

  func forgetRequests() { state.withLock { $0.requests = [] } }

  func upload(_ name: String) -> Data? { state.withLock { $0.uploads[name] } }

  /// Changes a document as another client does.
  func change(_ kind: TodoKind, _ id: Int64, _ fields: [String: TodoField]) {
    state.withLock { _ = $0.update(kind, id, TodoEdit(fields: fields)) }
  }

  func add(_ kind: TodoKind, _ fields: [String: TodoField]) -> Int64 {
    state.withLock { $0.insert(kind, TodoEdit(fields: fields)).id }
  }

  func remove(_ kind: TodoKind, _ id: Int64) { state.withLock { _ = $0.delete(kind, id) } }

  /// Forgets the deletions so far. A client with an earlier cursor gets all documents.
  func forgetDeletions() { state.withLock { $0.horizon = $0.revision } }
}

/// Holds requests until a test opens it.
final class TodoGate: Sendable {
  private let semaphore = DispatchSemaphore(value: 0)
  private let arrivals = AsyncStream.makeStream(of: Void.self)

  /// Waits until a request has arrived.
  func arrival() async { for await _ in arrivals.stream { return } }

  func pass() {
    arrivals.continuation.yield()
    semaphore.wait()
    semaphore.signal()
  }

  /// Lets all requests pass from now on.
  func open() { semaphore.signal() }
}
