import CoherenceCore
import CoherenceOutbox
import CoherencePersistedActions
import Foundation
import Testing

@Suite("The command and the application's store", .timeLimit(.minutes(5)))
struct KeptStoreTests {
  /// A store with records of every kind.
  private func fill(_ application: Application) async throws {
    try await application.merge([1: "one", 2: "two", 3: "three"])
    try application.save { context in
      let worker = try context.insertNewObject(forEntityName: "Worker")
      try worker.setValue("ada", for: "name")
      for task in try context.fetch(FetchRequest<ManagedObject>(entityName: "Task")) {
        try task.setObject(worker, for: "owner")
      }
    }
    for id in 1...3 as ClosedRange<Int64> { try application.setTitle("edit \(id)", of: id) }
    _ = try application.enqueue("a", fails: true)
    _ = try application.enqueue("b")
    try await application.runDueActions()
    _ = try application.enqueue("c")
  }

  @Test(arguments: StorePlace.all)
  func `a store that the command has operated on opens without a migration, and has all of its records`(
    place: StorePlace
  ) async throws {
    defer { try? place.remove() }
    let application = try Application(place)
    try await fill(application)
    let (records, metadata) = (try application.records(), try application.metadata)
    let entries = try await application.outbox.entries()
    let parked = try #require(try await application.actions.actions(in: [.parked]).first)
    let waiting = try #require(try await application.actions.actions(in: [.waiting]).first)
    try application.close()

    let id = "\(entries[0].id.key)"
    for (verbs, rest) in [
      (["outbox"], []), (["outbox", "park"], [id, "--reason", "by hand"]), (["outbox", "retry"], ["--all"]),
      (["actions", "list"], []), (["actions", "retry"], [parked.id.uuidString]),
      (["actions", "cancel"], [waiting.id.uuidString]), (["actions", "queues"], []), (["schedule"], []),
      (["schedule", "run"], ["nightly"]), (["outbox", "conflicts"], []),
    ] {
      let run = try CommandRun(verbs + place.arguments + rest)
      #expect(run.status == 0 && run.error.isEmpty, "\(verbs): \(run.error)")
    }

    let again = try Application(place, migrates: false)
    #expect(try again.metadata == metadata)
    #expect(try again.records() == records)
    #expect(try await again.outbox.entries().map(\.idempotencyKey) == entries.map(\.idempotencyKey))
    #expect(try await again.outbox.entries().map(\.state) == entries.map { _ in .pending })
    #expect(try await again.actions.action(parked.handle)?.state == .waiting)
    #expect(try await again.actions.action(waiting.handle)?.state == .canceled)
    // The application's own rules are in force.
    #expect(throws: CoherenceError.self) {
      try again.save { try $0.insertNewObject(forEntityName: "Worker").setValue("ada", for: "name") }
    }
    try again.close()
  }

  @Test(arguments: StorePlace.all)
  func `the command works while the application has the store open`(place: StorePlace) async throws {
    defer { try? place.remove() }
    let application = try Application(place)
    try await fill(application)
    let entry = try #require(try await application.outbox.entries().first)
    #expect(try place.run("outbox", "park", then: ["\(entry.id.key)"]).status == 0)
    #expect(try await application.outbox.entries(state: .parked).map(\.id) == [entry.id])
    try application.setTitle("later", of: 3)
    #expect(try place.run("outbox", then: ["--json"]).list("entries").count == 7)
    try application.close()
  }

  @Test func `reading a file leaves no other file in its directory`() async throws {
    let place = StorePlace.sqlite
    defer { try? place.remove() }
    let application = try Application(place)
    try await fill(application)
    try application.close()
    let path = try #require(place.arguments.first)
    func files() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: (path as NSString).deletingLastPathComponent)
        .filter { $0.hasPrefix((path as NSString).lastPathComponent) }.sorted()
    }
    let before = try files()
    for verb in ["actions", "outbox", "schedule"] { #expect(try place.run(verb).status == 0) }
    #expect(try files() == before)
  }
}
