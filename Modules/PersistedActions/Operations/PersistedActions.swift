import CoherenceCore
public import CoherenceStrategies
public import Foundation

/// Lists, cancels, retries and deletes the persisted actions in the stores of a container.
///
/// Each call reads or saves in a new context. May be used from any thread, while workers run and without a worker.
public struct PersistedActions: Sendable {
  private let container: any PersistentContainer
  /// The entity of the actions.
  private let entity: EntityDescription
  /// Returns the present date.
  let now: @Sendable () -> Date
  /// The waits of all copies of the value.
  private let waits: FinishWaits
  private typealias Records = FetchRequest<PersistedActionRecord>

  private var coordinator: PersistentStoreCoordinator { container.persistentStoreCoordinator }

  var repository: ActionRepository { ActionRepository(coordinator: coordinator, entity: entity) }

  /// Makes a value for the actions of a container.
  ///
  /// - Parameters:
  ///   - container: The container of the stores.
  ///   - now: Returns the present date. Use the date of the workers' ``PersistedActionClock``.
  /// - Throws: ``ErrorCode/invalidModel`` for a model without `addingPersistedActions()`.
  public init(_ container: any PersistentContainer, now: @escaping @Sendable () -> Date = { Date() }) throws {
    entity = try container.managedObjectModel.persistedActionEntity()
    self.container = container
    self.now = now
    waits = FinishWaits(ActionRepository(coordinator: container.persistentStoreCoordinator, entity: entity))
  }

  // MARK: Listing

  /// Returns the action with a handle; `nil` if the store has no such action, for example after pruning.
  ///
  /// The save of an action with a unique key may have joined it to an equal action of another context. For the handle
  /// of such an action, returns the unfinished action with the same name and key, and without such an action the action
  /// that was enqueued last, in the store of the handle. For a handle without a store, the actions of all attached
  /// stores count, and an action of a read-only store is returned only if the other stores have no equal action. The
  /// look-up among finished actions costs a read of all finished actions with the name.
  public func action(_ handle: PersistedActionHandle) async throws -> PersistedActionInfo? {
    try await repository.inContext { try Self.record(handle, in: $0).map(PersistedActionInfo.init) }
  }

  /// Returns a page of actions, in the order of their enqueueing.
  ///
  /// - Parameters:
  ///   - states: The states; none for all.
  ///   - name: The name of the actions; `nil` for all.
  ///   - queue: The queue; `nil` for all.
  ///   - limit: The maximum number of actions in the page.
  ///   - last: The last action of the previous page; `nil` for the first page.
  public func actions(
    in states: Set<PersistedActionState> = [], named name: String? = nil, queue: String? = nil, limit: Int = 100,
    after last: PersistedActionInfo? = nil
  ) async throws -> [PersistedActionInfo] {
    try await repository.inContext { context in
      var request = Records().limit(limit)
      if !states.isEmpty { request = request.filter { $0.state.isIn(states.map(\.rawValue).sorted()) } }
      if let name { request = request.filter { $0.name == name } }
      if let queue { request = request.filter { $0.queue == queue } }
      if let last {
        // The index on the date finds the first action of the page by the condition on the date alone. No index finds
        // an action by alternatives, so that each page would read all earlier ones.
        request = request.filter { $0.enqueuedDate >= last.enqueuedDate }.filter {
          $0.enqueuedDate > last.enqueuedDate || $0.identifier > last.id
        }
      }
      return try context.fetch(request.sort(\.enqueuedDate).sort(\.identifier)).map(PersistedActionInfo.init)
    }
  }

  /// Returns the actions whose identifiers begin with a text, in the order of the identifiers.
  ///
  /// - Parameters:
  ///   - prefix: The first digits of a UUID, in upper or lower case, with or without hyphens. Any other text finds
  ///     nothing.
  ///   - limit: The maximum number of actions.
  public func actions(idPrefix prefix: String, limit: Int = 100) async throws -> [PersistedActionInfo] {
    let digits = prefix.filter { $0 != "-" }
    guard let first = UUID(digits: digits, filledWith: "0"), let last = UUID(digits: digits, filledWith: "F") else {
      return []
    }
    return try await repository.inContext { context in
      let request = Records().filter { $0.identifier >= first && $0.identifier <= last }
      return try context.fetch(request.sort(\.identifier).limit(limit)).map(PersistedActionInfo.init)
    }
  }

  /// Returns the unfinished action of each schedule, sorted by the names of the schedules. The action waits for the
  /// next date of the schedule, or runs.
  public func schedules() async throws -> [PersistedActionInfo] {
    try await repository.inContext { context in
      let unfinished = PersistedActionState.allCases.filter { !$0.isFinal }.map(\.rawValue)
      let request = Records().filter { $0.scheduleName != nil && $0.state.isIn(unfinished) }
      // A finished run that is retried has the name of its schedule too.
      return try context.fetch(request.sort(\.scheduleName)).filter(\.isRecurring).map(PersistedActionInfo.init)
    }
  }

  /// Returns the finished runs of a schedule, the latest first. The cost grows with the number of finished actions.
  ///
  /// - Parameters:
  ///   - name: The name of the schedule.
  ///   - limit: The maximum number of runs.
  public func runs(ofSchedule name: String, limit: Int = 100) async throws -> [PersistedActionInfo] {
    try await repository.inContext { context in
      let final = PersistedActionState.final.map(\.rawValue)
      let request = Records().filter { $0.scheduleName == name && $0.state.isIn(final) }
      return try context.fetch(request.sort(\.finishedDate, .reverse).limit(limit)).map(PersistedActionInfo.init)
    }
  }

  /// Returns the number of actions in each state, without zeros.
  public func counts() async throws -> [PersistedActionState: Int] {
    try await repository.inContext { try PersistedActionRecord.counts(of: PersistedActionState.allCases, in: $0) }
  }

  /// Returns the number of actions in each queue and state, without zeros. Costs an indexed read for each state, and
  /// two for each number.
  public func queues() async throws -> [String: [PersistedActionState: Int]] {
    try await repository.inContext { context in
      var queues: [String: [PersistedActionState: Int]] = [:]
      for state in PersistedActionState.allCases {
        let actions = Records().filter { $0.state == state.rawValue }
        var next = try context.fetch(actions.sort(\.queue).limit(1)).first?.queue
        while let queue = next {
          queues[queue, default: [:]][state] = try context.count(for: actions.filter { $0.queue == queue })
          next = try context.fetch(actions.filter { $0.queue > queue }.sort(\.queue).limit(1)).first?.queue
        }
      }
      return queues
    }
  }

  /// Returns the result of an action; `nil` for an action without a result.
  ///
  /// - Throws: Errors of decoding the result; ``ErrorCode/objectNotFound`` for an unknown handle.
  public func result<Value: Decodable & Sendable>(
    of handle: PersistedActionHandle, as type: Value.Type = Value.self
  ) async throws -> Value? {
    let data = try await repository.inContext { try Self.existing(handle, in: $0).result }
    return try data.map { try JSONDecoder().decode(Value.self, from: $0) }
  }

  /// Waits until an action has finished, whichever process runs it.
  ///
  /// Costs one read of the action. While calls of this value and its copies wait, the ends of actions in the store cost
  /// one common read of the awaited actions; the ends that happen during a read share the next one.
  ///
  /// - Returns: The finished action.
  /// - Throws: ``ErrorCode/objectNotFound`` for an unknown handle, and for an action whose record is deleted before or
  ///   at its end; `CancellationError`; errors of the store.
  public func untilFinished(_ handle: PersistedActionHandle) async throws -> PersistedActionInfo {
    try await waits.untilFinished(handle)
  }

  // MARK: Records

  /// Fetches the record with the identifier of a handle.
  static func ownRecord(
    _ handle: PersistedActionHandle, in context: ManagedObjectContext
  ) throws -> PersistedActionRecord? {
    try context.fetch(Records().filter { $0.identifier == handle.id }.limit(1)).first
  }

  /// Fetches the record of a handle, or of the equal action that the handle's action was joined to.
  static func record(
    _ handle: PersistedActionHandle, in context: ManagedObjectContext
  ) throws -> PersistedActionRecord? {
    let own = try ownRecord(handle, in: context)
    guard own == nil, let key = handle.uniqueKey else { return own }
    if let store = handle.storeIdentifier {
      // A save joins actions of one store only.
      return try equalRecord(handle.name, key, among: Records().inStores([store]), in: context)
    }
    let stores = context.persistentStoreCoordinator?.persistentStores ?? []
    if stores.contains(where: \.environment.isReadOnly) {
      // A save joins actions only in a store that can be written, whatever equal actions the read-only stores have.
      let joined = try equalRecord(handle.name, key, among: Records().inWritableStores(), in: context)
      if let joined { return joined }
    }
    return try equalRecord(handle.name, key, among: Records(), in: context)
  }

  /// Fetches the unfinished record with a name and a unique key, or else the finished one that was enqueued last.
  private static func equalRecord(
    _ name: String, _ key: String, among records: Records, in context: ManagedObjectContext
  ) throws -> PersistedActionRecord? {
    // Saves join actions to unfinished ones, which the unique index finds. A store has one unfinished action with a
    // key.
    let unfinished = records.filter { $0.name == name && $0.activeKey == key }
    if let record = try context.fetch(unfinished.limit(1)).first { return record }
    let finished = records.filter { $0.name == name && $0.key == key }
    return try context.fetch(finished.sort(\.enqueuedDate, .reverse).limit(1)).first
  }

  /// Fetches the record of a handle.
  ///
  /// - Throws: ``ErrorCode/objectNotFound`` without a record.
  static func existing(
    _ handle: PersistedActionHandle, in context: ManagedObjectContext
  ) throws -> PersistedActionRecord {
    guard let record = try record(handle, in: context) else {
      throw CoherenceError(
        .objectNotFound,
        "The store has no action '\(handle.name)' with this handle: the save that enqueued it has not committed, or the "
          + "action has finished and its record was deleted, or its store is detached.")
    }
    return record
  }
}

extension UUID {
  /// Makes a UUID from its first digits, and repeats one digit after them. Returns `nil` for a text without digits,
  /// with other characters, or with too many digits.
  fileprivate init?(digits: String, filledWith digit: Character) {
    guard !digits.isEmpty, digits.count <= 32, digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
    var text = digits + String(repeating: digit, count: 32 - digits.count)
    for offset in [20, 16, 12, 8] { text.insert("-", at: text.index(text.startIndex, offsetBy: offset)) }
    self.init(uuidString: text)
  }
}
