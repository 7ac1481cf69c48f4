import CoherenceCore
import CoherenceOutbox
import Foundation

/// A server in memory that assigns identifiers, honors idempotency keys, and follows a script of faults.
actor NoteServer {
  /// A record of the server.
  struct Record: Sendable, Hashable {
    var entityName: String
    var values: [String: AttributeValue]
    /// The identifier of the folder of a note.
    var folder: AttributeValue = .null
  }

  /// A received request.
  struct Call: Sendable {
    let kind: OutboxEntry.Kind
    let entityName: String
    let key: UUID
    let attempt: Int
    let id: AttributeValue?
    let values: [String: AttributeValue]
    let base: [String: AttributeValue]
    let folder: AttributeValue?
  }

  /// The server's scripted reaction to one request.
  enum Fault: Sendable {
    /// The request is lost: the handler throws, and the server applies nothing.
    case fail(any Error)
    /// The reply is lost: the server applies the request, and the handler throws.
    case loseAnswer
    /// The handler returns a decision, and the server applies nothing.
    case answer(ForwardAnswer)
  }

  private(set) var records: [String: Record] = [:]
  private(set) var calls: [Call] = []
  /// The applied requests, once for each idempotency key.
  private(set) var applied: [Call] = []
  private var decisions: [UUID: ForwardAnswer] = [:]
  private var ignoresKeys = false
  private var faults: [Fault] = []
  private var gates: [ServerGate] = []
  private var nextID = 0
  /// Returns the fault of a request without a scripted fault.
  private var randomFault: (@Sendable () -> Fault?)?
  /// Whether the server reports all values of an accepted record.
  private var answersWithValues = false
  private var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

  // MARK: The script

  /// Adds faults of the next requests.
  func script(_ faults: Fault...) { self.faults += faults }

  /// Lets random faults happen from now on, and reports all values of accepted records.
  func randomize(_ fault: (@Sendable () -> Fault?)?) {
    randomFault = fault
    answersWithValues = true
  }

  /// Makes the server ignore idempotency keys from now on: it applies each request.
  func ignoreKeys() { ignoresKeys = true }

  /// Makes the next request wait until a gate opens.
  func hold(at gate: ServerGate) { gates.append(gate) }

  /// Waits until the server has received a number of requests since its beginning.
  func untilCalled(_ count: Int) async {
    if calls.count >= count { return }
    await withCheckedContinuation { watchers.append((count, $0)) }
  }

  /// Changes a record as another client does.
  func change(_ id: String, _ change: @Sendable (inout Record) -> Void) {
    guard var record = records[id] else { return }
    change(&record)
    records[id] = record
  }

  func remove(_ id: String) { records[id] = nil }

  // MARK: Requests

  /// Receives a request, and reacts as the script says.
  func receive(_ request: ForwardRequest<ManagedObject>) async throws -> ForwardAnswer {
    let call = note(request)
    let fault = faults.isEmpty ? randomFault?() : faults.removeFirst()
    if !gates.isEmpty {
      await gates.removeFirst().pass()
      try Task.checkCancellation()
    }
    switch fault {
    case .fail(let error): throw error
    case .answer(let answer): return answer
    case .loseAnswer:
      _ = apply(call)
      throw LostAnswer()
    case nil: return apply(call)
    }
  }

  /// Receives the requests of a batch. A request with a scripted fault gets no decision.
  func receive(_ requests: [ForwardRequest<ManagedObject>]) -> [UUID: ForwardAnswer] {
    var answers: [UUID: ForwardAnswer] = [:]
    for request in requests {
      let call = note(request)
      switch faults.isEmpty ? nil : faults.removeFirst() {
      case .fail: break
      case .answer(let answer): answers[call.key] = answer
      case .loseAnswer: _ = apply(call)
      case nil: answers[call.key] = apply(call)
      }
    }
    return answers
  }

  private func note(_ request: ForwardRequest<ManagedObject>) -> Call {
    let call = Call(
      kind: request.kind, entityName: request.entityName, key: request.idempotencyKey, attempt: request.attempt,
      id: request.keys["id"], values: request.values, base: request.base,
      folder: request.references["folder"].map { $0?["id"] ?? .null })
    calls.append(call)
    for watcher in watchers where watcher.count <= calls.count { watcher.continuation.resume() }
    watchers.removeAll { $0.count <= calls.count }
    return call
  }

  private func apply(_ call: Call) -> ForwardAnswer {
    if !ignoresKeys, let decision = decisions[call.key] { return decision }
    applied.append(call)
    let decision = decide(call)
    decisions[call.key] = decision
    return decision
  }

  private func decide(_ call: Call) -> ForwardAnswer {
    guard case .string(let id)? = call.id, isKnown(call.folder) else { return .rejected(ServerRefusal()) }
    switch call.kind {
    case .insert:
      nextID += 1
      var record = Record(entityName: call.entityName, values: call.values, folder: call.folder ?? .null)
      record.values["id"] = .string("s\(nextID)")
      records["s\(nextID)"] = record
      return answer("s\(nextID)")
    case .update:
      guard var record = records[id] else { return .rejected(ServerRefusal()) }
      record.values.merge(call.values) { _, new in new }
      if let folder = call.folder { record.folder = folder }
      records[id] = record
      return answersWithValues ? answer(id) : .accepted
    case .delete:
      // A client must delete or move the notes of a folder before it deletes the folder.
      let hasNotes = records.values.contains { $0.folder == .string(id) }
      return hasNotes || records.removeValue(forKey: id) == nil ? .rejected(ServerRefusal()) : .accepted
    }
  }

  /// Whether a reference leads to a record that the server has, or has no target.
  private func isKnown(_ folder: AttributeValue?) -> Bool {
    guard case .string(let id)? = folder else { return true }
    return records[id] != nil
  }

  private func answer(_ id: String) -> ForwardAnswer {
    guard answersWithValues, let values = records[id]?.values else { return .accepted(["id": id]) }
    var answer: [String: (any AttributeConvertible)?] = ["id": id]
    for name in ["title", "name"] { if case .string(let text)? = values[name] { answer[name] = text } }
    if case .int(let rank)? = values["rank"] { answer["rank"] = rank }
    return .accepted(answer)
  }
}

/// The server refuses a request.
struct ServerRefusal: Error {}

/// The reply of the server was lost.
struct LostAnswer: Error {}

/// A gate that holds a request until a test opens it.
final class ServerGate: Sendable {
  private let (stream, continuation) = AsyncStream<Void>.makeStream()

  func open() { continuation.finish() }
  /// Waits until the gate opens or the task is cancelled. At most one task waits.
  func pass() async { for await _ in stream {} }
}
