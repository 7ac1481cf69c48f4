import CoherenceActions
import CoherenceCore
import CoherenceOutbox
import CoherencePersistedActions
import CoherencePostgreSQL
import CoherenceRefresh
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import Testing

/// The place of a store that an application and the command use.
struct StorePlace: CustomTestStringConvertible, Sendable {
  let configuration: StoreConfiguration
  /// The arguments that name the store.
  let arguments: [String]
  let testDescription: String

  static var sqlite: StorePlace {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("command-\(UUID().uuidString).sqlite")
    return StorePlace(
      configuration: StoreConfiguration(type: .sqlite, location: path), arguments: [path.path],
      testDescription: "SQLite")
  }

  static var postgreSQL: StorePlace? {
    guard let text = ProcessInfo.processInfo.environment["COHERENCE_POSTGRESQL_URL"], let url = URL(string: text) else {
      return nil
    }
    let schema = "command_\(UUID().uuidString.filter(\.isHexDigit).lowercased())"
    return StorePlace(
      configuration: StoreConfiguration(
        type: .postgreSQL, options: [PostgreSQLOption.schema: .string(schema)], location: url),
      arguments: [text, "--schema", schema], testDescription: "PostgreSQL")
  }

  static var all: [StorePlace] { [sqlite] + (postgreSQL.map { [$0] } ?? []) }

  /// Runs the command on the store.
  func run(_ verbs: String..., then: [String] = []) throws -> CommandRun { try CommandRun(verbs + arguments + then) }

  /// Removes the store.
  func remove() throws {
    let coordinator = PersistentStoreCoordinator(managedObjectModel: try Application.model.get())
    let environment = coordinator.environment(
      type: configuration.type, configurationName: nil, at: configuration.location, options: configuration.options)
    try (configuration.type.factory as? any StoreErasing)?.erase(environment)
  }
}

/// An application with people and tasks, an outbox for the tasks, persisted actions, and refreshes.
final class Application {
  typealias TestConnect = GenericConnect<ContextStrategy.Mixed>

  static let plainModel = Result {
    try ManagedObjectModel(name: "Tasks") {
      Entity("Task", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64)
        Attribute("title", .string, default: "")
        Relationship("owner", toOne: "Worker", inverse: "tasks")
      }
      Entity("Worker", uniqueness: [["name"]]) {
        Attribute("name", .string)
        Relationship("tasks", toMany: "Task", inverse: "owner")
      }
    }
  }
  static let model = Result { try plainModel.get().addingOutbox().addingPersistedActions().addingRefreshStatus() }

  let connect: TestConnect
  let outbox: Outbox
  let actions: PersistedActions

  /// - Parameter migrates: Whether the store may be extended to the model.
  init(_ place: StorePlace, migrates: Bool = true) throws {
    var configuration = place.configuration
    configuration.options[StoreOption.migrateAutomatically] = .bool(migrates)
    connect = TestConnect(name: "Tasks", managedObjectModel: try Self.model.get())
    try connect.attachPersistentStore(for: configuration)
    try connect.start()
    outbox = try Outbox(connect, entities: ["Task"])
    actions = try PersistedActions(connect)
  }

  func close() throws { try connect.stop() }

  var metadata: StoreMetadata? {
    get throws { try connect.persistentStoreCoordinator.persistentStores.first?.metadata() }
  }

  // MARK: Records

  func save(_ body: (ManagedObjectContext) throws -> Void) throws {
    let context = connect.newBackgroundContext()
    try context.performAndWait {
      try body(context)
      try context.save()
    }
  }

  /// Inserts tasks of one owner, as the server has them: without entries.
  func merge(_ titles: [Int: String], _ policy: MergeOptions.PendingEditsPolicy = .keepLocal) async throws {
    try await connect.execute(MergeTasks(titles: titles, policy: policy)).value
  }

  /// Changes the title of a task, as a user does.
  func setTitle(_ title: String, of id: Int64) throws {
    try save { context in
      var request = FetchRequest<ManagedObject>(entityName: "Task")
      request.predicate = .comparison(.path(PropertyPath("id")), .equal, .value(.int(id)))
      try context.fetch(request).first?.setValue(title, for: "title")
    }
  }

  /// The texts of all records of the application.
  func records() throws -> [String] {
    let context = connect.newBackgroundContext()
    return try context.performAndWait {
      let tasks = try context.fetch(FetchRequest<ManagedObject>(entityName: "Task")).map { task in
        let owner = try task.object(for: "owner")?.value(for: "name", as: String.self) ?? "nobody"
        return "\(try task.value(for: "id", as: Int64.self)) \(try task.value(for: "title", as: String.self)) \(owner)"
      }
      let workers = try context.fetch(FetchRequest<ManagedObject>(entityName: "Worker")).map {
        try $0.value(for: "name", as: String.self)
      }
      return tasks.sorted() + workers.sorted()
    }
  }

  // MARK: Actions

  /// Refreshes the tasks once, from a source without tasks.
  func refreshTasks() async throws {
    let refresher = try Refresher(connect)
    try refresher.register(list: ManagedObject.self, entityName: "Task") { _ in }
    try await refresher.refresh(ManagedObject.self, entityName: "Task")
  }

  func enqueue(_ text: String = "", fails: Bool = false, at date: Date? = nil, queue: String? = nil) throws
    -> PersistedActionHandle
  {
    let context = connect.newBackgroundContext()
    return try context.performAndWait {
      let handle = try context.enqueue(SendMail(text: text, fails: fails), at: date, queue: queue)
      try context.save()
      return handle
    }
  }

  /// Runs the due actions, and makes the record of a schedule.
  func runDueActions() async throws {
    let schedule = PersistedSchedule("nightly", .every(.seconds(86_400)), SendMail(text: "digest"))
    let options = PersistedActionOptions(queues: ["default", "mail"])
    try await PersistedActionWorker(connect, actions: [SendMail.self], schedules: [schedule], options: options)
      .runDueActions()
  }
}

/// An action that succeeds or fails at once.
struct SendMail: PersistedAction {
  struct Unsendable: Error {}

  static let retry = PersistedRetry.never
  var text = ""
  var fails = false

  func run(in context: PersistedActionContext) async throws {
    if fails { throw Unsendable() }
  }
}

/// Merges tasks of a server.
struct MergeTasks: EntityAction {
  typealias ManagedObjectType = ManagedObject

  let titles: [Int: String]
  let policy: MergeOptions.PendingEditsPolicy
  var entityName: String? { "Task" }

  func execute(context: ActionContext) throws {
    guard let model = context.persistentStoreCoordinator?.managedObjectModel else { return }
    let records = titles.sorted { $0.key < $1.key }.map { MergeRecord(["id": $0, "title": $1]) }
    try context.merge(
      records: records, for: model.entity(named: "Task"), options: MergeOptions(pendingEdits: policy))
  }
}
