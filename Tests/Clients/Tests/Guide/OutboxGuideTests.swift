import Coherence
import CoherenceHTTP
import CoherenceModelMacros
import CoherenceOutbox
import Foundation
import HTTPTypes
import Testing

@Entity
final class Errand: ManagedObject {
  var title: String
}

@Entity final class Parcel: ManagedObject {
  @Attribute(.unique) var number: Int64?
  var label: String
}

/// A server that assigns numbers to parcels. A repeated request gets the number of the first one.
actor ParcelServer {
  private var numbers: [UUID: Int64] = [:]
  private(set) var labels: [Int64: String] = [:]

  /// Returns the number of a parcel; `nil` for a parcel without a label.
  func insert(_ label: String?, key: UUID) -> Int64? {
    guard let label, !label.isEmpty else { return nil }
    let number = numbers[key] ?? Int64(numbers.count + 1)
    numbers[key] = number
    labels[number] = label
    return number
  }

  func rename(_ number: Int64, to label: String) { labels[number] = label }
}

/// A refusal of the server, with a text without values of records.
struct Refused: LoggableError {
  let status: Int

  var logDescription: String { "The server refused the edit with the status \(status)." }
}

@Entity final class Memo: ManagedObject {
  @Attribute(.unique) var number = UUID()
  var text: String
}

/// A memo as the service has it.
struct MemoRecord: Codable, Sendable {
  let text: String
}

/// The text of a memo; `nil` for a text that an edit leaves alone.
struct MemoText: Codable, Sendable {
  var text: String?
}

/// The body of a request: the new text, and the text on which the edit is based.
struct MemoEdit: Codable, Sendable {
  let base: MemoText
  let values: MemoText
}

extension ForwardRequest<Memo> {
  /// Sends the edit to the address of the memo, and returns the decision of the service.
  func send(_ method: HTTPRequest.Method, to memos: URL, by http: any HTTPClient) async throws -> ForwardAnswer {
    guard let number = key(\.number), let header = HTTPField.Name("Idempotency-Key") else {
      return .rejected(Refused(status: 404))
    }
    var request = HTTPRequest(method: method, url: memos.appendingPathComponent(number.uuidString))
    request.headerFields[header] = idempotencyKey.uuidString
    request.headerFields[.contentType] = "application/json"
    let edit = MemoEdit(base: MemoText(text: base(\.text)), values: MemoText(text: self[\.text]))
    let reply = try await http.send(request, body: JSONEncoder().encode(edit))
    switch reply.status {
    case .conflict:
      let present = try JSONDecoder().decode(MemoRecord.self, from: reply.body)
      return .conflict(["text": present.text])
    case .notFound:
      return kind == .delete ? .accepted : .rejected(Refused(status: 404))
    default:
      try reply.successful()  // throws for other statuses, so that 503 is tried again and 400 is not
      return .accepted
    }
  }
}

/// The code of the articles about the outbox.
@Suite("The guide to the outbox")
struct OutboxGuideTests {
  @Test func `the article about keeping changes shows code that runs`() async throws {
    let model = try ManagedObjectModel(Errand.self, name: "Errands").addingOutbox()
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(name: "Errands", managedObjectModel: model)
    let outbox = try Outbox(container, forwarding: Errand.self)
    try container.attachPersistentStore(for: StoreConfiguration(type: .inMemory))

    let context = container.newBackgroundContext()
    try await context.perform { context in
      let errand = try Errand(context: context)
      errand.title = "Milk"
      try context.save()
    }

    let entries = try await outbox.entries()
    for entry in entries {
      print(entry.kind, entry.entityName, entry["title"]?.value ?? .value(.null))
    }
    #expect(entries.map { $0["title"]?.value } == [.value(.string("Milk"))])

    let first = try #require(entries.first)
    try await outbox.park(first.id)
    for entry in try await outbox.entries(state: .parked) {
      print(entry.entityName, entry.lastError ?? "parked")
      try await outbox.edit(entry.id) { try $0.set("title", to: "Bread") }
      try await outbox.retry(entry.id)
    }
    #expect(try await outbox.entry(first.id)["title"]?.value == .value(.string("Bread")))
    #expect(try await outbox.counts() == OutboxCounts(pending: 1))

    try await outbox.renewKeys()
    #expect(try await outbox.entry(first.id).idempotencyKey != first.idempotencyKey)
  }

  @Test func `the server assigns the key of a record, and a refused entry has the text of the refusal`() async throws {
    let model = try ManagedObjectModel(Parcel.self, name: "Parcels").addingOutbox()
    let connect = GenericConnect<ContextStrategy.Mixed>(name: "Parcels", managedObjectModel: model)
    let server = ParcelServer()
    let outbox = try Outbox(connect, forwarding: Parcel.self)
    try outbox.forward(Parcel.self) { handlers in
      handlers.insert { request in
        guard let number = await server.insert(request[\.label], key: request.idempotencyKey) else {
          return .rejected(Refused(status: 422))
        }
        return .accepted(["number": number])
      }
      handlers.update { request in
        guard let number = request.key(\.number) else { return .rejected(Refused(status: 404)) }
        if let label = request[\.label] { await server.rename(number, to: label) }
        return .accepted
      }
    }
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    try outbox.start()
    try await connect.performBackgroundTask { context in
      for label in ["Books", ""] { try Parcel(context: context).label = label }
      try context.save()
    }
    try await outbox.flush()
    try await connect.performBackgroundTask { context in
      let parcels = try context.fetch(FetchRequest(Parcel.self).filter { $0.label == "Books" })
      for parcel in parcels { parcel.label = "Maps" }
      try context.save()
    }
    try await outbox.flush()
    #expect(await server.labels == [1: "Maps"])
    let refusals = try await outbox.entries(state: .parked).map(\.lastError)
    #expect(refusals == ["The server refused the edit with the status 422."])
    await outbox.stop()
    try await connect.stop(.drain)
  }

  @Test func `a service over HTTP accepts edits, and reports a conflict that the user resolves`() async throws {
    let model = try ManagedObjectModel(Memo.self, name: "Memos").addingOutbox()
    let connect = GenericConnect<ContextStrategy.Mixed>(name: "Memos", managedObjectModel: model)
    let outbox = try Outbox(connect, forwarding: Memo.self)
    let number = UUID()
    let memos = try #require(URL(string: "https://memos.example/memos"))
    let address = "https://memos.example/memos/\(number.uuidString)"
    let http = HTTPReplay([
      HTTPExchange(
        method: "PUT", url: address, requestBody: .text(#"{"base": {}, "values": {"text": "Milk"}}"#), status: 201),
      HTTPExchange(
        method: "PATCH", url: address,
        requestBody: .text(#"{"base": {"text": "Milk"}, "values": {"text": "Bread"}}"#), status: 409,
        body: .text(#"{"text": "Cheese"}"#)),
      HTTPExchange(
        method: "PATCH", url: address,
        requestBody: .text(#"{"base": {"text": "Cheese"}, "values": {"text": "Bread"}}"#)),
    ])
    try outbox.forward(Memo.self) { handlers in
      handlers.insert { try await $0.send(.put, to: memos, by: http) }
      handlers.update { try await $0.send(.patch, to: memos, by: http) }
      handlers.delete { try await $0.send(.delete, to: memos, by: http) }
    }
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    try outbox.start()
    try await connect.performBackgroundTask { context in
      let memo = try Memo(context: context)
      memo.number = number
      memo.text = "Milk"
      try context.save()
    }
    try await outbox.flush()
    try await connect.performBackgroundTask { context in
      for memo in try context.fetch(FetchRequest(Memo.self)) { memo.text = "Bread" }
      try context.save()
    }
    try await outbox.flush()
    let conflict = try #require(try await outbox.conflicts().first)
    #expect(conflict.properties.map(\.server) == [.string("Cheese")])
    try await outbox.resolve(conflict.id, keeping: .local)
    try await outbox.flush()
    #expect(http.remaining.isEmpty)
    #expect(try await outbox.counts() == OutboxCounts())
    await outbox.stop()
    try await connect.stop(.drain)
  }

  @Test func `a probe finds the server again after a failure, and the outbox sends the edit once more`() async throws {
    let model = try ManagedObjectModel(Memo.self, name: "Memos").addingOutbox()
    let connect = GenericConnect<ContextStrategy.Mixed>(name: "Memos", managedObjectModel: model)
    let outbox = try Outbox(connect, forwarding: Memo.self)
    let memos = try #require(URL(string: "https://memos.example/memos"))
    let number = UUID()
    let address = "https://memos.example/memos/\(number.uuidString)"
    let body = HTTPRecordedBody.text(#"{"base": {}, "values": {"text": "Milk"}}"#)
    let http = HTTPReplay([
      HTTPExchange(method: "HEAD", url: "https://memos.example/memos"),
      HTTPExchange(method: "PUT", url: address, requestBody: body, status: 503),
      HTTPExchange(method: "HEAD", url: "https://memos.example/memos", status: 503),
      HTTPExchange(method: "HEAD", url: "https://memos.example/memos"),
      HTTPExchange(method: "PUT", url: address, requestBody: body, status: 201),
    ])
    try outbox.forward(Memo.self) { handlers in
      handlers.insert { try await $0.send(.put, to: memos, by: http) }
    }
    try connect.attachPersistentStore(for: StoreConfiguration(type: .inMemory))
    try await connect.start()
    let interval = Duration.milliseconds(10)
    var failures = 0
    let events = outbox.events
    let connectivity = ProbeConnectivity(HTTPRequest(method: .head, url: memos), client: http, interval: interval)
    try outbox.start(ForwardOptions(connectivity: connectivity))
    try await connect.performBackgroundTask { context in
      let memo = try Memo(context: context)
      memo.number = number
      memo.text = "Milk"
      try context.save()
    }
    for await event in events {
      if case .willRetry = event { failures += 1 }
      if case .accepted = event { break }
    }
    try await outbox.flush()
    #expect(failures == 1)
    #expect(try await outbox.counts() == OutboxCounts())
    await outbox.stop()
    try await connect.stop(.drain)
  }
}
