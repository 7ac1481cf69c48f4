import Coherence
import CoherencePersistedActions
import Foundation

extension TodoClient {
  /// Runs a block in a background context, and saves.
  @discardableResult
  func edit<T: Sendable>(_ body: @escaping @Sendable (ManagedObjectContext) throws -> T) async throws -> T {
    try await connect.performBackgroundTask { context in
      let result = try body(context)
      try context.save()
      return result
    }
  }

  func addList(_ name: String) async throws -> ManagedObjectID {
    let id = try await connect.performBackgroundTask { context in
      let list = try TodoList(context: context)
      list.name = name
      try context.save()
      return list.objectID
    }
    return id
  }

  func addTag(_ name: String) async throws -> ManagedObjectID {
    try await connect.performBackgroundTask { context in
      let tag = try Tag(context: context)
      tag.name = name
      try context.save()
      return tag.objectID
    }
  }

  func addTask(
    _ title: String, to list: ManagedObjectID, tags: [ManagedObjectID] = []
  ) async throws -> ManagedObjectID {
    try await connect.performBackgroundTask { context in
      let task = try TodoTask(context: context)
      task.title = title
      task.list = try context.existingObject(with: list) as? TodoList
      for tag in try context.objects(for: tags, as: Tag.self) { task.tags.insert(tag) }
      try context.save()
      return task.objectID
    }
  }

  /// Changes a record.
  func change<Object: ManagedObject>(
    _ id: ManagedObjectID, as type: Object.Type, _ body: @escaping @Sendable (Object) throws -> Void
  ) async throws {
    try await edit { context in
      guard let object = try context.existingObject(with: id) as? Object else { throw TodoError("Another type.") }
      try body(object)
    }
  }

  func delete(_ id: ManagedObjectID) async throws {
    try await edit { context in context.delete(try context.existingObject(with: id)) }
  }

  /// Attaches a file to a task, and has it uploaded.
  func attach(_ content: Data, to task: ManagedObjectID) async throws -> (uuid: UUID, handle: PersistedActionHandle) {
    let address = service.url
    return try await edit { context in
      let attachment = try Attachment(context: context)
      attachment.uuid = UUID()
      attachment.content = content
      attachment.task = try context.existingObject(with: task) as? TodoTask
      let handle = try context.enqueue(
        UploadAttachment(uuid: attachment.uuid, server: address), uniqueKey: attachment.uuid.uuidString)
      return (attachment.uuid, handle)
    }
  }

  // MARK: Reading

  /// A line for each task, in order, with its list and its tags.
  func lines() async throws -> [String] {
    try await connect.performBackgroundTask { try Self.lines(in: $0) }
  }

  static func lines(in context: ManagedObjectContext) throws -> [String] {
    let request = FetchRequest(TodoTask.self).prefetch(\.list).prefetch(\.tags)
    return try context.fetch(request).map { task in
      let tags = task.tags.map(\.name).sorted().map { " #\($0)" }.joined()
      return "\(task.list?.name ?? "-"): \(task.title)\(task.isDone ? " (done)" : "")\(tags)"
    }.sorted()
  }

  /// The number of records without a key of the server.
  func unsentRecords() async throws -> Int {
    try await connect.performBackgroundTask { context in
      try context.count(for: FetchRequest(TodoList.self).filter { $0.id == nil })
        + context.count(for: FetchRequest(TodoTask.self).filter { $0.id == nil })
        + context.count(for: FetchRequest(Tag.self).filter { $0.id == nil })
    }
  }
}
