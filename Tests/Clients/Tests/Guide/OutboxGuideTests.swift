import Coherence
import CoherenceModelMacros
import CoherenceOutbox
import Foundation
import Testing

@Entity
final class Errand: ManagedObject {
  var title: String
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
}
