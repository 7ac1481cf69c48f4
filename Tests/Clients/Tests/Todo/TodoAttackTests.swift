import Coherence
import CoherenceOutbox
import CoherenceRefresh
import Foundation
import Listener
import Synchronization
import Testing

@testable import Todo

@Suite("A to-do client under attack", .timeLimit(.minutes(15)))
struct TodoAttackTests {
  /// The faults of the first two requests to each address.
  enum Misbehaviour: String, CaseIterable {
    case stall, status500, broken, lostReply, garbage, redirect, conflictWithoutBody, tooMany
  }

  @Test(arguments: TodoStore.available, Misbehaviour.allCases)
  func `a server that misbehaves has each edit once in the end`(
    store: TodoStore, misbehaviour: Misbehaviour
  ) async throws {
    let stage = try TodoStage(on: store)
    let client = try await stage.client("first", limit: misbehaviour == .stall ? .milliseconds(300) : .seconds(10))
    let (gate, url) = (TodoGate(), stage.server.url)
    let seen = Mutex<[String: Int]>([:])
    stage.server.setFault { request in
      let count = seen.withLock { seen in
        seen["\(request.method) \(request.path)", default: 0] += 1
        return seen["\(request.method) \(request.path)"] ?? 0
      }
      guard count <= 2 else { return nil }
      switch misbehaviour {
      case .stall: return .stalled(gate)
      case .status500: return .reply(TodoReply(status: 500))
      case .broken: return .broken
      case .lostReply: return .lostReply
      case .garbage: return .reply(TodoReply(status: 200, body: Data("<html>".utf8)))
      case .redirect:
        return .reply(TodoReply(status: 307, fields: ["Location": url.absoluteString + request.path]))
      case .conflictWithoutBody: return .reply(TodoReply(status: 409))
      case .tooMany: return .reply(TodoReply(status: 429, fields: ["Retry-After": "0"]))
      }
    }
    try await client.start()
    client.connectivity.isOnline = true
    let home = try await client.addList("Home")
    let tag = try await client.addTag("urgent")
    let milk = try await client.addTask("Milk", to: home, tags: [tag])
    try await client.outbox.flush()
    try await client.change(milk, as: TodoTask.self) { $0.title = "Oat milk" }
    // An attempt may end with a parked edit, which a user retries.
    for _ in 0..<8 where try await client.outbox.flush() > 0 {
      for entry in try await client.outbox.entries(state: .parked) { try await client.outbox.retry(entry.id) }
    }
    gate.open()
    #expect(try await client.outbox.flush() == 0)
    #expect(stage.server.documents(.lists).map(\.fields) == [["name": .text("Home")]])
    #expect(stage.server.documents(.tags).map(\.fields) == [["name": .text("urgent")]])
    #expect(stage.server.documents(.tasks).map(\.fields["title"]) == [.text("Oat milk")])
    stage.server.setFault { _ in nil }
    try await client.pull()
    #expect(try await client.lines() == ["Home: Oat milk #urgent"])
    try await client.close()
  }

  @Test(arguments: TodoStore.available, [1, 16, 256])
  func `tasks that edit while edits are forwarded lose nothing, and a second client converges`(
    store: TodoStore, count: Int
  ) async throws {
    let stage = try TodoStage(on: store, poolSize: 4)
    let http = DirectClient(server: stage.server)
    let client = try await stage.client("first", by: http)
    try await client.start()
    client.connectivity.isOnline = true
    let home = try await client.addList("Home")
    let tags = [try await client.addTag("a"), try await client.addTag("b")]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        group.addTask {
          let task = try await client.addTask("Task \(number)", to: home, tags: [tags[number % 2]])
          // The server's key may arrive between the read and the save.
          try await Self.repeating {
            try await client.edit { context in
              guard let task = try context.existingObject(with: task) as? TodoTask else { return }
              task.title = "Task \(number) again"
              for tag in try context.objects(for: [tags[1 - number % 2]], as: Tag.self) { task.tags.insert(tag) }
            }
          }
          if number % 4 == 3 { try await Self.repeating { try await client.delete(task) } }
        }
      }
      try await group.waitForAll()
    }
    try await client.synchronize()
    #expect(try await client.outbox.counts().total == 0)
    let expected = (0..<count).filter { $0 % 4 != 3 }.map { "Home: Task \($0) again #a #b" }.sorted()
    #expect(try await client.lines() == expected)
    let second = try await stage.client("second", by: http)
    try await second.synchronize()
    #expect(try await second.lines() == expected)
    try await client.close()
    try await second.close()
  }

  @Test(arguments: TodoStore.available)
  func `a page from before an accepted edit does not revert the edit`(store: TodoStore) async throws {
    let stage = try TodoStage(on: store)
    let client = try await stage.client("first")
    try await client.start()
    let home = try await client.addList("Home")
    try await client.synchronize()
    stage.server.change(.lists, 1, ["name": .text("House")])
    let gate = TodoGate()
    stage.server.setFault { request in request.method == "GET" && request.path == "/lists" ? .late(gate) : nil }
    let pull = Task { try await client.refresher.refresh(TodoList.self) }
    await gate.arrival()
    // The server accepts two edits while it delays the older page.
    try await client.change(home, as: TodoList.self) { $0.name = "House" }
    try await client.outbox.flush()
    try await client.change(home, as: TodoList.self) { $0.name = "My house" }
    try await client.outbox.flush()
    gate.open()
    _ = try await pull.value
    #expect(try await client.fetchNames() == ["My house"])
    stage.server.setFault { _ in nil }
    stage.server.remove(.lists, 1)
    try await client.pull()
    #expect(try await client.fetchNames() == [])
    try await client.close()
  }

  /// Repeats a save that conflicts with the reply to an earlier edit.
  private static func repeating(_ body: () async throws -> Void) async throws {
    while true {
      do { return try await body() } catch ErrorCode.versionConflict {}
    }
  }

  @Test(arguments: TodoStore.available)
  func `deleting a list during the sending of its insert leaves nothing on the server`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store)
    let client = try await stage.client("first")
    let gate = TodoGate()
    stage.server.setFault { request in request.method == "POST" ? .stalled(gate) : nil }
    try await client.start()
    let home = try await client.addList("Home")
    _ = try await client.addTask("Milk", to: home)
    client.connectivity.isOnline = true
    await gate.arrival()
    try await client.delete(home)
    gate.open()
    #expect(try await client.outbox.flush() == 0)
    // The reply to the insert arrived after the deletion. The insert is repeated under its key, so that the delete
    // knows the record's key at the server.
    #expect(stage.server.documents(.lists).isEmpty && stage.server.documents(.tasks).isEmpty)
    #expect(stage.server.requests.contains("DELETE /lists/1") && !stage.server.requests.contains("POST /tasks"))
    #expect(try await client.lines().isEmpty)
    try await client.close()
  }

  @Test(arguments: TodoStore.available)
  func `the deletion of a list takes its pending tasks and edits with it`(store: TodoStore) async throws {
    let stage = try TodoStage(on: store)
    let client = try await stage.client("first")
    try await client.start()
    let home = try await client.addList("Home")
    let milk = try await client.addTask("Milk", to: home)
    try await client.synchronize()
    client.connectivity.isOnline = false
    _ = try await client.addTask("Bread", to: home)
    try await client.change(milk, as: TodoTask.self) { $0.title = "Oat milk" }
    try await client.delete(home)
    stage.server.forgetRequests()
    try await client.synchronize()
    #expect(stage.server.requests.filter { !$0.hasPrefix("GET") } == ["DELETE /tasks/2", "DELETE /lists/1"])
    #expect(stage.server.documents(.tasks).isEmpty && stage.server.documents(.lists).isEmpty)
    #expect(try await client.outbox.counts().total == 0)
    try await client.close()
  }

  @Test(arguments: TodoStore.available)
  func `tasks with pending edits stay when the server deletes their list, and their edits are sent or parked`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store)
    let client = try await stage.client("first")
    try await client.start()
    let home = try await client.addList("Home")
    let milk = try await client.addTask("Milk", to: home)
    try await client.synchronize()
    client.connectivity.isOnline = false
    _ = try await client.addTask("Bread", to: home)
    try await client.change(milk, as: TodoTask.self) { $0.title = "Oat milk" }
    stage.server.remove(.lists, 1)
    try await client.pull()
    // The merge deletes the list, and spares the tasks with pending edits. The edit of the task that the server has
    // deleted with the list waits for the user.
    #expect(try await client.lines() == ["-: Bread", "-: Oat milk"])
    #expect(try await client.outbox.conflicts().map(\.kind) == [.deletedOnServer])
    client.connectivity.isOnline = true
    #expect(try await client.outbox.flush() == 1)
    // The new task is sent without its list.
    #expect(stage.server.documents(.tasks).map(\.fields["title"]) == [.text("Bread")])
    #expect(stage.server.documents(.tasks).map(\.fields["list"]) == [.null])
    #expect(try await client.outbox.entries().map(\.kind) == [.update])
    #expect(try await client.outbox.counts().parked == 1)
    try await client.synchronize()
    #expect(try await client.lines() == ["-: Bread", "-: Oat milk"])
    try await client.close()
  }

  @Test(arguments: TodoStore.available, [true, false])
  func `an edit of a task that the server has deleted waits for the user`(
    store: TodoStore, keepsEdit: Bool
  ) async throws {
    let stage = try TodoStage(on: store)
    let client = try await stage.client("first")
    try await client.start()
    let milk = try await client.addTask("Milk", to: try await client.addList("Home"))
    try await client.synchronize()
    stage.server.remove(.tasks, 2)
    try await client.change(milk, as: TodoTask.self) { $0.title = "Oat milk" }
    #expect(try await client.outbox.flush() == 1)
    let entry = try #require(try await client.outbox.entries(state: .parked).first)
    #expect(entry.lastError?.contains("The server has deleted the record.") == true)
    try await client.pull()
    let conflict = try #require(try await client.outbox.conflicts().first)
    #expect(conflict.kind == .deletedOnServer)
    try await client.outbox.resolve(conflict.id, keeping: keepsEdit ? .local : .server)
    try await client.synchronize()
    #expect(try await client.lines() == (keepsEdit ? ["Home: Oat milk"] : []))
    #expect(stage.server.documents(.tasks).map(\.fields["title"]) == (keepsEdit ? [.text("Oat milk")] : []))
    #expect(try await client.outbox.counts().total == 0)
    try await client.close()
  }

  @Test(arguments: TodoStore.available)
  func `a tag that both sides rename waits for the user, and the tasks keep their tag`(store: TodoStore) async throws {
    let stage = try TodoStage(on: store)
    let client = try await stage.client("first")
    try await client.start()
    let tag = try await client.addTag("later")
    _ = try await client.addTask("Milk", to: try await client.addList("Home"), tags: [tag])
    try await client.synchronize()
    let id = try #require(stage.server.documents(.tags).first?.id)
    client.connectivity.isOnline = false
    try await client.change(tag, as: Tag.self) { $0.name = "someday" }
    stage.server.change(.tags, id, ["name": .text("never")])
    try await client.synchronize()
    let conflict = try #require(try await client.outbox.conflicts().first)
    #expect(conflict.properties.map(\.server) == [.string("never")])
    try await client.outbox.resolve(conflict.id, keeping: .server)
    try await client.synchronize()
    #expect(try await client.lines() == ["Home: Milk #never"])
    #expect(stage.server.documents(.tags).map(\.fields) == [["name": .text("never")]])
    try await client.close()
  }

  @Test(arguments: TodoStore.available, [true, false])
  func `two clients that make one tag offline share it in the end`(store: TodoStore, pullsFirst: Bool) async throws {
    let stage = try TodoStage(on: store)
    let first = try await stage.client("first")
    try await first.start()
    _ = try await first.addTag("urgent")
    try await first.synchronize()
    let second = try await stage.client("second")
    try await second.start()
    let tag = try await second.addTag("urgent")
    _ = try await second.addTask("Milk", to: try await second.addList("Home"), tags: [tag])
    if pullsFirst { try await second.pull() }
    try await second.synchronize()
    try await first.synchronize()
    #expect(try await second.outbox.counts().total == 0)
    #expect(stage.server.documents(.tags).map(\.fields) == [["name": .text("urgent")]])
    #expect(try await first.lines() == ["Home: Milk #urgent"])
    #expect(try await second.lines() == ["Home: Milk #urgent"])
    let count = try await second.connect.performBackgroundTask { try $0.count(for: FetchRequest(Tag.self)) }
    #expect(count == 1)
    try await first.close()
    try await second.close()
  }

  @Test(arguments: TodoStore.available)
  func `an older program over the store of a newer one keeps the newer program's pending values`(
    store: TodoStore
  ) async throws {
    let stage = try TodoStage(on: store)
    let container = try await nextContainer(stage)
    let outbox = try Outbox(container, entities: ["TodoList", "TodoTask", "Tag"])
    try await container.performBackgroundTask { context in
      let list = try NextTodo.TodoList(context: context)
      list.name = "Home"
      let task = try NextTodo.TodoTask(context: context)
      task.title = "Milk"
      task.note = "Two litres"
      task.list = list
      try context.save()
    }
    outbox.close()
    try container.detach(persistentStores: container.persistentStoreCoordinator.persistentStores)

    // The column of the notes stays, because the older model merely leaves it out.
    let client = try await stage.client("first")
    let entry = try #require(try await client.outbox.entries(in: "TodoTask").first)
    #expect(entry.unknownProperties == ["note"])
    try await client.change(try #require(entry.recordID), as: TodoTask.self) { $0.isDone = true }
    try await client.close()

    let next = try await nextContainer(stage)
    let nextOutbox = try Outbox(next, entities: ["TodoList", "TodoTask", "Tag"])
    #expect(try await nextOutbox.entries(in: "TodoTask").flatMap(\.unknownProperties) == [])
    let service = TodoService(stage.server.url)
    for (name, kind) in [("TodoList", TodoKind.lists), ("TodoTask", .tasks)] {
      try nextOutbox.forward(name) { handlers in
        handlers.insert { try await service.send($0, as: kind) }
        handlers.update { try await service.send($0, as: kind) }
      }
    }
    try nextOutbox.start()
    #expect(try await nextOutbox.flush() == 0)
    let fields = try #require(stage.server.documents(.tasks).first?.fields)
    #expect(fields["note"] == .text("Two litres") && fields["isDone"] == .bool(true) && fields["list"] == .int(1))
    await nextOutbox.stop()
    nextOutbox.close()
    try next.detach(persistentStores: next.persistentStoreCoordinator.persistentStores)
  }

  /// The container of the next version of the program, on the store of the first client.
  private func nextContainer(_ stage: TodoStage) async throws -> GenericPersistentContainer<ContextStrategy.Mixed> {
    let (place, configuration) = try stage.store("first")
    let container = GenericPersistentContainer<ContextStrategy.Mixed>(
      name: "Todo", managedObjectModel: try NextTodo.model(), storeLocation: place)
    try container.attachPersistentStore(for: configuration)
    return container
  }
}
