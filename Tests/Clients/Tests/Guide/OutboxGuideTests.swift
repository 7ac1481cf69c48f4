import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import Foundation
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
}
