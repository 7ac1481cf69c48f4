import Coherence
import CoherenceOutbox
import CoherencePersistedActions
import CoherenceRefresh
import Foundation

/// The to-do lists of a user: edited offline, forwarded to a server, and refreshed from it.
final class TodoClient: Sendable {
  /// The parts that a test replaces.
  struct Options: Sendable {
    var model: @Sendable () throws -> ManagedObjectModel = TodoModel.make
    var forwarding = ForwardOptions()
    var outbox = OutboxOptions()
    var refreshing = RefreshOptions()
    var workerClock = PersistedActionClock.system
    var digests = Schedule.every(.seconds(86_400))
    var mergeOptions = MergeOptions(pendingEdits: .conflict)
  }

  let connect: GenericConnect<ContextStrategy.Mixed>
  let outbox: Outbox
  let refresher: Refresher
  let worker: PersistedActionWorker
  let actions: PersistedActions
  let connectivity = ManualConnectivity(isOnline: false)
  let service: TodoService
  /// The clock of the refreshes.
  let clock: any RefreshClock
  private let forwarding: ForwardOptions

  /// Opens the store. Edits are recorded from now on; nothing is sent before ``start()``.
  init(in directory: URL, _ store: StoreConfiguration, service: TodoService, options: Options = Options()) async throws
  {
    self.service = service
    clock = options.refreshing.clock
    connect = GenericConnect(name: "Todo", managedObjectModel: try options.model(), storeLocation: directory)
    outbox = try Outbox(connect, forwarding: TodoList.self, TodoTask.self, Tag.self, options: options.outbox)
    try connect.attachPersistentStore(for: store)
    try await connect.start()
    refresher = try Refresher(connect, connectivity: connectivity, options: options.refreshing)
    worker = try PersistedActionWorker(
      connect, actions: [UploadAttachment.self, DailyDigest.self],
      schedules: [PersistedSchedule("digest", options.digests, DailyDigest())], clock: options.workerClock)
    actions = try PersistedActions(connect)
    var forwarding = options.forwarding
    forwarding.connectivity = connectivity
    self.forwarding = forwarding
    try registerHandlers()
    try registerRefreshes(options.mergeOptions)
  }

  /// Begins to send edits, to refresh records and to run actions, while the connectivity is online.
  func start() async throws {
    try outbox.start(forwarding)
    await refresher.start()
    try await worker.start()
  }

  /// Ends all work and closes the store.
  func close(_ mode: StopMode = .drain) async throws {
    await outbox.stop(mode)
    await refresher.stop()
    await worker.stop(mode == .drain ? .drain : .handBack)
    outbox.close()
    try await connect.stop(mode)
  }

  private func registerHandlers() throws {
    let service = service
    try outbox.forward(TodoList.self) { handlers in
      handlers.insert { try await service.send($0, as: .lists) }
      handlers.update { try await service.send($0, as: .lists) }
      handlers.delete { try await service.send($0, as: .lists) }
    }
    try outbox.forward(Tag.self) { handlers in
      handlers.insert { try await service.send($0, as: .tags) }
      handlers.update { try await service.send($0, as: .tags) }
      handlers.delete { try await service.send($0, as: .tags) }
    }
    try outbox.forward(TodoTask.self) { handlers in
      handlers.insert { try await service.send($0, as: .tasks) }
      handlers.update { try await service.send($0, as: .tasks) }
      handlers.delete { try await service.send($0, as: .tasks) }
    }
  }

  private func registerRefreshes(_ options: MergeOptions) throws {
    let (service, clock, interval) = (service, clock, Duration.seconds(600))
    // A page may be older than the record, when the server accepts an edit between the request and the merge.
    let isNewer = try FetchPredicate(format: "incoming.revision == nil OR incoming.revision >= existing.revision")
    try refresher.register(
      changesOf: TodoList.self, stalenessInterval: interval, condition: isNewer, mergeOptions: options
    ) { request in
      try await service.page(.lists, since: request.cursor).delta
    }
    try refresher.register(
      changesOf: Tag.self, stalenessInterval: interval, condition: isNewer, mergeOptions: options
    ) { request in
      try await service.page(.tags, since: request.cursor).delta
    }
    try refresher.register(
      changesOf: TodoTask.self, stalenessInterval: interval, condition: isNewer, mergeOptions: options
    ) { [weak refresher] request in
      let page = try await service.page(.tasks, since: request.cursor)
      // The lists and tags of the page are stored before its tasks, because a merge refuses a link without a record.
      try await refresher?.refresh(TodoList.self, after: clock)
      try await refresher?.refresh(Tag.self, after: clock)
      return page.delta
    }
    try refresher.register(read: TodoTask.self) { request in
      let task = try await service.document(.tasks, request.scope ?? "")
      try await request.context.perform {
        _ = try request.context.merge(
          records: [task.record], for: request.entity, condition: isNewer, options: options)
      }
    }
  }
}

extension Refresher {
  /// Refreshes a list by an attempt that begins after the call. A single call joins a running attempt, which may have read
  /// the server before.
  func refresh(_ type: ManagedObject.Type, after clock: any RefreshClock) async throws {
    let start = clock.now
    while true {
      if let time = try await refresh(type).lastSyncTime, time >= start { return }
    }
  }
}

extension TodoPage {
  var delta: DeltaPage {
    DeltaPage(
      records: records.map(\.record), tombstones: deleted.map { MergeKey($0) }, cursor: cursor, hasMore: hasMore,
      isComplete: isComplete)
  }
}
