import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import Foundation
import Testing

@Suite("coherence outbox", .timeLimit(.minutes(5)))
struct OutboxCommandTests {
  /// A place whose tasks have a title with a secret.
  private func place(_ count: Int = 3) async throws -> (StorePlace, Application) {
    let place = StorePlace.sqlite
    let application = try Application(place)
    try await application.merge(Dictionary(uniqueKeysWithValues: (1...count).map { ($0, "old") }))
    for id in 1...Int64(count) { try application.setTitle("hunter\(id)", of: id) }
    return (place, application)
  }

  private func ids(_ run: CommandRun) throws -> [Int] { try run.list("entries").compactMap { $0["id"] as? Int } }

  @Test func `entries are listed in pages, with their numbers by state`() async throws {
    let (place, application) = try await place(5)
    defer { try? place.remove() }
    let all = try await application.outbox.entries().map { Int($0.id.key) }
    let first = try place.run("outbox", "list", then: ["--limit", "2", "--json"])
    #expect(try ids(first) == Array(all[..<2]))
    let counts = try #require(try first.object()["counts"] as? [String: Int])
    #expect(counts == ["pending": 5, "sending": 0, "parked": 0])
    let next = try #require(try first.object()["next"] as? String)
    let second = try place.run("outbox", then: ["--limit", "3", "--json", "--after", next])
    #expect(try ids(second) == Array(all[2...]) && second.object()["next"] is NSNull)
    let human = try place.run("outbox", then: ["--limit", "2"])
    #expect(human.output.hasPrefix("ID") && human.output.contains("5 pending, 0 being sent, 0 parked."))
    #expect(human.output.contains("More: --after \(next)"))
    try application.close()
  }

  @Test(arguments: StorePlace.all)
  func `the entries of a save that is still in the log are listed with the numbers by which commands name them`(
    place: StorePlace
  ) async throws {
    defer { try? place.remove() }
    let application = try Application(place)
    try await application.merge([1: "old", 2: "old"])
    // The application reads no entries, so that both saves stay in the log.
    for id in [Int64(1), 2] { try application.setTitle("new", of: id) }
    let listed = try ids(place.run("outbox", "list", then: ["--json"]))
    #expect(try await application.outbox.entries().map { Int($0.id.key) } == listed && listed.count == 2)
    for id in listed { #expect(try place.run("outbox", "show", then: ["\(id)"]).status == 0) }
    try application.close()
  }

  @Test func `the objects of JSON have the same keys in every state`() async throws {
    let (place, application) = try await place(2)
    defer { try? place.remove() }
    let entry = try #require(try await application.outbox.entries().first)
    try await application.outbox.park(entry.id, error: "by hand")
    let entries = try place.run("outbox", then: ["--json"]).list("entries")
    #expect(entries.count == 2 && Set(entries[0].keys) == Set(entries[1].keys))
    #expect(
      entries[0].keys.sorted() == [
        "attempts", "author", "claimant", "enqueued", "entity", "hasOmittedValues", "id", "idempotencyKey", "identity",
        "isReadable", "isRejected", "kind", "lastError", "leaseEnd", "members", "nextAttempt", "properties", "record",
        "recordVersion", "sequence", "state", "transaction", "values",
      ])
    #expect(entries[0]["state"] as? String == "parked" && entries[0]["lastError"] as? String == "by hand")
    try application.close()
  }

  @Test func `values of records are shown on demand only`() async throws {
    let (place, application) = try await place(1)
    defer { try? place.remove() }
    let id = "\(try #require(try await application.outbox.entries().first).id.key)"
    try await application.merge([1: "secret of the server"], .conflict)
    let silent = [
      try place.run("outbox"), try place.run("outbox", then: ["--json"]), try place.run("outbox", "show", then: [id]),
      try place.run("outbox", "show", then: [id, "--json"]), try place.run("outbox", "watch", then: ["--looks", "1"]),
      try place.run("outbox", "watch", then: ["--looks", "1", "--json"]), try place.run("outbox", "conflicts"),
      try place.run("outbox", "conflicts", then: ["--json"]),
    ]
    for run in silent {
      #expect(run.status == 0 && !run.output.isEmpty && !run.output.contains("hunter1"), "\(run.output)\(run.error)")
      #expect(!run.output.contains("secret") && !run.output.contains("old"), "\(run.output)")
    }
    let shown = try place.run("outbox", "show", then: [id, "--values"])
    #expect(shown.output.contains("old → hunter1"))
    let values = try place.run("outbox", "show", then: [id, "--values", "--json"]).object()["values"] as? [String: Any]
    #expect((values?["title"] as? [String: String]) == ["base": "old", "value": "hunter1"])
    #expect(try place.run("outbox", "conflicts", then: ["--values"]).output.contains("secret of the server"))
    try application.close()
  }

  @Test func `entries are parked, retried and dropped`() async throws {
    let (place, application) = try await place()
    defer { try? place.remove() }
    let ids = try await application.outbox.entries().map { "\($0.id.key)" }
    #expect(try place.run("outbox", "park", then: [ids[0], ids[1], "--reason", "by hand"]).status == 0)
    let parked = try place.run("outbox", then: ["--state", "parked", "--json"])
    #expect(try self.ids(parked).map(String.init) == Array(ids[..<2]))
    #expect(try place.run("outbox", "retry", then: [ids[0]]).output == "The entry \(ids[0]) of 'Task' is sent again.\n")
    #expect(try await application.outbox.counts().parked == 1)
    #expect(try place.run("outbox", "retry", then: ["--all", "--json"]).object()["retried"] as? Int == 1)
    #expect(try place.run("outbox", "drop", then: [ids[2]]).output == "1 entry dropped.\n")
    #expect(try await application.outbox.entries().map { "\($0.id.key)" } == Array(ids[..<2]))
    #expect(try application.records().contains("3 hunter3 nobody"))
    try application.close()
  }

  @Test func `a save that cannot be read has an identifier of its own, by which it is shown and dropped`() async throws
  {
    let (place, application) = try await place()
    defer { try? place.remove() }
    try application.save { context in
      let saves = try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherenceOutboxLog").sort("sequence"))
      try saves[1].setValue(Data([255]), for: "payload")
    }
    let entries = try await application.outbox.entries()
    try #require(entries.map(\.isReadable) == [true, false, true])
    let ids = entries.map { ($0.isReadable ? "" : "log:") + "\($0.id.key)" }
    let listed = try place.run("outbox", then: ["--json"]).list("entries").map { "\($0["id"] ?? "none")" }
    #expect(listed == ids)
    #expect(try place.run("outbox").output.contains("\n\(ids[1]) "))
    let shown = try place.run("outbox", "show", then: [ids[1]])
    #expect(shown.output.contains(ids[1]) && shown.output.contains("not readable"), "\(shown.output)\(shown.error)")
    for id in [ids[0], ids[2]] { #expect(try place.run("outbox", "show", then: [id]).output.contains("Task")) }
    #expect(try place.run("outbox", "retry", then: [ids[1]]).status == 1)
    #expect(try place.run("outbox", "drop", then: [ids[1]]).output == "1 entry dropped.\n")
    let again = try place.run("outbox", "drop", then: [ids[1]])
    #expect(
      again.error == "error: The outbox has no entry \(ids[1]): it was sent or dropped meanwhile, or never was.\n")
    #expect(try await application.outbox.entries().map { "\($0.id.key)" } == [ids[0], ids[2]])
    try application.close()
  }

  @Test func `an operation on several entries changes none of them if one is unknown`() async throws {
    let (place, application) = try await place(1)
    defer { try? place.remove() }
    let id = try #require(try await application.outbox.entries().first).id.key
    let run = try place.run("outbox", "park", then: ["\(id)", "999"])
    #expect(run.status == 1)
    #expect(run.error == "error: The outbox has no entry 999: it was sent or dropped meanwhile, or never was.\n")
    #expect(try await application.outbox.counts().parked == 0)
    try application.close()
  }

  @Test func `the text of an error cannot control the terminal`() async throws {
    let (place, application) = try await place(1)
    defer { try? place.remove() }
    let entry = try #require(try await application.outbox.entries().first)
    let text = "a\u{1B}]0;b\u{7}\nid  7\u{9B}2J\u{202E}c"
    try await application.outbox.park(entry.id, error: text)
    let id = "\(entry.id.key)"
    for run in [try place.run("outbox"), try place.run("outbox", "show", then: [id])] {
      let commands = run.output.unicodeScalars.filter {
        ($0.properties.generalCategory == .control && $0 != "\n") || $0 == "\u{202E}"
      }
      #expect(run.output.contains("2J") && commands.isEmpty, "\(commands.map(\.value))")
      #expect(!run.output.contains("\nid  7"))
    }
    let json = try place.run("outbox", "show", then: [id, "--json"])
    #expect(!json.output.unicodeScalars.contains("\u{9B}"))
    #expect(try json.object()["lastError"] as? String == text)
    try application.close()
  }

  @Test func `a conflict is listed, and resolved for the edit`() async throws {
    let (place, application) = try await place(1)
    defer { try? place.remove() }
    try await application.merge([1: "new"], .conflict)
    let conflict = try #require(
      try place.run("outbox", "conflicts", "list", then: ["--json"]).list("conflicts").first)
    #expect(conflict["kind"] as? String == "bothChanged" && conflict["properties"] as? [String] == ["title"])
    let id = try #require(conflict["id"] as? Int)
    #expect(try place.run("outbox", "conflicts", "resolve", then: ["\(id)"]).status == 0)
    #expect(try await application.outbox.conflictCount() == 0)
    let entry = try #require(try await application.outbox.entries().first)
    #expect(entry.state == .pending && entry["title"]?.base == .value(.string("new")))
    let again = try place.run("outbox", "conflicts", "resolve", then: ["\(id)"])
    #expect(again.status == 1)
    #expect(again.error.hasPrefix("error: The outbox has no conflict \(id)"))
    try application.close()
  }

  @Test func `a watch without a terminal has a line for each change, and ends with Control-C`() async throws {
    let (place, application) = try await place(1)
    defer { try? place.remove() }
    let entry = try #require(try await application.outbox.entries().first)
    let watch = try RunningCommand(["outbox", "watch"] + place.arguments + ["--interval", "20ms"])
    #expect(try #require(watch.nextLine()).hasSuffix(" pending \(entry.id.key) update Task \(entry.record.key)"))
    try await application.outbox.park(entry.id, error: "by hand")
    #expect(try #require(watch.nextLine()).contains(" parked \(entry.id.key) update Task"))
    try await application.outbox.drop(entry.id)
    #expect(try #require(watch.nextLine()).contains(" removed \(entry.id.key) update Task"))
    #expect(watch.interrupt() == 0)
    try application.close()
  }
}
