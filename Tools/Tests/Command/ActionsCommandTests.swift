import CoherenceCore
import CoherencePersistedActions
import CoherenceRefresh
import Foundation
import Testing

@Suite("coherence actions and schedule", .timeLimit(.minutes(5)))
struct ActionsCommandTests {
  private func ids(_ run: CommandRun) throws -> [String] { try run.list("actions").compactMap { $0["id"] as? String } }

  @Test func `actions are listed in pages, by state and by queue`() async throws {
    let place = StorePlace.sqlite
    defer { try? place.remove() }
    let application = try Application(place)
    let handles = try (0..<5).map { try application.enqueue("\($0)", queue: $0 < 3 ? "mail" : nil) }
    let first = try place.run("actions", then: ["--limit", "2", "--json"])
    let next = try #require(try first.object()["next"] as? String)
    let rest = try place.run("actions", "list", then: ["--json", "--after", next])
    #expect(Set(try ids(first) + ids(rest)) == Set(handles.map(\.id.uuidString)))
    #expect(try ids(first).last == next && rest.object()["next"] is NSNull)
    #expect(try ids(place.run("actions", then: ["--json", "--queue", "mail"])).count == 3)
    #expect(try ids(place.run("actions", then: ["--json", "--state", "running", "--state", "parked"])).isEmpty)
    let queues = try place.run("actions", "queues", then: ["--json"]).list("queues")
    #expect(queues.map { $0["queue"] as? String } == ["default", "mail"])
    #expect(queues.map { $0["waiting"] as? Int } == [2, 3])
    #expect(try place.run("actions", "queues").output.hasPrefix("QUEUE"))
    try application.close()
  }

  @Test func `an action is shown with its failures, and retried, cancelled and pruned`() async throws {
    let place = StorePlace.sqlite
    defer { try? place.remove() }
    let application = try Application(place)
    let handle = try application.enqueue("secret-text", fails: true)
    try await application.runDueActions()
    let id = String(handle.id.uuidString.prefix(13)).lowercased()
    let shown = try place.run("actions", "show", then: [id])
    #expect(shown.output.contains("parked") && shown.output.contains("Unsendable"))
    #expect(!shown.output.contains("secret-text"))
    let failures = try place.run("actions", "show", then: [id, "--json"]).object()["failures"] as? [[String: Any]]
    #expect(failures?.count == 1)
    #expect(try place.run("actions", "retry", then: [id]).status == 0)
    #expect(try await application.actions.action(handle)?.state == .waiting)
    #expect(try place.run("actions", "cancel", then: [id]).status == 0)
    #expect(try await application.actions.action(handle)?.state == .canceled)
    #expect(try place.run("actions", "prune", then: ["--older-than", "1h"]).output == "0 actions deleted.\n")
    #expect(try place.run("actions", "prune", then: ["--older-than", "0s", "--json"]).object()["pruned"] as? Int == 1)
    #expect(try await application.actions.action(handle) == nil)
    try application.close()
  }

  @Test func `an operation on an action in the wrong state is refused with a message`() async throws {
    let place = StorePlace.sqlite
    defer { try? place.remove() }
    let application = try Application(place)
    let handle = try application.enqueue()
    let run = try place.run("actions", "retry", then: [handle.id.uuidString])
    #expect(run.status == 1)
    #expect(
      run.error == "error: The action \(handle.id.uuidString.prefix(8)) 'SendMail' is neither parked nor canceled.\n")
    try application.close()
  }

  @Test func `an unknown identifier and an ambiguous beginning of an identifier are refused`() async throws {
    let place = StorePlace.sqlite
    defer { try? place.remove() }
    let application = try Application(place)
    // Of seventeen identifiers, two begin with one digit.
    let handles = try (0..<17).map { _ in try application.enqueue() }
    let groups = Dictionary(grouping: handles.map(\.id.uuidString), by: { String($0.prefix(1)) })
    let digit = try #require(groups.first { $0.value.count > 1 }).key
    let several = try place.run("actions", "cancel", then: [digit])
    #expect(several.status == 1)
    #expect(several.error.hasPrefix("error: Several actions have an identifier that begins with '\(digit)': "))
    let none = try place.run("actions", "show", then: ["zz"])
    #expect(none.status == 1)
    #expect(none.error == "error: The store has no action whose identifier begins with 'zz'.\n")
    #expect(try await application.actions.counts() == [.waiting: 17])
    try application.close()
  }

  @Test func `a watch has lines for the states of an action`() async throws {
    let place = StorePlace.sqlite
    defer { try? place.remove() }
    let application = try Application(place)
    let handle = try application.enqueue()
    let watch = try RunningCommand(["actions", "watch"] + place.arguments + ["--interval", "20ms", "--json"])
    func next() throws -> [String: Any] {
      let line = try #require(watch.nextLine())
      return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
    var line = try next()
    #expect(line["state"] as? String == "waiting" && line["id"] as? String == handle.id.uuidString)
    try await application.actions.cancel(handle)
    line = try next()
    #expect(line["state"] as? String == "canceled")
    #expect(watch.interrupt() == 0)
    try application.close()
  }

  // MARK: Schedules

  @Test(arguments: StorePlace.all)
  func `schedules and refreshes are listed, and the action of a schedule runs now`(place: StorePlace) async throws {
    defer { try? place.remove() }
    let application = try Application(place)
    try await application.runDueActions()
    try await application.refreshTasks()
    let run = try place.run("schedule", then: ["--json"])
    #expect(try run.list("schedules").map { $0["schedule"] as? String } == ["nightly"])
    let refresh = try #require(try run.list("refreshes").first)
    #expect(refresh["entity"] as? String == "Task" && refresh["lastStatus"] as? String == "succeeded")
    let human = try place.run("schedule", "list").output
    #expect(human.contains("nightly") && human.contains("Task"))

    #expect(try place.run("schedule", "run", then: ["nightly"]).status == 0)
    #expect(try await application.actions.schedules().map(\.state) == [.waiting])
    try await application.runDueActions()
    let shown = try place.run("schedule", "show", then: ["nightly", "--json"])
    #expect(try shown.list("runs").map { $0["state"] as? String } == ["succeeded"])
    let unknown = try place.run("schedule", "run", then: ["weekly"])
    #expect(
      unknown.status == 1 && unknown.error.hasPrefix("error: The store has no schedule 'weekly'; it has 'nightly'."))
    try application.close()
  }

  @Test(arguments: [(3600.0, "running"), (-3600.0, "interrupted")])
  func `a refresh runs until the end of its lease, and is interrupted afterwards`(
    time: Double, state: String
  ) async throws {
    let place = StorePlace.sqlite
    defer { try? place.remove() }
    let application = try Application(place)
    try await application.refreshTasks()
    try application.save { context in
      let record = try #require(
        try context.fetch(FetchRequest<ManagedObject>(entityName: RefreshStatus.entityName)).first)
      try record.setValue(UUID(), for: "owner")
      try record.setValue(Date(timeIntervalSinceNow: time), for: "leaseEnd")
    }
    #expect(try place.run("schedule", "list").output.contains(state))
    try application.close()
  }
}
