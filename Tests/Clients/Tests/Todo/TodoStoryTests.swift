import Coherence
import CoherenceOutbox
import CoherencePersistedActions
import CoherenceRefresh
import Foundation
import Listener
import Testing

@testable import Todo

@Suite("A to-do client", .timeLimit(.minutes(15)))
struct TodoStoryTests {
  @Test(arguments: TodoStore.available)
  func `edits made offline survive a restart, reach the server, and the second client shows them`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store)
    stage.server.hangUp()
    var first = try await stage.client("first")
    try await first.start()
    let home = try await first.addList("Home")
    let urgent = try await first.addTag("urgent")
    let milk = try await first.addTask("Milk", to: home, tags: [urgent])
    let bread = try await first.addTask("Bread", to: home)
    try await first.change(milk, as: TodoTask.self) { $0.isDone = true }
    try await first.delete(bread)
    try await first.close(.cancel)

    // The program starts again, still without a server.
    first = try await stage.client("first")
    #expect(try await first.lines() == ["Home: Milk (done) #urgent"])
    // Each save has an entry for each changed record. The link of Milk is an entry of its tag.
    let entries = try await first.outbox.entries().map { "\($0.kind) \($0.entityName)" }
    #expect(entries.count == 7 && entries.filter { $0 == "update Tag" }.count == 1)
    #expect(try await first.unsentRecords() == 3)
    try await first.start()
    try stage.server.listen()
    try await first.synchronize()
    #expect(try await first.outbox.counts().total == 0)
    #expect(try await first.unsentRecords() == 0)
    // The deleted task was never sent, and the insert of each other record has its later changes and links.
    #expect(stage.server.requests.filter { $0.hasPrefix("POST") }.count == 3)
    #expect(!stage.server.requests.contains { $0.hasPrefix("PATCH") || $0.hasPrefix("DELETE") })
    #expect(stage.server.documents(.tasks).map(\.fields["title"]) == [.text("Milk")])

    let second = try await stage.client("second")
    try await second.start()
    try await second.synchronize()
    #expect(try await second.lines() == ["Home: Milk (done) #urgent"])
    try await first.close()
    try await second.close()
  }

  @Test(arguments: TodoStore.available)
  func `two clients that change one title conflict, the user decides, and both converge`(store: TodoStore) async throws
  {
    let stage = try TodoStage(on: store)
    let first = try await stage.client("first")
    var second = try await stage.client("second")
    try await first.start()
    try await second.start()
    let home = try await first.addList("Home")
    let milk = try await first.addTask("Milk", to: home)
    try await first.synchronize()
    try await second.synchronize()

    second.connectivity.isOnline = false
    let copy = try await second.connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(TodoTask.self)).map(\.objectID)
    }
    let theirs = try #require(copy.first)
    try await first.change(milk, as: TodoTask.self) { $0.title = "Oat milk" }
    try await second.change(theirs, as: TodoTask.self) { task in
      task.title = "Soy milk"
      task.isDone = true
    }
    try await first.synchronize()
    try await second.synchronize()
    let conflict = try #require(try await second.outbox.conflicts().first)
    #expect(conflict.properties.map(\.name) == ["title"])
    #expect(conflict.properties.first?.server == .string("Oat milk"))
    #expect(try await second.lines() == ["Home: Soy milk (done)"])

    // The conflict still waits for the user after a restart.
    try await second.close()
    second = try await stage.client("second")
    try await second.start()
    let kept = try #require(try await second.outbox.conflicts().first)
    #expect(kept.properties == conflict.properties)
    try await second.outbox.resolve(kept.id, keeping: .values(["title": "Oat or soy milk"]))
    try await second.synchronize()
    try await first.synchronize()
    #expect(try await second.outbox.counts().total == 0)
    #expect(try await first.lines() == ["Home: Oat or soy milk (done)"])
    #expect(try await second.lines() == ["Home: Oat or soy milk (done)"])
    try await first.close()
    try await second.close()
  }

  @Test(arguments: TodoStore.available)
  func `tags are added and removed by both clients, and both members stay`(store: TodoStore) async throws {
    let stage = try TodoStage(on: store)
    let first = try await stage.client("first")
    let second = try await stage.client("second")
    try await first.start()
    try await second.start()
    let home = try await first.addList("Home")
    let milk = try await first.addTask("Milk", to: home, tags: [try await first.addTag("old")])
    try await first.synchronize()
    try await second.synchronize()
    let mine = try await first.addTag("mine")
    let theirs = try await second.addTag("theirs")
    try await first.edit { context in
      guard let task = try context.existingObject(with: milk) as? TodoTask else { return }
      for tag in task.tags where tag.name == "old" { task.tags.remove(tag) }
      for tag in try context.objects(for: [mine], as: Tag.self) { task.tags.insert(tag) }
    }
    try await second.edit { context in
      for task in try context.fetch(FetchRequest(TodoTask.self)) {
        for tag in try context.objects(for: [theirs], as: Tag.self) { task.tags.insert(tag) }
      }
    }
    for client in [first, second, first, second] { try await client.synchronize() }
    #expect(try await first.lines() == ["Home: Milk #mine #theirs"])
    #expect(try await second.lines() == ["Home: Milk #mine #theirs"])
    try await first.close()
    try await second.close()
  }

  @Test(arguments: TodoStore.available)
  func `a start, a stale fetch and a regained connection refresh the lists, and tombstones delete records`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store, pageSize: 2)
    let home = stage.server.add(.lists, ["name": .text("Home")])
    for name in ["A", "B", "C"] { _ = stage.server.add(.lists, ["name": .text(name)]) }
    let time = TodoTime()
    var options = TodoStage.options()
    options.refreshing.clock = time
    let client = try await stage.client("first", options)
    client.connectivity.isOnline = true
    var changes = try client.connect.entityChanges(of: "TodoList").makeAsyncIterator()
    await client.refresher.start()
    while try await client.fetchNames() != ["A", "B", "C", "Home"] { _ = await changes.next() }

    // A fetch of stale records returns the stored ones, and a refresh follows.
    stage.server.remove(.lists, home)
    try await client.refresher.refresh(TodoTask.self, onlyIfStale: true)
    time.advance(by: 601)
    stage.server.change(.lists, 2, ["name": .text("a")])
    #expect(try await client.fetchNames().count == 4)
    while try await client.fetchNames() != ["B", "C", "a"] { _ = await changes.next() }

    // A regained connection refreshes stale records.
    client.connectivity.isOnline = false
    time.advance(by: 601)
    _ = stage.server.add(.lists, ["name": .text("D")])
    #expect(try await client.fetchNames() == ["B", "C", "a"])
    client.connectivity.isOnline = true
    while try await client.fetchNames() != ["B", "C", "D", "a"] { _ = await changes.next() }
    try await client.close()
  }

  @Test(arguments: TodoStore.available)
  func `after a cursor that the server has forgotten, a complete page deletes the other records`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store)
    let home = stage.server.add(.lists, ["name": .text("Home")])
    let work = stage.server.add(.lists, ["name": .text("Work")])
    for title in ["Milk", "Bread"] { _ = stage.server.add(.tasks, ["title": .text(title), "list": .int(home)]) }
    let client = try await stage.client("first")
    try await client.pull()
    let draft = try await client.addList("Draft")
    _ = try await client.addTask("Idea", to: draft)
    stage.server.remove(.lists, home)
    stage.server.change(.lists, work, ["name": .text("Office")])
    stage.server.forgetDeletions()
    _ = stage.server.add(.tasks, ["title": .text("Mail"), "list": .int(work)])
    try await client.pull()
    #expect(try await client.fetchNames() == ["Draft", "Office"])
    #expect(try await client.lines() == ["Draft: Idea", "Office: Mail"])
    try await client.close()
  }

  @Test(arguments: TodoStore.available)
  func `an upload continues behind its checkpoint after a restart, and the server has each part once`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store)
    let time = TodoTime()
    var options = TodoStage.options()
    options.workerClock = PersistedActionClock(ContinuousClock()) { time.now }
    var client = try await stage.client("first", options)
    let task = try await client.addTask("Photo", to: try await client.addList("Home"))
    let content = Data((0..<3500).map { UInt8($0 % 251) })
    let (uuid, handle) = try await client.attach(content, to: task)
    // The server ends the connection of the third part.
    stage.server.setFault { request in request.query["offset"] == "2000" ? .broken : nil }
    try await client.worker.runDueActions()
    let failed = try #require(try await client.actions.action(handle))
    #expect(failed.failedAttempts == 1 && failed.hasCheckpoint && !failed.state.isFinal)
    try await client.close()

    stage.server.setFault { _ in nil }
    client = try await stage.client("first", options)
    time.advance(by: 31)
    try await client.worker.runDueActions()
    #expect(try await client.actions.untilFinished(handle).state == .succeeded)
    #expect(stage.server.upload(uuid.uuidString) == content)
    #expect(stage.server.requests.filter { $0.hasPrefix("PUT") }.count == 4)
    let isUploaded = try await client.connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(Attachment.self)).map(\.isUploaded)
    }
    #expect(isUploaded == [true])
    try await client.close()
  }

  @Test(arguments: TodoStore.available)
  func `a digest is written once for each day that the program runs, and once for the days that it missed`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store)
    let time = TodoTime()
    var options = TodoStage.options()
    options.workerClock = PersistedActionClock(ContinuousClock()) { time.now }
    options.digests = try .cron("0 7 * * *")
    var client = try await stage.client("first", options)
    let home = try await client.addList("Home")
    _ = try await client.addTask("Milk", to: home)
    try await client.worker.runDueActions()
    for day in 1...3 {
      time.advance(by: 86_400)
      try await client.worker.runDueActions()
      if day == 1 {
        // The program is closed for a week.
        try await client.close()
        time.advance(by: 7 * 86_400)
        client = try await stage.client("first", options)
        // An identifier belongs to the coordinator of a running program. Its text finds the record after a restart.
        let coordinator = client.connect.persistentStoreCoordinator
        _ = try await client.addTask("Bread", to: try #require(coordinator.objectID(forDescription: home.description)))
      }
    }
    let digests = try await client.connect.performBackgroundTask { context in
      try context.fetch(FetchRequest(Digest.self).sort(\.date)).map(\.text)
    }
    #expect(digests == ["1 open tasks", "2 open tasks", "2 open tasks"])
    try await client.close()
  }

  @Test(arguments: TodoStore.available)
  @MainActor func `the main actor sees an edit after an await, and keeps its own unsaved edit`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store)
    let client = try await stage.client("first")
    let home = try await client.addList("Home")
    let milk = try await client.addTask("Milk", to: home)
    let view = client.connect.mainContext
    let task = try #require(try view.existingObject(with: milk) as? TodoTask)
    task.isDone = true
    try await client.change(milk, as: TodoTask.self) { $0.title = "Oat milk" }
    #expect(task.title == "Oat milk")
    #expect(task.isDone)
    try view.save()
    try await client.start()
    try await client.synchronize()
    // The object on the main actor gets the server's key. A fetch on the view merges the saves before it, and the
    // object has the new values afterwards.
    #expect(try view.fetch(FetchRequest(TodoTask.self)) == [task])
    let key: Int64? = task.id
    #expect(key == 2 && task.revision == 2)
    let document = try #require(stage.server.documents(.tasks).first)
    #expect(document.fields["title"] == .text("Oat milk") && document.fields["isDone"] == .bool(true))
    try await client.close()
  }
}
