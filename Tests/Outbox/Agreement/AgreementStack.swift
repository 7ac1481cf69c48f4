import CoherenceActions
import CoherenceCore
import CoherenceStrategies
import Foundation
import TestSupport

@testable import CoherenceOutbox

/// A started Connect with one store of tasks and labels, and an outbox for the tasks.
struct AgreementStack {
  let directory: TemporaryDirectory
  let connect: GenericConnect<ContextStrategy.Mixed>
  let outbox: Outbox
  private let configuration: StoreConfiguration

  /// A stack with tasks that the server already has.
  ///
  /// - Parameter titles: The titles by identifier.
  init(_ backend: Backend, titles: [Int: String] = [:]) throws {
    try self.init(TemporaryDirectory(), backend.newConfiguration())
    try merge(Self.page(titles))
  }

  private init(
    _ directory: TemporaryDirectory, _ configuration: StoreConfiguration, _ later: ManagedObjectModel? = nil
  ) throws {
    self.directory = directory
    self.configuration = configuration
    let model = try later ?? Self.model.get()
    connect = GenericConnect(name: "Tasks", managedObjectModel: model, storeLocation: directory.url)
    try connect.attachPersistentStore(for: configuration)
    outbox = try Outbox(connect, entities: ["Task"])
    try connect.start()
  }

  /// A second stack on the same store, such as the stack of a restarted program or of another program.
  func another() throws -> AgreementStack { try AgreementStack(directory, configuration) }

  /// A second stack on the same store: the stack of the next version of the program, which renames the titles of tasks
  /// to headings.
  func renamingTitles() throws -> AgreementStack {
    let heading = Attribute("heading", .string, default: "", formerNames: ["title"])
    return try AgreementStack(directory, configuration, try Self.tasks(title: heading))
  }

  /// A second stack on the same store: the stack of the next version of the program, in which titles are numbers.
  func numberingTitles() throws -> AgreementStack {
    let number = Attribute(
      "title", .int64, default: Int64(0),
      converting: { old in
        guard case .string(let text) = old, let number = Int64(text) else { return .null }
        return .int(number)
      })
    return try AgreementStack(directory, configuration, try Self.tasks(title: number))
  }

  /// The configuration of a program with a smaller model.
  var partialConfiguration: StoreConfiguration {
    var configuration = configuration
    configuration.options[StoreOption.partialModel] = true
    return configuration
  }

  /// The configuration of a program that opens the store for reading only, in any directory.
  var readOnlyConfiguration: StoreConfiguration {
    var configuration = configuration
    configuration.location = connect.persistentStoreCoordinator.persistentStores.first?.url
    configuration.options[StoreOption.readOnly] = true
    return configuration
  }

  /// The metadata of the store.
  func metadata() throws -> StoreMetadata? { try connect.persistentStoreCoordinator.persistentStores.first?.metadata() }

  private static let model = Result { try AgreementStack.tasks(title: Attribute("title", .string, default: "")) }

  private static func tasks(title: Attribute) throws -> ManagedObjectModel {
    try ManagedObjectModel {
      Entity("Task", userInfo: ["uniquenessAttributes": "id"]) {
        Attribute("id", .int64, default: Int64(0))
        title
        Attribute("note", .string, optional: true)
        Attribute("version", .int64, default: Int64(0), userInfo: [Outbox.serverAssignedSetting: "true"])
        Relationship("labels", toMany: "Label", inverse: "tasks")
      }
      Entity("Label", uniqueness: [["name"]]) {
        Attribute("name", .string)
        Relationship("tasks", toMany: "Task", inverse: "labels")
      }
    }.addingOutbox()
  }

  // MARK: The server

  static func page(_ titles: [Int: String]) -> [MergeRecord] {
    titles.sorted { $0.key < $1.key }.map { MergeRecord(["id": $0, "title": $1]) }
  }

  /// Merges a page of the server.
  @discardableResult
  func merge(
    _ page: [MergeRecord], _ policy: MergeOptions.PendingEditsPolicy = .keepLocal,
    _ mode: MergeOptions.Mode = .upsertOnly, into name: String = "Task"
  ) throws -> MergeResult {
    try connect.newActionContext().merge(
      records: page, for: connect.managedObjectModel.entity(named: name),
      options: MergeOptions(mode: mode, maximumDeletedShare: 1, pendingEdits: policy))
  }

  // MARK: The user

  /// Changes records in a context of the user, and saves.
  @discardableResult
  func edit<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    try connect.newBackgroundContext().saving(body)
  }

  /// Changes a property of a task.
  func set(_ value: String, for name: String = "title", of id: Int64) throws {
    try edit { try Self.task(id, $0)?.setValue(value, for: name) }
  }

  func insert(_ id: Int64, _ title: String) throws {
    try edit { context in
      let task = try context.insertNewObject(forEntityName: "Task")
      try task.setValue(id, for: "id")
      try task.setValue(title, for: "title")
    }
  }

  func delete(_ id: Int64) throws {
    try edit { context in
      if let task = try Self.task(id, context) { context.delete(task) }
    }
  }

  static func task(_ id: Int64, _ context: ManagedObjectContext) throws -> ManagedObject? {
    var request = FetchRequest<ManagedObject>(entityName: "Task")
    request.predicate = .comparison(.path(PropertyPath("id")), .equal, .value(.int(id)))
    return try context.fetch(request).first
  }

  // MARK: The state

  /// The titles by identifier.
  func titles() throws -> [Int64: String] { try values("title").compactMapValues { $0 } }

  func values(_ name: String) throws -> [Int64: String?] {
    let context = connect.newBackgroundContext()
    return try context.performAndWait {
      Dictionary(
        uniqueKeysWithValues: try context.fetch(FetchRequest<ManagedObject>(entityName: "Task")).map {
          (try $0.value(for: "id", as: Int64.self), try $0.value(for: name, as: String?.self))
        })
    }
  }

  /// The kinds, and the titles before and after, of all entries in their order.
  func entries() async throws -> [EntryFacts] {
    try await outbox.entries().map { entry in
      EntryFacts(
        kind: entry.kind, state: entry.state, base: entry["title"]?.base?.attributeValue,
        value: entry["title"]?.value?.attributeValue)
    }
  }

  /// Sets the state of all entries, as a forwarder does. An entry in the state `sending` is claimed alone.
  func setState(_ state: OutboxEntry.State) throws {
    try outbox.makeEntries()
    let context = connect.newActionContext()
    try context.performAndWait {
      for entry in try context.fetch(FetchRequest<ManagedObject>(entityName: "CoherenceOutboxEntry")) {
        try entry.setValue(state, for: "state")
        try entry.setValue(state == .sending ? Date(timeIntervalSinceNow: 600) : nil, for: "lease")
        if state == .sending { try entry.setValue(try entry.value(for: "sequence", as: Int64.self), for: "groupEnd") }
      }
      try context.save()
    }
  }
}

/// The parts of an entry that tests compare.
struct EntryFacts: Equatable {
  var kind: OutboxEntry.Kind
  var state: OutboxEntry.State
  var base: AttributeValue?
  var value: AttributeValue?

  /// An update of a title.
  static func update(
    _ base: String?, to value: String, _ state: OutboxEntry.State = .pending
  ) -> EntryFacts {
    EntryFacts(kind: .update, state: state, base: base.map(AttributeValue.string), value: .string(value))
  }
}
