import CoherenceCore
import CoherenceInMemory
import CoherencePersistedActions
import CoherencePostgreSQL
import CoherenceSQLite
import CoherenceStrategies
import Foundation
import TestSupport

/// A record of the program's own data.
final class NoteRecord: ManagedObject {
  static let textKey = AttributeKey<String>("text")
  var text: String {
    get { self[Self.textKey] }
    set { self[Self.textKey] = newValue }
  }
}

/// A store with notes and actions, and the ``Board`` on which the actions of one test leave marks.
struct ActionStack {
  typealias Container = GenericPersistentContainer<ContextStrategy.Mixed>

  static let plainModel: ManagedObjectModel = makeModel()
  static let model: ManagedObjectModel = adding(to: plainModel)

  let directory = TemporaryDirectory()
  let configuration: StoreConfiguration
  let container: Container
  let actions: PersistedActions
  let board: Board
  let boardName = UUID().uuidString

  /// - Parameter losses: The saves of notes whose outcome is unknown.
  init(
    _ backend: Backend = .inMemory, options: [String: OptionValue] = [:], losses: NoteLosses? = nil
  ) throws {
    var configuration = backend.newConfiguration()
    configuration.options.merge(options) { _, new in new }
    if let losses { configuration.type = try FailingStore.type(over: configuration.type) { losses.next(for: $0) } }
    self.configuration = configuration
    container = try Self.open(configuration, in: directory)
    actions = try PersistedActions(container, now: { ManualClock.firstDate })
    board = Board.named(boardName)
  }

  /// Opens the store in a second container, which simulates another process.
  func makeStranger() throws -> Container { try Self.open(configuration, in: directory) }

  /// Attaches the store of this stack to another container too.
  func attachStore(to other: Container, isReadOnly: Bool = false) throws {
    var configuration = configuration
    configuration.location = container.persistentStoreCoordinator.persistentStores.first?.url
    if isReadOnly { configuration.options[StoreOption.readOnly] = true }
    try other.attachPersistentStore(for: configuration)
  }

  private static func open(_ configuration: StoreConfiguration, in directory: TemporaryDirectory) throws -> Container {
    let container = Container(name: "Actions", managedObjectModel: model, storeLocation: directory.url)
    try container.attachPersistentStore(for: configuration)
    return container
  }

  /// Makes a worker that claims no actions in advance, on the stack's container unless another is given.
  func worker(
    on container: Container? = nil, _ time: ManualClock, schedules: [PersistedSchedule] = [],
    change: (inout PersistedActionOptions) -> Void = { _ in }
  ) throws -> PersistedActionWorker {
    var options = PersistedActionOptions(concurrency: 4, maximumClaimedAhead: 0)
    change(&options)
    return try PersistedActionWorker(
      container ?? self.container, actions: TestActions.all, schedules: schedules, options: options,
      clock: time.workerClock)
  }

  /// Enqueues an action in a save of its own.
  @discardableResult
  func enqueue<A: PersistedAction>(
    _ action: A, key: String? = nil, at date: Date? = nil, queue: String? = nil, retry: PersistedRetry? = nil
  ) throws -> PersistedActionHandle {
    try saving { try $0.enqueue(action, uniqueKey: key, at: date, queue: queue, retry: retry) }
  }

  /// Enqueues a ``Hold``, and has a worker begin its attempt.
  ///
  /// - Returns: The action, and the run of the worker, which ends after the test has opened the gate "hold 1".
  func hold(
    in worker: PersistedActionWorker, retry: PersistedRetry? = nil
  ) async throws -> (handle: PersistedActionHandle, run: Task<Int, any Error>) {
    let handle = try enqueue(Hold(board: boardName), retry: retry)
    let run = Task { try await worker.runDueActions() }
    try await board.until("begin hold 1")
    return (handle, run)
  }

  /// Runs a block in a new context, and saves.
  func saving<T>(_ body: (ManagedObjectContext) throws -> T) throws -> T {
    try container.newBackgroundContext().saving(body)
  }

  func state(of handle: PersistedActionHandle) async throws -> PersistedActionState? {
    try await actions.action(handle)?.state
  }

  /// Returns the number of workers' records in the store.
  func workerCount() throws -> Int {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      try context.count(for: FetchRequest<ManagedObject>(entityName: "CoherenceActionWorker"))
    }
  }

  /// Returns the texts of the notes, sorted.
  func notes() throws -> [String] {
    let context = container.newBackgroundContext()
    return try context.performAndWait {
      try context.fetch(FetchRequest<NoteRecord>(entityName: "Note")).map(\.text).sorted()
    }
  }

  private static func makeModel() -> ManagedObjectModel {
    do {
      return try ManagedObjectModel(name: "Notes") {
        Entity("Note", class: NoteRecord.self) { Attribute("text", .string) }
      }
    } catch {
      preconditionFailure("The model of the tests is not sound: \(error)")
    }
  }

  private static func adding(to model: ManagedObjectModel) -> ManagedObjectModel {
    do {
      return try model.addingPersistedActions()
    } catch {
      preconditionFailure("The model of the tests takes no actions: \(error)")
    }
  }
}

extension ManagedObjectContext {
  func insertNote(_ text: String) throws {
    guard let note = try insertNewObject(forEntityName: "Note") as? NoteRecord else { return }
    note.text = text
  }
}
